//! Transcripts of work that a model has not finished, one private file a piece of work, out of git.

use std::path::PathBuf;

use ktx_vocabulary::ConnectionId;

use crate::files::make_private_folder;
use crate::{FileError, ProjectPath, Store};

impl Store {
    /// The file for the transcript of a piece of work of a connection, in a folder that is there and that only the
    /// user may read. The file itself may be absent.
    ///
    /// # Errors
    /// [`FileError`] when the folder cannot be made.
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
