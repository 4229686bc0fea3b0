//! Descendants, found through parent ids: in any session, group or environment.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// With start times, because ids are reused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Descendants(BTreeSet<(u32, u64)>);

struct ProcessInfo {
    parent: u32,
    started: u64,
}

impl Descendants {
    pub(crate) fn of(process: u32) -> Self {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Self::default();
        };
        let numbers = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut children: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for number in numbers {
            if let Some(seen) = process_info(number) {
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

    pub(super) fn to_text(&self) -> String {
        self.0
            .iter()
            .fold(String::new(), |mut text, (process, started)| {
                let _ = writeln!(text, "{process} {started}");
                text
            })
    }

    pub(super) fn parse(text: &str) -> Self {
        let process = |line: &str| {
            let (process, started) = line.split_once(' ')?;
            Some((process.parse().ok()?, started.parse().ok()?))
        };
        Self(text.lines().filter_map(process).collect())
    }

    pub(crate) fn extend(&mut self, others: Self) -> bool {
        let before = self.0.len();
        self.0.extend(others.0);
        self.0.len() > before
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn kill(&self) {
        use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
        for (process, started) in &self.0 {
            let pid = i32::try_from(*process).ok().and_then(Pid::from_raw);
            // An error means that the process has ended.
            let Some(Ok(handle)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
                continue;
            };
            // Checked after opening the handle, so that no other process gets the signal.
            if process_info(*process).is_some_and(|seen| seen.started == *started)
                && let Err(error) = pidfd_send_signal(&handle, Signal::KILL)
            {
                tracing::debug!(%error, process, "a leftover process could not be killed");
            }
        }
    }

    /// This system has no process list.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn kill(&self) {}
}

/// Fields 4 and 22 of `/proc/<id>/stat`.
fn process_info(process: u32) -> Option<ProcessInfo> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Names can contain anything; the third field follows the last parenthesis.
    let (_, after_name) = line.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(1);
    Some(ProcessInfo {
        parent: fields.next()?.parse().ok()?,
        started: fields.nth(17)?.parse().ok()?,
    })
}
