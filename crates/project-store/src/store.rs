//! An existing project.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ktx_config::{Environment, FILE_NAME, Project};
use ktx_diagnostics::{Diagnostic, Diagnostics, Hint, Hints};
use ktx_secrets::Secret;

use crate::files::{
    FileAccess, make_folder, make_private_folder, require_writable, sweep, write_staged,
};
use crate::git::Git;
use crate::lock::Interruption;
use crate::rotation::rotate;
use crate::{
    Failpoints, FileError, GitError, History, HistoryError, Holder, Layout, LockError, ProjectLock,
    ProjectPath, PublishError, Publisher, RemoveEffect, StateDatabase, StateError, Wait,
    WriteEffect, append_line, read_optional, remove, write_atomically,
};

/// Cheap to clone. Opening only checks that `ktx.yaml` exists.
#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
    environment: Environment,
    failpoints: Failpoints,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("no ktx project in `{dir}`")]
    Missing { dir: PathBuf },
}

impl Hints for OpenError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Missing { .. } => vec![
                Hint::new("run `ktx admin init` to create one here"),
                Hint::new("or name its folder with `--project-dir`"),
            ],
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{FILE_NAME}` has errors")]
    Invalid {
        #[source]
        problems: Diagnostics,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct LoadedConfig {
    pub project: Project,
    pub warnings: Vec<Diagnostic>,
}

impl Store {
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

    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    pub fn failpoint(&self, name: &str) {
        self.failpoints.reached(name);
    }

    pub const fn failpoints(&self) -> &Failpoints {
        &self.failpoints
    }

    pub fn config_bytes(&self) -> Result<Vec<u8>, FileError> {
        Ok(read_optional(&self.layout.config())?.unwrap_or_default())
    }

    pub fn config(&self) -> Result<LoadedConfig, ConfigError> {
        let parsed = ktx_config::parse_bytes(&self.config_bytes()?, FILE_NAME);
        match parsed.project {
            Some(project) => Ok(LoadedConfig {
                project,
                warnings: parsed.diagnostics,
            }),
            None => Err(ConfigError::Invalid {
                problems: Diagnostics(parsed.diagnostics),
            }),
        }
    }

    pub fn write(&self, path: &ProjectPath, bytes: &[u8]) -> Result<WriteEffect, FileError> {
        let staging = self.local_folder(&self.layout.staging())?;
        write_staged(
            &path.under(self.layout.root()),
            bytes,
            &staging,
            FileAccess::Shared,
        )
    }

    pub fn remove(&self, path: &ProjectPath) -> Result<RemoveEffect, FileError> {
        remove(&path.under(self.layout.root()))
    }

    /// Private and ignored by git. Returns the reference for `ktx.yaml`.
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
            FileAccess::Private,
        )?;
        Ok(format!("file:.ktx/secrets/{name}"))
    }

    pub fn append_audit(&self, line: &[u8]) -> Result<(), FileError> {
        self.local_folder(&self.layout.state())?;
        append_line(&self.layout.audit(), line)
    }

    pub fn append_call(&self, line: &[u8]) -> Result<(), FileError> {
        let path = self.layout.call_log();
        self.local_folder(&self.layout.logs())?;
        rotate(&path)?;
        append_line(&path, line)
    }

    /// Also removes leftovers of killed processes.
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
        let holder = Holder::this_process(command, Some(now));
        let lock = ProjectLock::acquire(&path, &holder, wait)?;
        sweep(&self.layout.staging()).map_err(failed)?;
        Ok(lock)
    }

    pub fn is_locked(&self) -> Result<bool, LockError> {
        match ProjectLock::check_free(&self.layout.lock()) {
            Ok(()) => Ok(false),
            Err(LockError::Held { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// As Ctrl-C does.
    pub fn interrupt_holder(&self) -> Result<Interruption, LockError> {
        let path = self.layout.lock();
        match ProjectLock::check_free(&path) {
            Ok(()) => Ok(Interruption::NoRun),
            Err(LockError::Held {
                holder: Some(holder),
            }) => {
                let asked = holder.interrupt();
                asked.map_err(|source| LockError::File { path, source })
            }
            Err(error) => Err(error),
        }
    }

    /// Creates a missing database.
    pub fn state(&self) -> Result<StateDatabase, StateError> {
        self.local_folder(&self.layout.state())?;
        StateDatabase::open(&self.layout.database())
    }

    /// As far as it exists. Creates nothing.
    pub fn check_state(&self) -> Result<(), StateError> {
        let state = self.layout.state();
        let folders = state.ancestors();
        let nearest = folders.into_iter().find(|folder| folder.exists());
        require_writable(nearest.unwrap_or_else(|| self.layout.root()))?;
        let database = self.layout.database();
        if !database.exists() {
            return Ok(());
        }
        require_writable(&database)?;
        StateDatabase::check_readable(&database)
    }

    /// Creates a missing repository.
    pub fn publisher(&self) -> Result<Publisher, PublishError> {
        Publisher::open(self.clone())
    }

    pub fn check_git(&self) -> Result<(), GitError> {
        Git::find(self.layout.root(), &self.environment).map(drop)
    }

    pub fn history(&self) -> Result<History, HistoryError> {
        History::open(self)
    }

    pub fn make_state(&self) -> Result<(), FileError> {
        self.local_folder(&self.layout.state()).map(drop)
    }

    pub(crate) fn local_folder(&self, folder: &Path) -> Result<PathBuf, FileError> {
        make_folder(folder)?;
        let ignore = self.layout.state().join(".gitignore");
        if !ignore.is_file() {
            write_atomically(&ignore, b"*\n")?;
        }
        Ok(folder.to_owned())
    }

    /// May not be a project yet.
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
