//! Transcripts of a model's unfinished work, in one private file per work item, ignored by git.

use std::path::PathBuf;

use ktx_vocabulary::ConnectionId;

use crate::files::make_private_folder;
use crate::{FileError, ProjectPath, Store};

impl Store {
    /// The transcript file of a work item. Creates its folder, which only the user may read; the
    /// file may not exist.
    ///
    /// # Errors
    /// [`FileError`] if the folder cannot be created.
    pub fn transcript(
        &self,
        connection: &ConnectionId,
        name: &ProjectPath,
    ) -> Result<PathBuf, FileError> {
        self.local_folder(&self.layout().state())?;
        let folder = self.layout().transcripts().join(connection.as_str());
        make_private_folder(&folder)?;
        Ok(name.under(&folder))
    }
}
