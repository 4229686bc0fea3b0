//! When files were last committed.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{History, HistoryError};

/// Marks the time of a commit; no path contains it.
const MARK: char = '\u{1}';

impl History {
    /// In a shallow clone, older changes appear to be in its oldest commit.
    pub fn is_shallow(&self) -> Result<bool, HistoryError> {
        let answer = self.git.text(&["rev-parse", "--is-shallow-repository"])?;
        Ok(answer.trim() == "true")
    }

    /// Times of the last commit of each file, by path.
    pub fn last_changes(&self) -> Result<BTreeMap<String, Timestamp>, HistoryError> {
        let mut changes = BTreeMap::new();
        if self.commit("HEAD").is_err() {
            return Ok(changes);
        }
        let place = if self.prefix.is_empty() {
            "."
        } else {
            &self.prefix
        };
        let arguments = [
            "--literal-pathspecs",
            "-c",
            "core.quotePath=false",
            "log",
            "--format=%x01%ct",
            "--name-only",
            "--no-renames",
            "HEAD",
            "--",
            place,
        ];
        let log = self.git.text(&arguments)?;
        let mut time = None;
        for line in log.lines().filter(|line| !line.is_empty()) {
            if let Some(seconds) = line.strip_prefix(MARK) {
                let seconds = seconds.parse().ok();
                time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
            } else if let (Some(time), Some(path)) = (time, line.strip_prefix(&self.prefix)) {
                changes.entry(path.to_owned()).or_insert(time);
            }
        }
        Ok(changes)
    }
}
