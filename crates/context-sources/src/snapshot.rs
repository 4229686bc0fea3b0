//! The files of a source and the units in which they are read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_diagnostics::{Hint, Hints};
use ktx_project_store::FileError;

use crate::artifacts::Artifacts;

/// The relevant text files of a source, by `/`-separated path relative to its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub files: BTreeMap<String, String>,
    pub left_out: Vec<LeftOut>,
    pub bytes: u64,
    /// Not part of units.
    pub artifacts: Artifacts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub path: String,
    pub reason: String,
}

/// Files that one model call reads together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub key: String,
    pub label: Option<String>,
    pub note: Option<&'static str>,
    /// False if the unit may write pages only.
    pub writes_sources: bool,
    pub files: Vec<String>,
    /// Files that `files` depend on.
    pub dependencies: Vec<String>,
    pub peers: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    Dbt,
    MetricFlow,
    LookMl,
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

    const fn mark(self) -> &'static str {
        match self {
            Self::Dbt => "`dbt_project.yml`",
            Self::MetricFlow => "YAML of `semantic_models` or `metrics`",
            Self::LookMl => "LookML (`*.lkml`, `*.lookml`)",
            Self::Cube => "YAML of `cubes` or `views`",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("there is no folder `{root}`")]
    Missing { root: PathBuf, kind: FolderKind },
    #[error("`{root}` is not a folder")]
    NotAFolder { root: PathBuf, kind: FolderKind },
    #[error("there is no {} in `{root}`", kind.mark())]
    NoProject { root: PathBuf, kind: FolderKind },
    #[error("`{path}` is not a dbt project file: {reason}")]
    Project { path: String, reason: String },
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
