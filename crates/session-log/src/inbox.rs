//! Letters to the process that has a session open.

use std::path::{Path, PathBuf};

use ktx_project_store::{FileError, list, read_optional, remove, write_privately};
use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Inbox {
    folder: PathBuf,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// Unique in the session.
    pub name: String,
    /// `None` unless it is JSON.
    pub body: Option<Value>,
}

impl Inbox {
    pub(crate) fn new(session: &Path) -> Self {
        Self {
            folder: session.join("inbox"),
        }
    }

    /// Leaves a letter atomically.
    pub fn post(&self, name: &str, body: &Value) -> Result<(), FileError> {
        write_privately(&self.path(name), body.to_string().as_bytes()).map(drop)
    }

    /// Returns the letters by name without removing them.
    pub fn letters(&self) -> Result<Vec<Letter>, FileError> {
        let mut letters = Vec::new();
        for path in list(&self.folder)? {
            let is_letter = path.extension().is_some_and(|ending| ending == "json");
            let (true, Some(name)) = (is_letter, path.file_stem()) else {
                continue;
            };
            let text = read_optional(&path)?;
            letters.extend(text.map(|text| Letter {
                name: name.to_string_lossy().into_owned(),
                body: serde_json::from_slice(&text).ok(),
            }));
        }
        Ok(letters)
    }

    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        remove(&self.path(name)).map(drop)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }
}
