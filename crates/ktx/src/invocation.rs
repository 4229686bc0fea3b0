//! One program start. Environment, clock and configuration are each read once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ktx_config::{Environment, FILE_NAME, Project};
use ktx_diagnostics::{Code, Diagnostic, Failure};
use ktx_project_store::{
    ConfigError, Failpoints, Force, Initialized, OpenError, ProjectLock, Store, init,
};
use ktx_secrets::SecretSource;
use ktx_vocabulary::RunId;

use crate::cli::{Cli, Command, LockWait, OutputArgs};
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};
use crate::telemetry::Telemetry;

#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    pub environment: Environment,
    pub current: PathBuf,
    pub now: Timestamp,
    pub run_id: RunId,
    pub command: &'static str,
    pub telemetry: Telemetry,
    /// `ktx` itself, which guards its children.
    pub program: Option<PathBuf>,
    pub ends_at: Option<Instant>,
    pub lock_wait: LockWait,
    project_dir: Option<PathBuf>,
    debug: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct CommandContext<'a> {
    pub invocation: &'a Invocation,
    pub project: &'a OpenProject,
    pub printer: &'a Printer,
}

#[derive(Debug)]
pub(crate) struct OpenProject {
    pub store: Store,
    pub dir: PathBuf,
    pub config: Project,
    pub warnings: Vec<Diagnostic>,
    pub lock_wait: LockWait,
    /// An unused lock that the command waited for.
    pub waited: Mutex<Option<ProjectLock>>,
}

impl OpenProject {
    pub(crate) fn take_lock(&self) -> Option<ProjectLock> {
        let mut waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        waited.take()
    }
}

impl Invocation {
    #[expect(
        clippy::disallowed_methods,
        reason = "the current folder is taken once, here"
    )]
    pub(crate) fn start(
        cli: &Cli,
        environment: Environment,
        telemetry: Telemetry,
    ) -> Outcome<Self> {
        let current = std::env::current_dir().map_err(|error| {
            Failure::from_error(Code::CurrentFolder, &error)
                .context("the current folder cannot be read")
        })?;
        Ok(Self {
            environment,
            current,
            now: Timestamp::now(),
            run_id: new_run_id()?,
            command: cli.command.as_ref().map_or("help", Command::word),
            telemetry,
            program: std::env::current_exe().ok(),
            ends_at: None,
            lock_wait: cli
                .command
                .as_ref()
                .map_or(LockWait::NotOffered, Command::lock_wait),
            project_dir: cli.global.project_dir.clone(),
            debug: cli.global.debug,
        })
    }

    pub(crate) fn next_run(&self) -> Outcome<Self> {
        Ok(Self {
            run_id: new_run_id()?,
            ..self.clone()
        })
    }

    /// For the next round of a repeating command.
    pub(crate) fn again(&self, now: Timestamp) -> Outcome<Self> {
        Ok(Self {
            now,
            ..self.next_run()?
        })
    }

    pub(crate) fn ending_after(&self, time: Option<Duration>) -> Self {
        Self {
            ends_at: time.and_then(|time| Instant::now().checked_add(time)),
            ..self.clone()
        }
    }

    pub(crate) fn printer(&self, args: &OutputArgs) -> Outcome<Printer> {
        Printer::new(args, &self.environment)
    }

    pub(crate) fn debug(&self, printer: &Printer, text: &str) {
        if self.debug {
            printer.note(&format!("[debug] {text}"));
        }
    }

    /// Returns the flag, `KTX_PROJECT_DIR`, the nearest parent with `ktx.yaml`, or the current
    /// folder, which can lack a project.
    pub(crate) fn project_dir(&self) -> Outcome<PathBuf> {
        let flag = self
            .project_dir
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        let resolved = ktx_config::project_dir(
            flag.as_deref(),
            self.environment.project_dir(),
            &self.current,
            Path::is_file,
        )
        .map_err(|error| {
            Failure::new(Code::InvalidProjectDir, error.to_string()).with_hints(&error)
        })?;
        Ok(resolved.dir)
    }

    /// Like `project_dir`, but ignores parents.
    pub(crate) fn init_dir(&self) -> Outcome<PathBuf> {
        let named = self.project_dir.is_some() || self.environment.project_dir().is_some();
        if named {
            self.project_dir()
        } else {
            Ok(self.current.clone())
        }
    }

    pub(crate) fn secrets<'a>(&'a self, dir: &'a Path) -> ProjectSecrets<'a> {
        ProjectSecrets {
            environment: &self.environment,
            dir,
        }
    }
}

fn new_run_id() -> Outcome<RunId> {
    Ok(RunId::parse(&uuid::Uuid::now_v7().to_string())?)
}

pub(crate) fn load(dir: &Path, environment: &Environment) -> Outcome<OpenProject> {
    let failpoints = Failpoints::kill_at(environment.test_kill_at());
    let store = Store::open(dir, environment.clone(), failpoints).map_err(|error| match error {
        OpenError::Missing { .. } => Failure::new(Code::MissingProject, error.to_string())
            .hint("run `ktx admin init` to create one here, or `ktx demo` for a sample")
            .hint("name another folder with `--project-dir`"),
    })?;
    let config = store.config().map_err(|error| match error {
        ConfigError::Invalid { problems } => problems.into(),
        ConfigError::File(error) => Failure::from_error(Code::UnreadableConfig, &error)
            .context(format!("`{FILE_NAME}` cannot be read")),
    })?;
    Ok(OpenProject {
        store,
        dir: dir.to_owned(),
        config: config.project,
        warnings: config.warnings,
        lock_wait: LockWait::NotOffered,
        waited: Mutex::default(),
    })
}

pub(crate) fn init_project(
    dir: &Path,
    force: Force,
    invocation: &Invocation,
) -> Outcome<Initialized> {
    let failpoints = Failpoints::kill_at(invocation.environment.test_kill_at());
    init(
        dir,
        force,
        invocation.now,
        &invocation.environment,
        &failpoints,
    )
    .map_err(|error| Failure::from_error(Code::InitFailed, &error).with_hints(&error))
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ProjectSecrets<'a> {
    environment: &'a Environment,
    dir: &'a Path,
}

impl<'a> ProjectSecrets<'a> {
    pub(crate) const fn new(environment: &'a Environment, dir: &'a Path) -> Self {
        Self { environment, dir }
    }
}

impl SecretSource for ProjectSecrets<'_> {
    fn env(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    fn read(&self, path: &Path) -> std::io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn home(&self) -> Option<PathBuf> {
        self.environment.home().map(Path::to_owned)
    }

    fn base(&self) -> PathBuf {
        self.dir.to_owned()
    }
}
