//! The checks of `ktx status` beyond `ktx.yaml`, and the skipped ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_config::{Driver, DriverKind};
use ktx_context_tools::ScanSnapshot;
use ktx_diagnostics::{Code, Diagnostic, Failure, Hints as _, Severity, counted};
use ktx_ingest::waiting_proposals;
use ktx_project_store::Store;
use ktx_vocabulary::{Backend, ConnectionId};

use super::report::{
    Health, Issue, OmittedSchema, ScannedSchema, Scope, SkippedCheck, SourcesStatus, Warning,
};
use crate::compose;
use crate::context;
use crate::invocation::{Invocation, OpenProject};
use crate::local_files;
use crate::proposals::ProposalReport;
use crate::report::{Outcome, Report as _};
use crate::scanning::state_failure;

/// The results of the checks. Every skipped check is listed by name.
pub(crate) struct Checks {
    /// Whether git can be used; `None` if it was not checked.
    pub git: Option<Result<(), Failure>>,
    /// Whether the local state can be used; `None` if it was not checked.
    pub state: Option<Result<(), Failure>>,
    /// Damaged files of the local state that are rebuilt, and what is lost until then.
    made_anew: Vec<(PathBuf, &'static str)>,
    /// Errors in the files of the semantic layer; `None` if they were not read.
    sources: Option<Vec<Diagnostic>>,
    /// Changes kept back that wait for the user.
    pub proposals: Vec<ProposalReport>,
    /// What the last scan of each warehouse read of its schemas, and what it omitted.
    scopes: BTreeMap<ConnectionId, Scope>,
    /// The skipped checks, with the command that performs each.
    pub skipped: Vec<SkippedCheck>,
}

impl Checks {
    /// With `--fast`: starts no program and reads no source.
    pub(crate) fn none(project: &OpenProject) -> Outcome<Self> {
        let model = (project.config.llm.backend != Backend::None).then_some("model");
        let rest = ["git", "local state", "semantic sources"];
        let skipped = model.into_iter().chain(rest).map(|what| SkippedCheck {
            what,
            command: "ktx status",
        });
        let skipped = skipped.chain(servers(project)).collect();
        Ok(Self {
            git: None,
            state: None,
            made_anew: Vec::new(),
            sources: None,
            proposals: proposals(project)?,
            scopes: BTreeMap::new(),
            skipped,
        })
    }

    /// Asks git for its version, checks the local state and reads the sources. Reaches no server.
    pub(crate) fn take(invocation: &Invocation, project: &OpenProject) -> Outcome<Self> {
        let git = project.store.look_at_git().map_err(|error| Failure {
            hints: error.hints(),
            ..Failure::from_error(Code::GitUnusable, &error)
        });
        let git = git.and_then(|()| conflict(&project.store).map_or(Ok(()), Err));
        let state = project.store.look_at_state();
        let state = state
            .map_err(|error| state_failure(&error))
            .and_then(|()| local_files::look_at_ledger(project))
            .map_err(|failure| failure.seen_from(&project.dir));
        let context = context::open(invocation, project)?;
        let (sources, scopes) = compose::block_on(|_| async {
            let mut found = Vec::new();
            let mut scopes = BTreeMap::new();
            for warehouse in project.config.warehouses() {
                let listed = context.listing(&warehouse.id).await?;
                found.extend(listed.diagnostics);
                // An unreadable scan is reported where it is used.
                if let Ok(Some(snapshot)) = context.snapshot(&warehouse.id).await {
                    scopes.extend(scope(&snapshot).map(|scope| (warehouse.id.clone(), scope)));
                }
            }
            Ok::<_, Failure>((found, scopes))
        })?;
        let wrong = sources
            .into_iter()
            .filter(|found| found.severity == Severity::Error);
        Ok(Self {
            git: Some(git),
            state: Some(state),
            made_anew: local_files::made_anew(project),
            sources: Some(wrong.collect()),
            proposals: proposals(project)?,
            scopes,
            skipped: servers(project).into_iter().collect(),
        })
    }

    /// Returns why commits are impossible.
    pub(crate) fn git_problem(&self) -> Option<&Failure> {
        self.git.as_ref()?.as_ref().err()
    }

