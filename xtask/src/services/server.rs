//! A server process: folder, port, start, end.
#![expect(
    clippy::disallowed_methods,
    reason = "xtask owns the servers it starts: their folders, and waiting for them"
)]

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::process;
use crate::repository::{file_name, read_folder};

const PREFIX: &str = "ktx-test-servers-";
const START_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    name: &'static str,
    child: Child,
    signal: Signal,
}

pub(crate) struct Launch<'launch> {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) signal: Signal,
    pub(crate) log: PathBuf,
    pub(crate) is_ready: &'launch dyn Fn() -> bool,
}

impl Server {
    /// Uses its own process group and waits for readiness.
    pub(crate) fn start(command: &mut Command, launch: Launch<'_>) -> Result<Self> {
        let log = std::fs::File::create(&launch.log)
            .with_context(|| format!("`{}` cannot be written", launch.log.display()))?;
        let twin = log.try_clone().context("the log cannot be shared")?;
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(twin)
            .spawn()
            .with_context(|| format!("{} could not be started", process::shown(command)))?;
        let Launch {
            name,
            url,
            signal,
            log,
            is_ready,
        } = launch;
        let mut server = Self {
            url,
            name,
            child,
            signal,
        };
        let started = Instant::now();
        while !is_ready() {
            let end = server
                .child
                .try_wait()
                .context("the server cannot be watched")?;
            if let Some(status) = end {
                bail!("{name} ended with {status}{}", process::last_words(&log));
            }
            if started.elapsed() > START_LIMIT {
                bail!("{name} does not answer{}", process::last_words(&log));
            }
            std::thread::sleep(STEP);
        }
        Ok(server)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let name = self.name;
        if self
            .child
            .try_wait()
            .with_context(|| format!("{name} cannot be watched"))?
            .is_some()
        {
            return Ok(());
        }
        kill_process(Pid::from_child(&self.child), self.signal)
            .with_context(|| format!("{name} cannot be signalled"))?;
        let asked = Instant::now();
        while self
            .child
            .try_wait()
            .with_context(|| format!("{name} cannot be watched"))?
            .is_none()
        {
            if asked.elapsed() > STOP_LIMIT {
                self.child
                    .kill()
                    .with_context(|| format!("{name} cannot be killed"))?;
                self.child
                    .wait()
                    .with_context(|| format!("{name} cannot be awaited"))?;
                bail!("{name} did not end on its own and was killed");
            }
            std::thread::sleep(STEP);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            crate::terminal::problem(&format!("error: {error:#}"));
        }
    }
}

/// Other accounts can enter; the name contains the process id.
pub(crate) fn folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .tempdir()
        .context("no temporary folder can be created")?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .context("the temporary folder cannot be opened to the servers")?;
    Ok(folder)
}

/// Removes folders of killed runs.
pub(crate) fn remove_leftovers() -> Result<()> {
    for path in read_folder(&std::env::temp_dir())? {
        let name = file_name(&path);
        let owner = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next());
        let Some(owner) = owner else { continue };
        if Path::new("/proc/self").exists() && !Path::new("/proc").join(owner).exists() {
            std::fs::remove_dir_all(&path)
                .with_context(|| format!("`{}` cannot be removed", path.display()))?;
        }
    }
    Ok(())
}

pub(crate) fn free_port() -> Result<u16> {
    let listener =
        TcpListener::bind(("127.0.0.1", 0)).context("no port of 127.0.0.1 can be opened")?;
    Ok(listener
        .local_addr()
        .context("the open port has no number")?
        .port())
}
