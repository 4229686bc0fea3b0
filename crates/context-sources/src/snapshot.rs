//! The files of a source and the units in which they are read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_diagnostics::{Hint, Hints};
use ktx_project_store::FileError;

use crate::artifacts::Artifacts;

/// The relevant text files of a source, by `/`-separated path relative to its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Text by path.
    pub files: BTreeMap<String, String>,
    /// Existing files that were not read, ordered by path.
    pub left_out: Vec<LeftOut>,
    /// The bytes of the files that were read.
    pub bytes: u64,
    /// What dbt made of the files. Units do not read it.
    pub artifacts: Artifacts,
}

/// An existing file that was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The path relative to the root.
    pub path: String,
    pub reason: String,
}

/// Files that one model call reads together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The name, unique within the source.
    pub key: String,
    /// The display name, if it differs from the key.
    pub label: Option<String>,
    /// A constant note for the model about this kind of file.
    pub note: Option<&'static str>,
    /// Whether the unit may write semantic sources; otherwise it writes pages only.
    pub writes_sources: bool,
    /// The files that the unit is about.
    pub files: Vec<String>,
    /// The files that those depend on.
    pub dependencies: Vec<String>,
    /// Other files of the source.
    pub peers: Vec<String>,
}

/// A kind of source that is a folder of files or a repository with such a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    Dbt,
    /// Semantic models and metrics.
    MetricFlow,
    LookMl,
    /// Cubes in YAML.
    Cube,
}

impl FolderKind {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Dbt => "dbt project",
            Self::MetricFlow => "MetricFlow project",
            Self::LookMl => "LookML project",
            Self::Cube => "Cube project",
        }
    }

    /// Returns the prefix of its setting names.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::MetricFlow => "metricflow.",
            Self::Dbt | Self::LookMl | Self::Cube => "",
        }
    }

    /// Returns the settings that name a repository, the usual one first.
    pub const fn repository_keys(self) -> [&'static str; 2] {
        match self {
            Self::Dbt => ["repo_url", "repoUrl"],
            Self::MetricFlow => ["metricflow.repoUrl", "metricflow.repo_url"],
            Self::LookMl | Self::Cube => ["repoUrl", "repo_url"],
        }
    }

    /// Returns a description of the files that identify such a folder.
    const fn mark(self) -> &'static str {
        match self {
            Self::Dbt => "`dbt_project.yml`",
            Self::MetricFlow => "YAML of `semantic_models` or `metrics`",
            Self::LookMl => "LookML (`*.lkml`, `*.lookml`)",
            Self::Cube => "YAML of `cubes` or `views`",
        }
    }
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path does not exist.
    #[error("there is no folder `{root}`")]
    Missing { root: PathBuf, kind: FolderKind },
    /// The path is not a folder.
    #[error("`{root}` is not a folder")]
    NotAFolder { root: PathBuf, kind: FolderKind },
    /// The folder contains no project of this kind.
    #[error("there is no {} in `{root}`", kind.mark())]
    NoProject { root: PathBuf, kind: FolderKind },
    /// The project file cannot be parsed.
    #[error("`{path}` is not a dbt project file: {reason}")]
    Project {
        /// The file, with line and column if known.
        path: String,
        reason: String,
    },
    /// The file system reported an error.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Hints for ReadError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Missing { kind, .. } | Self::NotAFolder { kind, .. } => vec![Hint::new(format!(
                "set `{}source_dir` to the folder of a {}; a relative one counts from the project folder",
                kind.prefix(),
                kind.words()
            ))],
            Self::NoProject { kind, .. } => vec![Hint::new(format!(
                "set `{0}source_dir` to the folder with {1}, or `{0}path` to its place below it",
                kind.prefix(),
                kind.mark()
            ))],
            Self::Project { .. } => {
                vec![Hint::new("run `dbt parse` to see what dbt says about it")]
            }
            Self::File(_) => vec![Hint::new("look at who may read the folder")],
        }
    }
}
