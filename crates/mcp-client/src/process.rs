//! The child process and process group of a server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ktx_secrets::Secret;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Time to exit after the input closes, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

/// In bytes, from the end of stderr.
const COMPLAINTS: usize = 4 * 1024;

/// Its input closes however ktx ends; then it kills its own group.
const GUARD: &str = "read -r _; kill -KILL 0";

pub(crate) struct ServerProcess {
    child: Child,
    /// The leader of the group. Until it is waited for, no other group gets its id.
    guard: Child,
    group: Option<Pid>,
    complaints: Complaints,
}

pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

#[expect(
    clippy::disallowed_methods,
    reason = "this crate owns the processes of foreign servers"
)]
pub(crate) fn start(
    command: &str,
    args: &[String],
    variables: &BTreeMap<String, Secret>,
    folder: &Path,
) -> std::io::Result<(ServerProcess, Pipes)> {
    let mut guard = Command::new("/bin/sh")
        .args(["-c", GUARD])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = pid_of(&guard);
    let program = if command.contains('/') {
        folder.join(command).into_os_string()
    } else {
        command.into()
    };
    let variables = variables.iter().map(|(name, value)| (name, value.expose()));
    let started = Command::new(program)
        .args(args)
        .env_clear()
        .envs(variables)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(group.map_or(0, Pid::as_raw_pid))
        .kill_on_drop(true)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            guard.start_kill()?;
            return Err(error);
        }
    };
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(std::io::Error::other("its pipes are missing"));
    };
    let process = ServerProcess {
        child,
        guard,
        group,
        complaints: Complaints::of(stderr),
    };
    Ok((process, Pipes { stdin, stdout }))
}

impl ServerProcess {
    /// Waits after the input closed, then sends SIGTERM, then SIGKILL to the group.
    pub(crate) async fn end(mut self) {
        if !self.has_ended(GRACE).await {
            if let Some(pid) = pid_of(&self.child) {
                told(kill_process(pid, Signal::TERM));
            }
            self.has_ended(GRACE).await;
        }
        self.kill();
        for process in [&mut self.guard, &mut self.child] {
            if let Err(error) = process.wait().await {
                tracing::debug!(%error, "the end of a server's process was not seen");
            }
        }
    }

    async fn has_ended(&mut self, limit: Duration) -> bool {
        // The guard leads the group, so the group's id stays taken when the child is reaped here.
        timeout(limit, self.child.wait()).await.is_ok()
    }

    pub(crate) async fn epitaph(&mut self) -> Epitaph {
        let status = timeout(GRACE, self.child.wait()).await;
        let status = status.ok().and_then(Result::ok);
        if status.is_some() {
            self.complaints.finish().await;
        }
        Epitaph {
            status,
            complaint: self.complaints.last_line(),
        }
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            told(kill_process_group(group, Signal::KILL));
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // After `end`, the guard's id can belong to another process.
        if self.guard.id().is_some() {
            self.kill();
        }
    }
}

pub(crate) struct Epitaph {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) complaint: Option<String>,
}

fn pid_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(id.cast_signed()))
}

fn told(result: rustix::io::Result<()>) {
    if let Err(error) = result {
        tracing::debug!(%error, "a server's process could not be told to end");
    }
}

struct Complaints {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Complaints {
    fn of(mut stderr: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&kept);
        let reader = tokio::spawn(async move {
            let mut piece = [0; 1024];
            while let Ok(read @ 1..) = stderr.read(&mut piece).await {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(piece.get(..read).unwrap_or_default());
                let excess = kept.len().saturating_sub(COMPLAINTS);
                kept.drain(..excess);
            }
        });
        Self { kept, reader }
    }

    /// A grandchild can hold the stream open.
    async fn finish(&mut self) {
        if timeout(GRACE, &mut self.reader).await.is_err() {
            tracing::debug!("a server's stderr stays open after its end");
        }
    }

    fn last_line(&self) -> Option<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        line.map(str::to_owned)
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