    /// Returns what the last scan of a warehouse read, if it has schemas.
    pub(crate) fn scope(&self, connection: &ConnectionId) -> Option<Scope> {
        self.scopes.get(connection).cloned()
    }

    /// Returns why the local state cannot be used.
    pub(crate) fn state_problem(&self) -> Option<&Failure> {
        self.state.as_ref()?.as_ref().err()
    }

    /// Returns warnings about the damaged files that are rebuilt.
    pub(crate) fn made_anew(&self, project: &OpenProject) -> Vec<Warning> {
        let warning = |(path, lost): &(PathBuf, &str)| {
            let shown = path.strip_prefix(&project.dir).unwrap_or(path).display();
            Warning {
                message: format!("`{shown}` is damaged: {lost}"),
                fix: "remove the file; ktx rebuilds it when it needs it".to_owned(),
            }
        };
        self.made_anew.iter().map(warning).collect()
    }

    /// Returns the number of faulty files in the semantic layer.
    pub(crate) fn wrong_sources(&self) -> usize {
        self.sources.as_ref().map_or(0, Vec::len)
    }

    /// Describes the files of the semantic layer.
    pub(crate) fn sources_status(&self) -> SourcesStatus {
        let (status, detail) = match &self.sources {
            None => (Health::Skipped, "not read (--fast)".to_owned()),
            Some(wrong) if wrong.is_empty() => (Health::Ok, "readable".to_owned()),
            Some(wrong) => (Health::Fail, source_errors(wrong.len())),
        };
        let issues = self.sources.iter().flatten();
        SourcesStatus {
            status,
            detail,
            issues: issues.map(Issue::from).collect(),
        }
    }
}

fn proposals(project: &OpenProject) -> Outcome<Vec<ProposalReport>> {
    let waiting = waiting_proposals(&project.store).map_err(|error| {
        Failure::from_error(Code::ProposalFailed, &error).seen_from(&project.dir)
    })?;
    Ok(waiting.iter().map(ProposalReport::from).collect())
}

/// Describes files that a merge has left in conflict.
pub(crate) fn conflict(store: &Store) -> Option<Failure> {
    let files = store.history().ok()?.conflicts().ok()?;
    let first = files.first()?;
    let named = match files.len() {
        1 => format!("`{first}` is"),
        2..=5 => format!("`{}` are", files.join("`, `")),
        more => format!("`{first}` and {} more files are", more - 1),
    };
    let failure = Failure::new(
        Code::GitConflict,
        format!("{named} in conflict: git could not merge two changes"),
    );
    Some(
        failure
            .hint(
                "resolve the conflict, then run `git add` and `git commit`; of a file below `raw-sources/` or \
                 `_schema/` take either side, such as `git checkout --ours -- FILE`, and run `ktx scan` afterwards",
            )
            .hint("`git status` lists the files"),
    )
}

/// Returns the schemas of a snapshot with their tables, and the omitted ones.
fn scope(snapshot: &ScanSnapshot) -> Option<Scope> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for table in &snapshot.tables {
        if let Some(schema) = table.table.db.as_deref() {
            *counts.entry(schema).or_default() += 1;
        }
    }
    if counts.is_empty() && snapshot.left_out.is_empty() {
        return None;
    }
    let schemas = counts.into_iter().map(|(name, tables)| ScannedSchema {
        name: name.to_owned(),
        tables,
    });
    let left_out = snapshot.left_out.iter().map(|schema| OmittedSchema {
        name: schema.name.clone(),
        reason: schema.reason.clone(),
    });
    Some(Scope {
        schemas: schemas.collect(),
        left_out: left_out.collect(),
    })
}

/// Names the errors in the files of the semantic layer.
pub(crate) fn source_errors(errors: usize) -> String {
    format!(
        "{} in the files of `semantic-layer/`",
        counted(errors, "error")
    )
}

/// Warehouses on a server are never reached here.
fn servers(project: &OpenProject) -> Option<SkippedCheck> {
    let is_server = |driver: Driver| {
        driver.kind() == DriverKind::Warehouse && !matches!(driver, Driver::Sqlite | Driver::DuckDb)
    };
    let mut connections = project.config.connections.values();
    connections
        .any(|connection| is_server(connection.driver))
        .then_some(SkippedCheck {
            what: "warehouse servers",
            command: "ktx connection test",
        })
}
