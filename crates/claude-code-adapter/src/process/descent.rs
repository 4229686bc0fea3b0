//! What descends from a process by its parents, wherever it has gone: into a session of its own, out of its
//! group, into an environment without the token.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Processes, each with the moment of its start: with its id, a name that is not used twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Descent(BTreeSet<(u32, u64)>);

/// A process as the kernel tells of it.
struct Seen {
    parent: u32,
    started: u64,
}

impl Descent {
    /// Everything below a process now.
    pub(crate) fn of(process: u32) -> Self {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Self::default();
        };
        let numbers = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut children: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for number in numbers {
            if let Some(seen) = seen(number) {
                let siblings = children.entry(seen.parent).or_default();
                siblings.push((number, seen.started));
            }
        }
        let mut below = BTreeSet::new();
        let mut next = vec![process];
        while let Some(parent) = next.pop() {
            for child in children.remove(&parent).into_iter().flatten() {
                next.push(child.0);
                below.insert(child);
            }
        }
        Self(below)
    }

    /// One line a process: its id and the moment of its start.
    pub(super) fn to_text(&self) -> String {
        self.0
            .iter()
            .fold(String::new(), |mut text, (process, started)| {
                let _ = writeln!(text, "{process} {started}");
                text
            })
    }

    /// Reads such lines; others are left out.
    pub(super) fn parse(text: &str) -> Self {
        let process = |line: &str| {
            let (process, started) = line.split_once(' ')?;
            Some((process.parse().ok()?, started.parse().ok()?))
        };
        Self(text.lines().filter_map(process).collect())
    }

    /// Adds others. Gives whether one of them was not there yet.
    pub(crate) fn extend(&mut self, others: Self) -> bool {
        let before = self.0.len();
        self.0.extend(others.0);
        self.0.len() > before
    }

    /// Kills those that still are the same processes.
    #[cfg(target_os = "linux")]
    pub(crate) fn kill(&self) {
        use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
        for (process, started) in &self.0 {
            let pid = i32::try_from(*process).ok().and_then(Pid::from_raw);
            // An error means that it is gone.
            let Some(Ok(handle)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
                continue;
            };
            // Looked at behind the handle, so that no other process gets the signal.
            if seen(*process).is_some_and(|seen| seen.started == *started)
                && let Err(error) = pidfd_send_signal(&handle, Signal::KILL)
            {
                tracing::debug!(%error, process, "a left-over process could not be killed");
            }
        }
    }

    /// There is no list of processes to kill from.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn kill(&self) {}
}

/// Fields 4 and 22 of `/proc/<id>/stat`; `None` when there is no such process.
fn seen(process: u32) -> Option<Seen> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may hold anything; the third field follows its last parenthesis.
    let (_, after_name) = line.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(1);
    Some(Seen {
        parent: fields.next()?.parse().ok()?,
        started: fields.nth(17)?.parse().ok()?,
    })
}
