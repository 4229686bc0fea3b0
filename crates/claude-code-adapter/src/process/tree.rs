//! The process tree of a child: its group, and whatever left the group but carries the token.

use std::path::Path;

use super::guard::Watch;
use super::registry::Entry;

/// A child's tree. Dropping it kills the tree.
#[derive(Debug)]
pub(super) struct Tree {
    process: Option<u32>,
    token: String,
    entry: Option<Entry>,
    /// Dropped behind the kill.
    _watch: Option<Watch>,
}

impl Tree {
    /// The tree below this process; written down in the state folder when there is one.
    pub(super) fn new(
        process: Option<u32>,
        token: String,
        state_dir: Option<&Path>,
        watch: Option<Watch>,
    ) -> Self {
        if let Some(watch) = &watch {
            watch.started(process);
        }
        let entry = process
            .zip(state_dir)
            .and_then(|(process, folder)| Entry::write(folder, process, &token));
        Self {
            process,
            token,
            entry,
            _watch: watch,
        }
    }

    /// Asks the group to end.
    pub(super) fn terminate(&self) {
        signal_group(self.process, Strength::Terminate);
    }

    /// Kills the group and everything that carries the token.
    pub(super) fn kill(&self) {
        kill_child(self.process, &self.token);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
        if let Some(entry) = self.entry.take() {
            entry.remove();
        }
    }
}

/// Kills a child's group and everything that carries its token.
pub(crate) fn kill_child(process: Option<u32>, token: &str) {
    signal_group(process, Strength::Kill);
    kill_by_token(token);
}

/// How hard a signal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// The process may clean up.
    Terminate,
    /// The process ends.
    Kill,
}

#[cfg(unix)]
pub(super) fn signal_group(process: Option<u32>, strength: Strength) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match strength {
        Strength::Terminate => Signal::TERM,
        Strength::Kill => Signal::KILL,
    };
    let group = process
        .and_then(|process| i32::try_from(process).ok())
        .and_then(Pid::from_raw);
    if let Some(group) = group
        && let Err(error) = kill_process_group(group, signal)
        && error != rustix::io::Errno::SRCH
    {
        tracing::debug!(%error, "the group of a Claude Code process could not be signalled");
    }
}

#[cfg(not(unix))]
pub(super) fn signal_group(_process: Option<u32>, _strength: Strength) {}

/// Kills every process whose environment carries the token. A process cannot leave by leaving the
/// group, only by clearing its environment.
#[cfg(target_os = "linux")]
pub(super) fn kill_by_token(token: &str) {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    // A process that is forked while the list is read is found in the next round.
    for _ in 0..4 {
        let mut found = false;
        for process in marked(token) {
            let Some(pid) = Pid::from_raw(process) else {
                continue;
            };
            let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
                continue;
            };
            // Looked at again behind the handle, so that no other process gets the signal.
            if carries(process, token) {
                match pidfd_send_signal(&handle, Signal::KILL) {
                    Ok(()) => {
                        found = true;
                        wait_for(&handle);
                    }
                    Err(error) => {
                        tracing::debug!(%error, process, "a left-over process could not be killed");
                    }
                }
            }
        }
        if !found {
            return;
        }
    }
}

/// Waits for the end of a process that was killed: it may take a moment, and who ends a tree may rely
/// on its end. One that the kernel holds on to is not waited for.
#[cfg(target_os = "linux")]
fn wait_for(handle: &std::os::fd::OwnedFd) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let limit = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let mut watched = [PollFd::new(handle, PollFlags::IN)];
    if let Err(error) = poll(&mut watched, Some(&limit)) {
        tracing::debug!(%error, "the end of a left-over process was not seen");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill_by_token(_token: &str) {}

#[cfg(target_os = "linux")]
fn marked(token: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
        })
        .filter(|process| carries(*process, token))
        .collect()
}

/// Whether a process carries the token. Processes of others cannot be read and do not.
#[cfg(target_os = "linux")]
fn carries(process: i32, token: &str) -> bool {
    let mark = format!("{}={token}", crate::environment::CHILD_TOKEN);
    std::fs::read(format!("/proc/{process}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes())
    })
}
