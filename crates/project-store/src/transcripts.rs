//! Conversations with models, in private files that git ignores: of unfinished work, one file per work item, and of the
//! latest runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ktx_vocabulary::{ConnectionId, RunId};

use crate::files::make_private_folder;
use crate::{FileError, ProjectPath, Store, list, remove};

/// The latest runs whose conversations stay on this machine.
pub const KEPT_RUNS: usize = 100;

/// A file about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFile {
    /// The prompts and answers of models, one JSON object per line.
    Transcript,
    /// The notes that the run has not captured.
    Notes,
}

impl RunFile {
    const fn ending(self) -> &'static str {
        match self {
            Self::Transcript => "transcript.jsonl",
            Self::Notes => "notes.json",
        }
    }
}

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

    /// The place of a file about a run; the file may not exist.
    pub fn run_file(&self, run: &RunId, file: RunFile) -> PathBuf {
        let folder = self.layout().run_files();
        folder.join(format!("{run}.{}", file.ending()))
    }

    /// The place of a new file about a run. Creates its folder, which only the user may read, and removes the files of
    /// runs before the last [`KEPT_RUNS`].
    ///
    /// # Errors
    /// [`FileError`] if the folder cannot be created or listed.
    pub fn new_run_file(&self, run: &RunId, file: RunFile) -> Result<PathBuf, FileError> {
        self.local_folder(&self.layout().state())?;
        let folder = self.layout().run_files();
        make_private_folder(&folder)?;
        // Ids of runs begin with their time.
        let run_of = |path: &PathBuf| {
            let name = path.file_name()?.to_str()?;
            Some(name.split('.').next()?.to_owned())
        };
        let files = list(&folder)?;
        let runs: BTreeSet<String> = files.iter().filter_map(run_of).collect();
        let oldest = runs.iter().rev().nth(KEPT_RUNS.saturating_sub(2));
        for path in &files {
            let is_old = |name: &String| oldest.is_some_and(|oldest| name < oldest);
            if run_of(path).as_ref().is_some_and(is_old) {
                remove(path)?;
            }
        }
        Ok(self.run_file(run, file))
    }
}
