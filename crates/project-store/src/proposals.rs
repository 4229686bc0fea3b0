//! The files of changes held back for review.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_vocabulary::ConnectionId;

use crate::files::{Access, write_staged};
use crate::{FileError, ProjectPath, Store, list, read_optional, remove};

impl Store {
    /// Stores a proposal of a context source under this name and returns its path in the project.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be written.
    pub fn write_proposal(
        &self,
        source: &ConnectionId,
        name: &ProjectPath,
        text: &str,
    ) -> Result<PathBuf, FileError> {
        let folder = self.layout().proposals().join(source.as_str());
        self.local_folder(&folder)?;
        let staging = self.local_folder(&self.layout().staging())?;
        let file = name.under(&folder);
        write_staged(&file, text.as_bytes(), &staging, Access::Shared)?;
        Ok(self.shown(file))
    }

    /// Removes a proposal that has been replaced.
    ///
    /// # Errors
    /// [`FileError`] if it exists and cannot be removed.
    pub fn remove_proposal(
        &self,
        source: &ConnectionId,
        name: &ProjectPath,
    ) -> Result<(), FileError> {
        let folder = self.layout().proposals().join(source.as_str());
        remove(&name.under(&folder)).map(drop)
    }

    /// Returns the text of all proposals by their path in the project.
    ///
    /// # Errors
    /// [`FileError`] if one cannot be read.
    pub fn proposals(&self) -> Result<BTreeMap<PathBuf, String>, FileError> {
        let mut all = BTreeMap::new();
        for file in list(&self.layout().proposals())? {
            if let Some(bytes) = read_optional(&file)? {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                all.insert(self.shown(file), text);
            }
        }
        Ok(all)
    }

    fn shown(&self, file: PathBuf) -> PathBuf {
        match file.strip_prefix(self.layout().root()) {
            Ok(inside) => inside.to_owned(),
            Err(_) => file,
        }
    }
}
