//! Who wrote the lines of a file.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{History, HistoryError};
use crate::ProjectPath;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedLines {
    /// From 1.
    pub first: usize,
    pub last: usize,
    /// `None` if not committed yet.
    pub commit: Option<BlamedCommit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedCommit {
    pub id: String,
    pub author: String,
    pub at: Timestamp,
}

impl History {
    /// One part without a commit if git does not know the file.
    pub fn blame(
        &self,
        path: &ProjectPath,
        lines: usize,
    ) -> Result<Vec<BlamedLines>, HistoryError> {
        let place = format!("{}{path}", self.prefix);
        let object = format!("HEAD:{place}");
        let known = self.git.run(&["cat-file", "-e", &object], b"")?;
        if !known.status.success() {
            return Ok(vec![BlamedLines {
                first: 1,
                last: lines,
                commit: None,
            }]);
        }
        let porcelain = self.git.text(&["blame", "--porcelain", "--", &place])?;
        Ok(parse(&porcelain))
    }

    pub fn message(&self, commit: &str) -> Result<String, HistoryError> {
        let arguments = ["log", "-1", "--format=%B", commit, "--"];
        Ok(self.git.text(&arguments)?)
    }
}

/// Git's porcelain format: a commit's facts follow its first line.
fn parse(porcelain: &str) -> Vec<BlamedLines> {
    let mut parts: Vec<BlamedLines> = Vec::new();
    let mut commits: BTreeMap<String, BlamedCommit> = BTreeMap::new();
    let mut current = String::new();
    let mut line = 0;
    for text in porcelain.lines() {
        if text.starts_with('\t') {
            let commit = commits.get(&current).cloned();
            match parts.last_mut() {
                Some(part) if part.commit == commit && part.last + 1 == line => part.last = line,
                _ => parts.push(BlamedLines {
                    first: line,
                    last: line,
                    commit,
                }),
            }
            continue;
        }
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "author" => commit_of(&mut commits, &current, |commit| {
                rest.clone_into(&mut commit.author);
            }),
            "author-time" => commit_of(&mut commits, &current, |commit| {
                let seconds = rest.parse().ok();
                commit.at = seconds
                    .and_then(|seconds| Timestamp::from_second(seconds).ok())
                    .unwrap_or_default();
            }),
            _ if is_id(word) => {
                word.clone_into(&mut current);
                let number = rest.split(' ').nth(1);
                line = number.and_then(|number| number.parse().ok()).unwrap_or(0);
            }
            _ => {}
        }
    }
    parts
}

fn commit_of(
    commits: &mut BTreeMap<String, BlamedCommit>,
    id: &str,
    change: impl FnOnce(&mut BlamedCommit),
) {
    // Zeros mean that the line is not committed.
    if id.chars().all(|digit| digit == '0') {
        return;
    }
    let new = || BlamedCommit {
        id: id.to_owned(),
        author: String::new(),
        at: Timestamp::UNIX_EPOCH,
    };
    change(commits.entry(id.to_owned()).or_insert_with(new));
}

fn is_id(word: &str) -> bool {
    word.len() >= 40 && word.chars().all(|digit| digit.is_ascii_hexdigit())
}
