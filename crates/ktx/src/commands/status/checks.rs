//! Checks of `ktx status` beyond `ktx.yaml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_config::{Driver, DriverKind, EmbeddingsBackend};
use ktx_context_tools::ScanSnapshot;
use ktx_diagnostics::{Code, Diagnostic, Failure, Hints as _, Severity, counted};
use ktx_ingest::waiting_proposals;
use ktx_project_store::Store;
use ktx_vocabulary::{Backend, ConnectionId};

use super::report::{
    Health, Issue, OmittedSchema, ScannedSchema, ScannedScope, SkippedCheck, SourcesStatus, Warning,
};
use crate::compose;
use crate::context;
use crate::invocation::{Invocation, OpenProject};
use crate::local_files;
use crate::proposals::ProposalReport;
use crate::report::{Outcome, Report as _};
use crate::scanning::state_failure;

pub(crate) struct Checks {
    /// `None` if not checked, here and below.
    pub git: Option<Result<(), Failure>>,
    pub state: Option<Result<(), Failure>>,
    /// Damaged files and what is lost until they are rebuilt.
    damaged_caches: Vec<(PathBuf, &'static str)>,
    sources: Option<Vec<Diagnostic>>,
    pub proposals: Vec<ProposalReport>,
    scopes: BTreeMap<ConnectionId, ScannedScope>,
    pub vectors: Option<Result<String, String>>,
    pub skipped: Vec<SkippedCheck>,
}

impl Checks {
    /// For `--fast`: starts no program and reads no source.
    pub(crate) fn none(project: &OpenProject) -> Self {
        let model = (project.config.llm.backend != Backend::None).then_some("model");
        let rest = ["git", "local state", "semantic sources"];
        let skipped = model.into_iter().chain(rest).map(|what| SkippedCheck {
            what,
            command: "ktx status",
        });
        let vectors = has_provider(project).then_some(SkippedCheck {
            what: "embeddings",
            command: "ktx status",
        });
        let proposals = project.store.may_have_proposals().then_some(SkippedCheck {
            what: "proposals",
            command: "ktx review",
        });
        let skipped = skipped.chain(vectors).chain(proposals);
        let skipped = skipped.chain(servers(project)).collect();
        Self {
            git: None,
            state: None,
            damaged_caches: Vec::new(),
            sources: None,
            proposals: Vec::new(),
            scopes: BTreeMap::new(),
            vectors: None,
            skipped,
        }
    }

    /// Contacts no server.
    pub(crate) fn take(invocation: &Invocation, project: &OpenProject) -> Outcome<Self> {
        let git = project.store.check_git().map_err(|error| Failure {
            hints: error.hints(),
            ..Failure::from_error(Code::GitUnusable, &error)
        });
        let git = git.and_then(|()| conflict(&project.store).map_or(Ok(()), Err));
        let state = project.store.check_state();
        let state = state
            .map_err(|error| state_failure(&error))
            .and_then(|()| local_files::check_ledger(project))
            .map_err(|failure| failure.seen_from(&project.dir));
        let context = context::open(invocation, project)?;
        let (sources, scopes) = compose::block_on(|_| async {
            let mut found = Vec::new();
            let mut scopes = BTreeMap::new();
            for warehouse in project.config.warehouses() {
                let listed = context.listing(&warehouse.id).await?;
                found.extend(listed.diagnostics);
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
            state: Some(state),
            damaged_caches: local_files::damaged_caches(project),
            sources: Some(wrong.collect()),
            proposals: match &git {
                Ok(()) => proposals(project)?,
                Err(_) => Vec::new(),
            },
            git: Some(git),
            scopes,
            vectors: has_provider(project).then(|| vectors(invocation, project)),
            skipped: servers(project).into_iter().collect(),
        })
    }

    pub(crate) fn git_problem(&self) -> Option<&Failure> {
        self.git.as_ref()?.as_ref().err()
    }

    pub(crate) fn scope(&self, connection: &ConnectionId) -> Option<ScannedScope> {
        self.scopes.get(connection).cloned()
    }

    pub(crate) fn state_problem(&self) -> Option<&Failure> {
        self.state.as_ref()?.as_ref().err()
    }

    pub(crate) fn damaged_caches(&self, project: &OpenProject) -> Vec<Warning> {
        let warning = |(path, lost): &(PathBuf, &str)| {
            let shown = path.strip_prefix(&project.dir).unwrap_or(path).display();
            Warning {
                message: format!("`{shown}` is damaged: {lost}"),
                fix: "remove the file; ktx rebuilds it when it needs it".to_owned(),
            }
        };
        self.damaged_caches.iter().map(warning).collect()
    }

    pub(crate) fn vectors_problem(&self) -> Option<&str> {
        self.vectors.as_ref()?.as_ref().err().map(String::as_str)
    }

    pub(crate) fn wrong_sources(&self) -> usize {
        self.sources.as_ref().map_or(0, Vec::len)
    }

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

fn has_provider(project: &OpenProject) -> bool {
    project.config.ingest.embeddings.backend != EmbeddingsBackend::None
}

/// Contacts no server.
fn vectors(invocation: &Invocation, project: &OpenProject) -> Result<String, String> {
    let embeddings = &project.config.ingest.embeddings;
    let vectors = compose::usable_vectors(embeddings, &invocation.environment, &project.dir)?;
    Ok(vectors.model().to_owned())
}

fn proposals(project: &OpenProject) -> Outcome<Vec<ProposalReport>> {
    let waiting = waiting_proposals(&project.store)
        .map_err(|error| crate::ingesting::failures::cause(&error, &project.dir))?;
    Ok(waiting.iter().map(ProposalReport::from).collect())
}

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
                 `_schema/` take either side, such as `git checkout --ours -- FILE`, and run `ktx scan` afterwards, \
                 or `ktx ingest` if it is below `ledger/`",
            )
            .hint("`git status` lists the files"),
    )
}

fn scope(snapshot: &ScanSnapshot) -> Option<ScannedScope> {
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
    Some(ScannedScope {
        schemas: schemas.collect(),
        left_out: left_out.collect(),
    })
}

pub(crate) fn source_errors(errors: usize) -> String {
    format!(
        "{} in the files of `semantic-layer/`",
        counted(errors, "error")
    )
}

/// Checks never contact warehouse servers.
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
