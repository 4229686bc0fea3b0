//! A project that is there.

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

/// An open project: its files, its git, its local state. Cheap to clone; opening reads nothing but
/// the existence of `ktx.yaml`.
#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
    environment: Environment,
    failpoints: Failpoints,
}

/// Why there is no project.
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

/// The configuration of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The configuration.
    pub project: Project,
    /// What should be said about it.
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

    /// Where everything lies.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The environment that the project was opened with.
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Says that a named step has been reached, for tests that kill the process there.
    pub fn failpoint(&self, name: &str) {
        self.failpoints.reached(name);
    }

    /// The steps that tests kill at.
    pub const fn failpoints(&self) -> &Failpoints {
        &self.failpoints
    }

    /// The bytes of `ktx.yaml`.
    pub fn config_bytes(&self) -> Result<Vec<u8>, FileError> {
        Ok(read_optional(&self.layout.config())?.unwrap_or_default())
    }

    /// Reads `ktx.yaml`.
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

    /// Removes a file of the project.
    pub fn remove(&self, path: &ProjectPath) -> Result<Removed, FileError> {
        remove(&path.under(self.layout.root()))
    }

    /// Keeps a secret in `.ktx/secrets/<name>`, readable by the user alone, out of git. Returns the
    /// reference to write into `ktx.yaml`.
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

    /// Adds a line to the audit log.
    pub fn append_audit(&self, line: &[u8]) -> Result<(), FileError> {
        self.local_folder(&self.layout.state())?;
        append_line(&self.layout.audit(), line)
    }

    /// Takes the project's lock for a command that changes it, and clears away what killed
    /// processes left. `now` is written into the lock as the time since when it is held.
    ///
    /// # Errors
    /// [`LockError::Held`] with the holder when another command has the lock, [`LockError::File`] when the lock
    /// file cannot be used.
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

    /// Opens the local database, which is made when missing.
    pub fn state(&self) -> Result<StateDatabase, StateError> {
        self.local_folder(&self.layout.state())?;
        StateDatabase::open(&self.layout.database())
    }

    /// Looks whether the local state can be written and its database be read, as far as they are there.
    /// Makes nothing.
    ///
    /// # Errors
    /// [`StateError`] when a command that changes the project would fail at them.
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

    /// The project's git, for publishing. A folder in no repository gets one of its own.
    pub fn publisher(&self) -> Result<Publisher, PublishError> {
        Publisher::open(self.clone())
    }

    /// Looks whether git is there and new enough. Makes nothing.
    ///
    /// # Errors
    /// [`GitError`] when git is missing, too old or does not start.
    pub fn look_at_git(&self) -> Result<(), GitError> {
        Git::find(self.layout.root(), &self.environment).map(drop)
    }

    /// The commits of the repository that the project lies in. Makes nothing.
    pub fn history(&self) -> Result<History, HistoryError> {
        History::open(self)
    }

    /// Makes `.ktx/state/`, which ignores itself in git.
    pub fn make_state(&self) -> Result<(), FileError> {
        self.local_folder(&self.layout.state()).map(drop)
    }

    /// Makes a folder below `.ktx/state/`, which ignores itself in git.
    pub(crate) fn local_folder(&self, folder: &Path) -> Result<PathBuf, FileError> {
        make_folder(folder)?;
        let ignore = self.layout.state().join(".gitignore");
        if !ignore.is_file() {
            write_atomically(&ignore, b"*\n")?;
        }
        Ok(folder.to_owned())
    }

    /// A store over a folder that may not be a project yet.
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
