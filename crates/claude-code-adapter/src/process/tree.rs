//! A child's process tree: group, descendants, processes with the token.

use std::path::Path;

use super::descendants::Descendants;
use super::guard::GuardWatch;
use super::registry::ChildRecord;

/// Drop kills the tree.
#[derive(Debug)]
pub(super) struct ProcessTree {
    process: Option<u32>,
    token: String,
    entry: Option<ChildRecord>,
    /// Cannot be found after the end of the process.
    seen: Descendants,
    /// Must be dropped after the kill.
    _watch: Option<GuardWatch>,
}

impl ProcessTree {
    pub(super) fn new(
        process: Option<u32>,
        token: String,
        state_dir: Option<&Path>,
        watch: Option<GuardWatch>,
    ) -> Self {
        let entry = process
            .zip(state_dir)
            .and_then(|(process, folder)| ChildRecord::write(folder, process, &token));
        if let (Some(watch), Some(process)) = (&watch, process) {
            watch.started(process, entry.as_ref().map(ChildRecord::below));
        }
        Self {
            process,
            token,
            entry,
            seen: Descendants::default(),
            _watch: watch,
        }
    }

    pub(super) fn terminate(&self) {
        signal_group(self.process, GroupSignal::Terminate);
    }

    /// Must be called before the process is asked to end.
    pub(super) fn record_descendants(&mut self) {
        if let Some(process) = self.process {
            // It does not matter whether any is new.
            let _ = self.seen.extend(Descendants::of(process));
        }
    }

    pub(super) fn kill(&self) {
        kill_child(self.process, &self.token);
        self.seen.kill();
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.kill();
        if let Some(entry) = self.entry.take() {
            entry.remove();
        }
    }
}

pub(crate) fn kill_child(process: Option<u32>, token: &str) {
    // First: without its parent a process no longer descends from the child.
    let below = process.map(Descendants::of).unwrap_or_default();
    signal_group(process, GroupSignal::Kill);
    below.kill();
    kill_by_token(token);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupSignal {
    Terminate,
    Kill,
}

#[cfg(unix)]
pub(super) fn signal_group(process: Option<u32>, kind: GroupSignal) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match kind {
        GroupSignal::Terminate => Signal::TERM,
        GroupSignal::Kill => Signal::KILL,
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
pub(super) fn signal_group(_process: Option<u32>, _strength: GroupSignal) {}

/// A process escapes by clearing its environment.
#[cfg(target_os = "linux")]
pub(super) fn kill_by_token(token: &str) {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    // The next round finds processes forked meanwhile.
    for _ in 0..4 {
        let mut found = false;
        for process in marked(token) {
            let Some(pid) = Pid::from_raw(process) else {
                continue;
            };
            let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
                continue;
            };
            // Checked after opening the handle, so that no other process gets the signal.
            if carries_token(process, token) {
                match pidfd_send_signal(&handle, Signal::KILL) {
                    Ok(()) => {
                        found = true;
                        wait_for(&handle);
                    }
                    Err(error) => {
                        tracing::debug!(%error, process, "a leftover process could not be killed");
                    }
                }
            }
        }
        if !found {
            return;
        }
    }
}

/// Bounded: the kernel can hold a process.
#[cfg(target_os = "linux")]
fn wait_for(handle: &std::os::fd::OwnedFd) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let limit = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let mut watched = [PollFd::new(handle, PollFlags::IN)];
    if let Err(error) = poll(&mut watched, Some(&limit)) {
        tracing::debug!(%error, "the end of a leftover process was not seen");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill_by_token(_token: &str) {}

/// Also waits for processes that are starting: they have no token until then.
#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel does not announce when a process begins its program"
)]
fn marked(token: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let (settled, starting): (Vec<_>, Vec<_>) = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(|process| (process, mark(process, token)))
        .filter(|(_, mark)| *mark != TokenMark::Absent)
        .partition(|(_, mark)| *mark == TokenMark::Carried);
    let starting = starting.into_iter().filter(|(process, _)| {
        for _ in 0..START_LOOKS {
            match mark(*process, token) {
                TokenMark::Starting => std::thread::sleep(START_PAUSE),
                settled => return settled == TokenMark::Carried,
            }
        }
        tracing::debug!(process, "a process did not begin its program in time");
        false
    });
    let starting: Vec<_> = starting.collect();
    settled
        .into_iter()
        .chain(starting)
        .map(|(process, _)| process)
        .collect()
}

/// Microseconds, or milliseconds on a busy machine.
#[cfg(target_os = "linux")]
const START_LOOKS: u32 = 500;

#[cfg(target_os = "linux")]
const START_PAUSE: std::time::Duration = std::time::Duration::from_millis(1);

#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenMark {
    Carried,
    Absent,
    /// In `execve`, without an environment.
    Starting,
}

#[cfg(target_os = "linux")]
fn mark(process: i32, token: &str) -> TokenMark {
    // Never children: processes of other users, kernel threads and zombies.
    let environment = || read_at_once(&format!("/proc/{process}/environ"));
    let Ok(mut found) = environment() else {
        return TokenMark::Absent;
    };
    if found.is_empty() {
        if is_starting(process) {
            return TokenMark::Starting;
        }
        // May have begun between the reads.
        found = environment().unwrap_or_default();
    }
    let variable = format!("{}={token}", crate::environment::CHILD_TOKEN);
    let mut variables = found.split(|byte| *byte == 0);
    if variables.any(|found| found == variable.as_bytes()) {
        TokenMark::Carried
    } else {
        TokenMark::Absent
    }
}

/// The kernel generates each part separately, so the buffer must fit the whole file.
#[cfg(target_os = "linux")]
fn read_at_once(path: &str) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut found = Vec::with_capacity(8 * 1024);
    // The bound keeps `read_to_end` from asking for the length, which is 0 here.
    let file = std::fs::File::open(path)?;
    file.take(u64::MAX).read_to_end(&mut found)?;
    Ok(found)
}

#[cfg(target_os = "linux")]
fn carries_token(process: i32, token: &str) -> bool {
    mark(process, token) == TokenMark::Carried
}

/// Has a program, but no environment yet: `env_end`, field 51 of `/proc/<id>/stat`, is 0.
#[cfg(target_os = "linux")]
fn is_starting(process: i32) -> bool {
    if std::fs::read_link(format!("/proc/{process}/exe")).is_err() {
        return false;
    }
    let Ok(line) = std::fs::read_to_string(format!("/proc/{process}/stat")) else {
        return false;
    };
    // Names can contain anything; the third field follows the last parenthesis.
    let fields = line.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_ascii_whitespace().nth(51 - 3) == Some("0")
}

#[cfg(test)]
mod tests;
