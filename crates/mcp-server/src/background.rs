//! The server as a process of its own, which outlives the terminal that started it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};

use ktx_secrets::Secret;

/// The variable that hands a token to the server: arguments can be seen by every user of the machine.
pub const TOKEN_VARIABLE: &str = "KTX_MCP_TOKEN";

/// A server that was started.
#[derive(Debug)]
pub struct Started {
    /// What it reported when it was ready, or why it is not.
    pub report: String,
    process: Child,
}

impl Started {
    /// Waits for the end of a server that is not ready, and gives the code that it ended with.
    #[must_use]
    pub fn code(mut self) -> Option<i32> {
        self.process.wait().ok()?.code()
    }
}

/// Starts the program in the background and waits for its report: it closes its standard output then. What it
/// prints later goes to `log`.
///
/// # Errors
/// When no process can be started.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate owns the process of the server"
)]
pub fn start(
    program: &Path,
    arguments: &[OsString],
    token: Option<&Secret>,
    folder: &Path,
    log: File,
) -> std::io::Result<Started> {
    let mut command = std::process::Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log);
    match token {
        Some(token) => command.env(TOKEN_VARIABLE, token.expose()),
        None => command.env_remove(TOKEN_VARIABLE),
    };
    let mut process = command.spawn()?;
    let mut report = String::new();
    if let Some(stdout) = &mut process.stdout {
        stdout.read_to_string(&mut report)?;
    }
    Ok(Started { report, process })
}

/// Leaves the terminal, so that its end is not the end of the server.
pub fn leave_terminal() {
    #[cfg(unix)]
    if let Err(error) = rustix::process::setsid() {
        tracing::debug!(%error, "the server stays in the session of its terminal");
    }
}

/// Reports to the process that waits in [`start`], once.
///
/// # Errors
/// When that process no longer waits.
pub fn report(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    #[cfg(unix)]
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    Ok(())
}

/// How a server is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It lets go of what it holds.
    Terminate,
    /// At once.
    Kill,
}

/// Ends a server. `is_it` says whether the process still is the one that is meant: it is asked when the process
/// cannot be mistaken for another one any more.
///
/// # Errors
/// When the process may not be ended.
#[cfg(target_os = "linux")]
pub fn end(process: u32, ending: Ending, is_it: impl Fn() -> bool) -> std::io::Result<()> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(id) = pid(process) else {
        return Ok(());
    };
    let handle = match pidfd_open(id, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if !is_it() {
        return Ok(());
    }
    match pidfd_send_signal(&handle, signal(ending)) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// As on Linux, as far as the system tells processes apart.
///
/// # Errors
/// When the process may not be ended.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn end(process: u32, ending: Ending, is_it: impl Fn() -> bool) -> std::io::Result<()> {
    let Some(id) = pid(process).filter(|_| is_it()) else {
        return Ok(());
    };
    match rustix::process::kill_process(id, signal(ending)) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Processes are not ended from outside here.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn end(_: u32, _: Ending, _: impl Fn() -> bool) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn pid(process: u32) -> Option<rustix::process::Pid> {
    let process = i32::try_from(process).ok()?;
    rustix::process::Pid::from_raw(process)
}

#[cfg(unix)]
const fn signal(ending: Ending) -> rustix::process::Signal {
    match ending {
        Ending::Terminate => rustix::process::Signal::TERM,
        Ending::Kill => rustix::process::Signal::KILL,
    }
}
