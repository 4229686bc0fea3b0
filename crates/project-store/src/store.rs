//! An existing project.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ktx_config::{Environment, FILE_NAME, Project};
use ktx_diagnostics::{Diagnostic, Diagnostics, Hint, Hints};
use ktx_secrets::Secret;

use crate::files::{
    Access, make_folder, make_private_folder, require_writable, sweep, write_staged,
};
use crate::git::Git;
use crate::{
    Failpoints, FileError, GitError, History, HistoryError, Holder, Layout, LockError, ProjectLock,
    ProjectPath, PublishError, Publisher, Removed, StateDatabase, StateError, Wait, Written,
    append_line, read_optional, remove, write_atomically,
};

/// An open project: its files, its git, its local state. Cheap to clone. Opening only checks that
/// `ktx.yaml` exists.
#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
    environment: Environment,
    failpoints: Failpoints,
}

/// Why a project cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder has no `ktx.yaml`.
    #[error("no ktx project in `{dir}`")]
    Missing {
        /// The folder.
        dir: PathBuf,
    },
}

impl Hints for OpenError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Missing { .. } => vec![
                Hint::new("run `ktx admin init` to make one here"),
                Hint::new("or name its folder with `--project-dir`"),
            ],
        }
    }
}

/// Why `ktx.yaml` gives no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It has errors.
    #[error("`{FILE_NAME}` has errors")]
    Invalid {
        /// Errors and warnings, in the order of the file.
        #[source]
        problems: Diagnostics,
    },
}

/// The configuration of a project with its warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub project: Project,
    pub warnings: Vec<Diagnostic>,
}

impl Store {
    /// Opens the project in `dir`.
    pub fn open(
        dir: &Path,
        environment: Environment,
        failpoints: Failpoints,
    ) -> Result<Self, OpenError> {
        let layout = Layout::new(dir);
        if !layout.config().is_file() {
            return Err(OpenError::Missing {
                dir: dir.to_owned(),
            });
        }
        Ok(Self {
            layout,
            environment,
            failpoints,
        })
    }

    /// Returns the paths of the project.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the environment with which the project was opened.
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Marks a named step as reached, for tests that kill the process there.
    pub fn failpoint(&self, name: &str) {
        self.failpoints.reached(name);
    }

    /// Returns the steps at which tests kill the process.
    pub const fn failpoints(&self) -> &Failpoints {
        &self.failpoints
    }

    /// Returns the bytes of `ktx.yaml`.
    pub fn config_bytes(&self) -> Result<Vec<u8>, FileError> {
        Ok(read_optional(&self.layout.config())?.unwrap_or_default())
    }

    pub fn config(&self) -> Result<Config, ConfigError> {
        let parsed = ktx_config::parse_bytes(&self.config_bytes()?, FILE_NAME);
        match parsed.project {
            Some(project) => Ok(Config {
                project,
                warnings: parsed.diagnostics,
            }),
            None => Err(ConfigError::Invalid {
                problems: Diagnostics(parsed.diagnostics),
            }),
        }
    }

    /// Writes a file of the project atomically.
    pub fn write(&self, path: &ProjectPath, bytes: &[u8]) -> Result<Written, FileError> {
        let staging = self.local_folder(&self.layout.staging())?;
        write_staged(
            &path.under(self.layout.root()),
            bytes,
            &staging,
            Access::Shared,
        )
    }

    pub fn remove(&self, path: &ProjectPath) -> Result<Removed, FileError> {
        remove(&path.under(self.layout.root()))
    }

    /// Stores a secret in `.ktx/secrets/<name>`, readable by the user only and ignored by git.
    /// Returns the reference for `ktx.yaml`.
    pub fn write_secret(&self, name: &ProjectPath, secret: &Secret) -> Result<String, FileError> {
        let folder = self.layout.secrets();
        make_private_folder(&folder)?;
        write_atomically(&folder.join(".gitignore"), b"*\n")?;
        let staging = self.local_folder(&self.layout.staging())?;
        let line = format!("{}\n", secret.expose());
        write_staged(
            &name.under(&folder),
            line.as_bytes(),
            &staging,
            Access::Private,
        )?;
        Ok(format!("file:.ktx/secrets/{name}"))
    }

    pub fn append_audit(&self, line: &[u8]) -> Result<(), FileError> {
        self.local_folder(&self.layout.state())?;
        append_line(&self.layout.audit(), line)
    }

    /// Takes the project's lock for a command that changes it, and removes what killed processes
    /// left. `now` is recorded as the time at which the lock was taken.
    ///
    /// # Errors
    /// [`LockError::Held`] with the holder if another command has the lock, [`LockError::File`] if
    /// the lock file cannot be used.
    pub fn lock(
        &self,
        command: &str,
        now: Timestamp,
        wait: Wait,
    ) -> Result<ProjectLock, LockError> {
        let path = self.layout.lock();
        let failed = |error: FileError| LockError::File {
            path: path.clone(),
            source: std::io::Error::other(error),
        };
        self.local_folder(&self.layout.state()).map_err(failed)?;
        let holder = Holder {
            pid: std::process::id(),
            command: command.to_owned(),
            since: Some(now),
        };
        let lock = ProjectLock::acquire(&path, &holder, wait)?;
        sweep(&self.layout.staging()).map_err(failed)?;
        Ok(lock)
    }

    /// Opens the local database, creating it if it is missing.
    pub fn state(&self) -> Result<StateDatabase, StateError> {
        self.local_folder(&self.layout.state())?;
        StateDatabase::open(&self.layout.database())
    }

    /// Checks whether the local state can be written and its database read, as far as they exist.
    /// Creates nothing.
    ///
    /// # Errors
    /// [`StateError`] if a command that changes the project would fail on them.
    pub fn look_at_state(&self) -> Result<(), StateError> {
        let state = self.layout.state();
        let folders = state.ancestors();
        let nearest = folders.into_iter().find(|folder| folder.exists());
        require_writable(nearest.unwrap_or_else(|| self.layout.root()))?;
        let database = self.layout.database();
        if !database.exists() {
            return Ok(());
        }
        require_writable(&database)?;
        StateDatabase::look(&database)
    }

    /// Returns the project's git, for publishing. A folder that is not in a repository gets one.
    pub fn publisher(&self) -> Result<Publisher, PublishError> {
        Publisher::open(self.clone())
    }

    /// Checks whether git is installed and new enough. Creates nothing.
    ///
    /// # Errors
    /// [`GitError`] if git is missing, too old or does not start.
    pub fn look_at_git(&self) -> Result<(), GitError> {
        Git::find(self.layout.root(), &self.environment).map(drop)
    }

    /// Returns the commits of the repository that contains the project. Creates nothing.
    pub fn history(&self) -> Result<History, HistoryError> {
        History::open(self)
    }

    /// Creates `.ktx/state/`, which ignores itself in git.
    pub fn make_state(&self) -> Result<(), FileError> {
        self.local_folder(&self.layout.state()).map(drop)
    }

    /// Creates a folder below `.ktx/state/`, which ignores itself in git.
    pub(crate) fn local_folder(&self, folder: &Path) -> Result<PathBuf, FileError> {
        make_folder(folder)?;
        let ignore = self.layout.state().join(".gitignore");
        if !ignore.is_file() {
            write_atomically(&ignore, b"*\n")?;
        }
        Ok(folder.to_owned())
    }

    /// Returns a store for a folder that may not be a project yet.
    pub const fn unchecked(
        layout: Layout,
        environment: Environment,
        failpoints: Failpoints,
    ) -> Self {
        Self {
            layout,
            environment,
            failpoints,
        }
    }
}
