//! `ktx admin init`: creates a project and its first commit.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ktx_config::{Environment, FILE_NAME};
use ktx_diagnostics::{Hint, Hints};

use crate::files::make_folder;
use crate::git::Git;
use crate::{
    Change, Failpoints, FileError, GitError, Layout, ProjectPath, PublishError, PublishRequest,
    SkippedFile, Store, UnsafePath, read_optional, remove,
};

/// The user's choices, not every default.
pub const PROJECT_FILE_TEMPLATE: &str = "\
# Configuration of this ktx project. `ktx admin schema` prints every key with its default.

# Warehouses and context sources, by connection id.
# warehouse:
#   driver: postgres
#   url: env:WAREHOUSE_URL
connections: {}

# Who runs language models: none, anthropic, vertex, gateway, claude-code, openai, ...
llm:
  provider:
    backend: none
";

const IGNORED: [&str; 14] = [
    "cache/",
    "db.sqlite",
    "db.sqlite-*",
    "ingest-transcripts/",
    "ingest-traces/",
    "ingest-evidence/",
    "ingest-patches/",
    "worktrees/",
    "secrets/",
    "setup/",
    "agents/",
    "logs/",
    "runtime/",
    "mcp.json",
];

const KEPT: [&str; 5] = [
    ".ktx/prompts/.gitkeep",
    ".ktx/skills/.gitkeep",
    "raw-sources/.gitkeep",
    "semantic-layer/.gitkeep",
    "wiki/global/.gitkeep",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    No,
    /// Adds only missing files.
    Yes,
}

#[derive(Debug, Clone)]
pub struct Initialized {
    pub store: Store,
    pub name: String,
    /// `None` if nothing was new.
    pub commit: Option<String>,
    pub skipped: Vec<SkippedFile>,
}

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("`{dir}` is a ktx project already")]
    Exists { dir: PathBuf },
    /// Without `ktx.yaml`.
    #[error("`{dir}` is a git repository that is not a ktx project")]
    ForeignRepository { dir: PathBuf },
    #[error("cannot make a project in `{dir}`")]
    File {
        dir: PathBuf,
        #[source]
        source: FileError,
    },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot commit the new project")]
    Publish {
        #[source]
        source: PublishError,
    },
    #[error(transparent)]
    Internal(#[from] UnsafePath),
}

impl Hints for InitError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Exists { .. } => vec![Hint::new("use `--force` to add the missing files")],
            Self::ForeignRepository { .. } => vec![
                Hint::new("use a separate folder inside the repository, such as `ktx/`"),
                Hint::new("or use `--force` to make the repository itself the project"),
            ],
            Self::Git(error) => error.hints(),
            Self::Publish { source } => source.hints(),
            Self::File { .. } | Self::Internal(_) => Vec::new(),
        }
    }
}

/// The project joins a repository around it, or gets its own. Continues a killed init.
pub fn init(
    dir: &Path,
    force: Force,
    at: Timestamp,
    environment: &Environment,
    failpoints: &Failpoints,
) -> Result<Initialized, InitError> {
    let layout = Layout::new(dir);
    let failed = |source| InitError::File {
        dir: dir.to_owned(),
        source,
    };
    let unfinished = layout.init_record().is_file();
    if !unfinished && force == Force::No {
        refuse_occupied(&layout)?;
    }
    let store = Store::unchecked(layout, environment.clone(), failpoints.clone());
    let layout = store.layout();
    make_folder(dir).map_err(failed)?;
    Git::find(dir, environment)?;
    store.local_folder(&layout.state()).map_err(failed)?;
    crate::write_atomically(&layout.init_record(), b"{}\n").map_err(failed)?;
    store.failpoint("init:begin");

    let changes = scaffold(&store)?;
    store.failpoint("init:files");
    let published = |source| InitError::Publish { source };
    let publisher = store.publisher().map_err(published)?;
    store.failpoint("init:git");
    let base = publisher.begin().map_err(published)?;
    let name = name_of(dir);
    let message = format!("Initialize ktx project: {name}");
    let request = PublishRequest {
        changes: &changes,
        message: &message,
        at,
    };
    let outcome = publisher.publish(&base, &request).map_err(published)?;
    store.failpoint("init:commit");
    remove(&layout.init_record()).map_err(failed)?;
    Ok(Initialized {
        name,
        commit: outcome.commit,
        skipped: outcome.skipped,
        store,
    })
}

fn refuse_occupied(layout: &Layout) -> Result<(), InitError> {
    let dir = layout.root().to_owned();
    if layout.config().exists() {
        return Err(InitError::Exists { dir });
    }
    if layout.root().join(".git").exists() {
        return Err(InitError::ForeignRepository { dir });
    }
    Ok(())
}

fn scaffold(store: &Store) -> Result<Vec<Change>, InitError> {
    let mut changes = Vec::new();
    let mut add = |name: &str, content: &dyn Fn(Option<Vec<u8>>) -> Vec<u8>| {
        let path = ProjectPath::parse(name)?;
        let root = store.layout().root();
        let failed = |source| InitError::File {
            dir: root.to_owned(),
            source,
        };
        let content = content(read_optional(&path.under(root)).map_err(failed)?);
        store.write(&path, &content).map_err(failed)?;
        changes.push(Change::write(path, content));
        Ok::<(), InitError>(())
    };
    add(".ktx/.gitignore", &|found| {
        ignore_lines(found.as_deref().unwrap_or_default())
    })?;
    for name in KEPT {
        add(name, &Option::unwrap_or_default)?;
    }
    add(FILE_NAME, &|found| {
        found.unwrap_or_else(|| PROJECT_FILE_TEMPLATE.into())
    })?;
    Ok(changes)
}

fn ignore_lines(found: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(found);
    let present: Vec<&str> = text.lines().map(str::trim).collect();
    let mut lines = found.to_vec();
    if !lines.is_empty() && !lines.ends_with(b"\n") {
        lines.push(b'\n');
    }
    for line in IGNORED.iter().filter(|line| !present.contains(*line)) {
        lines.extend_from_slice(line.as_bytes());
        lines.push(b'\n');
    }
    lines
}

fn name_of(dir: &Path) -> String {
    // The name as given is good enough if the folder cannot be resolved.
    let full = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    full.file_name().map_or_else(
        || "ktx".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
