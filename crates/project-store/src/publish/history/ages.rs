//! When files were last committed.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{History, HistoryError};

/// What precedes the time of a commit: no path contains it.
const MARK: char = '\u{1}';

impl History {
    /// Whether the clone ends at a commit that has parents elsewhere. Then the files that changed last before that
    /// commit all appear to have changed in it.
    ///
    /// # Errors
    /// [`HistoryError`] if git fails.
    pub fn is_shallow(&self) -> Result<bool, HistoryError> {
        let answer = self.git.text(&["rev-parse", "--is-shallow-repository"])?;
        Ok(answer.trim() == "true")
    }

    /// Returns the time of the last commit of each file of the project that has one, by path.
    ///
    /// # Errors
    /// [`HistoryError`] if git fails.
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
                // The newest commit comes first.
                changes.entry(path.to_owned()).or_insert(time);
            }
        }
        Ok(changes)
    }
}
