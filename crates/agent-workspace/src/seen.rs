//! The files that an agent has read, with their content (KODE-67).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::folder::{ContentDigest, Expected, digest};

/// Content of each file at the last read or write.
#[derive(Debug, Default)]
pub(crate) struct SeenFiles(Mutex<BTreeMap<String, SeenFile>>);

#[derive(Debug)]
struct SeenFile {
    content: ContentDigest,
    reported: Reported,
}

#[derive(Debug, PartialEq, Eq)]
enum Reported {
    Nothing,
    /// `None` if the file is gone.
    Change(Option<ContentDigest>),
}

impl SeenFiles {
    pub(crate) fn note(&self, path: &str, content: &[u8]) {
        let seen = SeenFile {
            content: digest(content),
            reported: Reported::Nothing,
        };
        self.files().insert(key(path), seen);
    }

    /// Returns the changed files, each change once. `read` returns the current content.
    pub(crate) fn changed(&self, read: impl Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
        let mut changed = Vec::new();
        for (path, seen) in self.files().iter_mut() {
            let now = read(path).map(|content| digest(&content));
            if now == Some(seen.content) {
                seen.reported = Reported::Nothing;
            } else if seen.reported != Reported::Change(now) {
                seen.reported = Reported::Change(now);
                changed.push(path.clone());
            }
        }
        changed
    }

    pub(crate) fn expected(&self, path: &str) -> Expected {
        match self.files().get(&key(path)) {
            Some(seen) => Expected::Content(seen.content),
            None => Expected::Absent,
        }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, SeenFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.collect::<Vec<&str>>().join("/")
}
