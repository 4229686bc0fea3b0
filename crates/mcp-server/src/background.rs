//! The server as a background process that outlives its terminal.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};

use ktx_secrets::Secret;

/// Passes a token to the server: every user of the machine can read arguments.
pub const TOKEN_VARIABLE: &str = "KTX_MCP_TOKEN";

#[derive(Debug)]
pub struct Started {
    pub report: String,
    process: Child,
}

impl Started {
    /// Waits for the exit of a server that failed to start.
    #[must_use]
    pub fn code(mut self) -> Option<i32> {
        self.process.wait().ok()?.code()
    }
}

/// Waits for the server's report, which ends when it closes its standard output. Later output goes
/// to `log`.
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

pub fn leave_terminal() {
    #[cfg(unix)]
    if let Err(error) = rustix::process::setsid() {
        tracing::debug!(%error, "the server stays in the session of its terminal");
    }
}

/// Reports to the process that waits in [`start`], once.
pub fn report(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    #[cfg(unix)]
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Terminate,
    Kill,
}

/// Ends a server if `is_it` confirms it; the process can then no longer be confused with another.
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

/// Unlike on Linux, another process can get the id after `is_it` has run.
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

/// This system cannot end another process.
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
