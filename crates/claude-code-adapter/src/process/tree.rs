//! The process tree of a child: its group, whatever descends from it, and whatever carries the token.

use std::path::Path;

use super::descent::Descent;
use super::guard::Watch;
use super::registry::Entry;

/// A child's tree. Dropping it kills the tree.
#[derive(Debug)]
pub(super) struct Tree {
    process: Option<u32>,
    token: String,
    entry: Option<Entry>,
    /// What was seen below the process while it lived: behind its end nobody can tell any more.
    seen: Descent,
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
        let entry = process
            .zip(state_dir)
            .and_then(|(process, folder)| Entry::write(folder, process, &token));
        if let (Some(watch), Some(process)) = (&watch, process) {
            watch.started(process, entry.as_ref().map(Entry::below));
        }
        Self {
            process,
            token,
            entry,
            seen: Descent::default(),
            _watch: watch,
        }
    }

    /// Asks the group to end.
    pub(super) fn terminate(&self) {
        signal_group(self.process, Strength::Terminate);
    }

    /// Remembers what is below the process. To be called before it is told to end.
    pub(super) fn look(&mut self) {
        if let Some(process) = self.process {
            // Whether one is new matters to nobody here.
            let _ = self.seen.extend(Descent::of(process));
        }
    }

    /// Kills the group, everything that descends from the process and everything that carries the token.
    pub(super) fn kill(&self) {
        kill_child(self.process, &self.token);
        self.seen.kill();
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

/// Kills a child's group, everything that descends from it and everything that carries its token.
pub(crate) fn kill_child(process: Option<u32>, token: &str) {
    // First: what has lost its parent descends from nobody.
    let below = process.map(Descent::of).unwrap_or_default();
    signal_group(process, Strength::Kill);
    below.kill();
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

/// The processes that carry the token. One that has not begun its program yet is waited for: until then
/// nobody can tell.
#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel tells nobody when a process begins its program"
)]
fn marked(token: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let (settled, starting): (Vec<_>, Vec<_>) = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(|process| (process, mark(process, token)))
        .filter(|(_, mark)| *mark != Mark::Absent)
        .partition(|(_, mark)| *mark == Mark::Carried);
    let starting = starting.into_iter().filter(|(process, _)| {
        for _ in 0..START_LOOKS {
            match mark(*process, token) {
                Mark::Starting => std::thread::sleep(START_PAUSE),
                settled => return settled == Mark::Carried,
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

/// How often a process is looked at that has not begun its program yet: this takes microseconds, on a
/// busy machine milliseconds.
#[cfg(target_os = "linux")]
const START_LOOKS: u32 = 500;

#[cfg(target_os = "linux")]
const START_PAUSE: std::time::Duration = std::time::Duration::from_millis(1);

/// What the environment of a process says about the token.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Carried,
    Absent,
    /// It is between two programs, and its environment is not there yet.
    Starting,
}

#[cfg(target_os = "linux")]
fn mark(process: i32, token: &str) -> Mark {
    // Processes of others cannot be read and are none of ours; those of the kernel and the dead have none.
    let environment = || read_at_once(&format!("/proc/{process}/environ"));
    let Ok(mut found) = environment() else {
        return Mark::Absent;
    };
    if found.is_empty() {
        if is_starting(process) {
            return Mark::Starting;
        }
        // It may have begun between the two looks.
        found = environment().unwrap_or_default();
    }
    let variable = format!("{}={token}", crate::environment::CHILD_TOKEN);
    let mut variables = found.split(|byte| *byte == 0);
    if variables.any(|found| found == variable.as_bytes()) {
        Mark::Carried
    } else {
        Mark::Absent
    }
}

/// The whole of a file whose length is not known before it is read. The kernel looks each part up anew, so there
/// is room for all of it at once.
#[cfg(target_os = "linux")]
fn read_at_once(path: &str) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut found = Vec::with_capacity(8 * 1024);
    // Without the bound the length is asked for first, which the kernel does not know.
    let file = std::fs::File::open(path)?;
    file.take(u64::MAX).read_to_end(&mut found)?;
    Ok(found)
}

#[cfg(target_os = "linux")]
fn carries(process: i32, token: &str) -> bool {
    mark(process, token) == Mark::Carried
}

/// Whether a process without an environment is between two programs (inside `execve`): it has a program,
/// which kernel threads and the dead have not, and no place for its environment yet (`env_end`, field 51
/// of `/proc/<id>/stat`, is 0).
#[cfg(target_os = "linux")]
fn is_starting(process: i32) -> bool {
    if std::fs::read_link(format!("/proc/{process}/exe")).is_err() {
        return false;
    }
    let Ok(line) = std::fs::read_to_string(format!("/proc/{process}/stat")) else {
        return false;
    };
    // The name of the program may hold anything; the third field follows its last parenthesis.
    let fields = line.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_ascii_whitespace().nth(51 - 3) == Some("0")
}

#[cfg(test)]
mod tests;
