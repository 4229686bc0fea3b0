//! Server answers from earlier runs, one file each.

use std::fmt::Write as _;
use std::path::PathBuf;

use ktx_project_store::write_atomically;
use sha2::{Digest as _, Sha256};

/// Server answers of earlier runs. The folder can be deleted at any time.
#[derive(Debug, Clone)]
pub struct PageCache {
    folder: PathBuf,
}

impl PageCache {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    pub(crate) fn get(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(file)).ok()
    }

    /// Only logs a failure: it costs the next run one request.
    pub(crate) fn put(&self, file: &str, text: &str) {
        if self.get(file).is_some_and(|known| known == text) {
            return;
        }
        let path = self.folder.join(file);
        if let Err(error) = write_atomically(&path, text.as_bytes()) {
            tracing::warn!(%error, file, "an answer was not cached for the next run");
        }
    }
}

pub(crate) fn file_name(text: &str, extension: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let mut name = String::new();
    for byte in hash {
        let _ = write!(name, "{byte:02x}");
    }
    format!("{name}.{extension}")
}
