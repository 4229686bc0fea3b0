//! Private conversations with models: one file per unfinished work item, and those of the latest
//! runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ktx_vocabulary::{ConnectionId, RunId};

use crate::files::make_private_folder;
use crate::{FileError, ProjectPath, Store, list, remove};

/// Number of runs whose files stay.
pub const KEPT_RUNS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFile {
    /// One JSON object per line.
    Transcript,
    /// Notes that the run has not captured.
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
    /// Creates the private folder.
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

    /// The file can be missing.
    pub fn run_file(&self, run: &RunId, file: RunFile) -> PathBuf {
        let folder = self.layout().run_files();
        folder.join(format!("{run}.{}", file.ending()))
    }

    /// Creates the folder and removes all but the last [`KEPT_RUNS`].
    pub fn new_run_file(&self, run: &RunId, file: RunFile) -> Result<PathBuf, FileError> {
        self.local_folder(&self.layout().state())?;
        let folder = self.layout().run_files();
        make_private_folder(&folder)?;
        // Run ids begin with their time.
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
