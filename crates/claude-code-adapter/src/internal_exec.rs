//! The trampoline between `ktx` and the child: asks the kernel for a parent-death signal, then
//! becomes the program.

use std::ffi::OsString;

/// Why the trampoline could not become the program. It never returns on success.
#[derive(Debug, thiserror::Error)]
pub enum InternalExecError {
    /// The arguments are not `<parent pid> <program> [argument]…`.
    #[error("`internal-exec` takes the parent's process id, a program and its arguments")]
    Arguments,
    /// The parent ended before the request was in place.
    #[error("the parent process is gone")]
    ParentGone,
    /// The kernel refused the request.
    #[error("the kernel refused the parent-death signal")]
    Signal(#[source] std::io::Error),
    /// The program could not be started.
    #[error("`{program}` could not be started")]
    Program {
        /// The program.
        program: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Runs `internal-exec`: `arguments` are `<parent pid> <program> [argument]…`.
///
/// Must be called on the main thread of a process that has started no other thread. Returns only
/// when the program could not be started.
pub fn internal_exec(arguments: impl IntoIterator<Item = OsString>) -> InternalExecError {
    let mut arguments = arguments.into_iter();
    let parent = arguments
        .next()
        .and_then(|text| text.to_str().and_then(|text| text.parse::<i32>().ok()));
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        return InternalExecError::Arguments;
    };
    if let Err(error) = tie_to_parent(parent) {
        return error;
    }
    let source = replace(&program, arguments.collect());
    InternalExecError::Program {
        program: program.to_string_lossy().into_owned(),
        source,
    }
}

#[cfg(target_os = "linux")]
fn tie_to_parent(parent: i32) -> Result<(), InternalExecError> {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| InternalExecError::Signal(error.into()))?;
    if getppid().map(Pid::as_raw_pid) == Some(parent) {
        Ok(())
    } else {
        Err(InternalExecError::ParentGone)
    }
}

#[cfg(not(target_os = "linux"))]
fn tie_to_parent(_parent: i32) -> Result<(), InternalExecError> {
    Ok(())
}

#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "this crate owns the Claude Code process"
)]
fn replace(program: &OsString, arguments: Vec<OsString>) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    std::process::Command::new(program).args(arguments).exec()
}

#[cfg(not(unix))]
fn replace(_program: &OsString, _arguments: Vec<OsString>) -> std::io::Error {
    std::io::Error::from(std::io::ErrorKind::Unsupported)
}
