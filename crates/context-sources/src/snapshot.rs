//! The files of a source, and the units that are read together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_diagnostics::{Hint, Hints};
use ktx_project_store::FileError;

/// The text files of a source that matter, by path relative to its root, with `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The files.
    pub files: BTreeMap<String, String>,
    /// What is there and was not read, ordered by path.
    pub left_out: Vec<LeftOut>,
}

/// A file that is there and was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path relative to the root.
    pub path: String,
    /// The reason in words.
    pub reason: String,
}

/// Files that one model call reads together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Its name, unique in its source.
    pub key: String,
    /// What people call it, where that is something else.
    pub label: Option<String>,
    /// The files that it is about.
    pub files: Vec<String>,
    /// The files that those build on.
    pub dependencies: Vec<String>,
    /// Other files of the source.
    pub peers: Vec<String>,
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing at the place.
    #[error("there is no folder `{root}`")]
    Missing {
        /// The place.
        root: PathBuf,
    },
    /// There is something else at the place.
    #[error("`{root}` is not a folder")]
    NotAFolder {
        /// The place.
        root: PathBuf,
    },
    /// The folder has no project file.
    #[error("there is no `dbt_project.yml` in `{root}`")]
    NoProject {
        /// The folder.
        root: PathBuf,
    },
    /// The project file cannot be understood.
    #[error("`{path}` is not a dbt project file: {reason}")]
    Project {
        /// The file, with line and column where they are known.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Hints for ReadError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Missing { .. } | Self::NotAFolder { .. } => vec![Hint::new(
                "set `source_dir` to the folder of a dbt project; a relative one counts from the project folder",
            )],
            Self::NoProject { .. } => vec![Hint::new(
                "set `source_dir` to the folder with `dbt_project.yml`, or `path` to its place below it",
            )],
            Self::Project { .. } => {
                vec![Hint::new("run `dbt parse` to see what dbt says about it")]
            }
            Self::File(_) => vec![Hint::new("look at who may read the folder")],
        }
    }
}
