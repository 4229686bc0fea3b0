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
    /// What a reader must know of this kind of files, in constant words of ours.
    pub note: Option<&'static str>,
    /// Whether semantic sources may be written from it; else pages only.
    pub writes_sources: bool,
    /// The files that it is about.
    pub files: Vec<String>,
    /// The files that those build on.
    pub dependencies: Vec<String>,
    /// Other files of the source.
    pub peers: Vec<String>,
}

/// A kind of source that is a folder of files, or a repository with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    /// A dbt project.
    Dbt,
    /// Semantic models and metrics.
    MetricFlow,
    /// A LookML project.
    LookMl,
}

impl FolderKind {
    /// What it is, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Dbt => "dbt project",
            Self::MetricFlow => "MetricFlow project",
            Self::LookMl => "LookML project",
        }
    }

    /// What stands before the names of its settings.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::MetricFlow => "metricflow.",
            Self::Dbt | Self::LookMl => "",
        }
    }

    /// The settings that name a repository, the usual one first.
    pub const fn repository_keys(self) -> [&'static str; 2] {
        match self {
            Self::Dbt => ["repo_url", "repoUrl"],
            Self::MetricFlow => ["metricflow.repoUrl", "metricflow.repo_url"],
            Self::LookMl => ["repoUrl", "repo_url"],
        }
    }

    /// What its folder has.
    const fn mark(self) -> &'static str {
        match self {
            Self::Dbt => "`dbt_project.yml`",
            Self::MetricFlow => "YAML of `semantic_models` or `metrics`",
            Self::LookMl => "LookML (`*.lkml`, `*.lookml`)",
        }
    }
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing at the place.
    #[error("there is no folder `{root}`")]
    Missing {
        /// The place.
        root: PathBuf,
        /// What was looked for.
        kind: FolderKind,
    },
    /// There is something else at the place.
    #[error("`{root}` is not a folder")]
    NotAFolder {
        /// The place.
        root: PathBuf,
        /// What was looked for.
        kind: FolderKind,
    },
    /// The folder has nothing of the kind.
    #[error("there is no {} in `{root}`", kind.mark())]
    NoProject {
        /// The folder.
        root: PathBuf,
        /// What was looked for.
        kind: FolderKind,
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
