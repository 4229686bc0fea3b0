//! The checks of `ktx status` beyond `ktx.yaml`, and the skipped ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_config::{Driver, DriverKind};
use ktx_context_tools::ScanSnapshot;
use ktx_diagnostics::{Code, Diagnostic, Failure, Hints as _, Severity, counted};
use ktx_ingest::waiting_proposals;
use ktx_project_store::Store;
use ktx_vocabulary::Backend;
use serde_json::{Value, json};

use super::checks::issue;
use crate::commands::ingest::proposals::proposal_json;
use crate::compose;
use crate::context;
use crate::local_files;
use crate::report::{Outcome, Report as _};
use crate::scanning::state_failure;
use crate::session::{Opened, Session};

/// The results of the checks. Every skipped check is listed by name.
pub(crate) struct Looks {
    /// Whether git can be used; `None` if it was not checked.
    git: Option<Result<(), Failure>>,
    /// Whether the local state can be used; `None` if it was not checked.
    state: Option<Result<(), Failure>>,
    /// Damaged files of the local state that are rebuilt, and what is lost until then.
    made_anew: Vec<(PathBuf, &'static str)>,
    /// Errors in the files of the semantic layer; `None` if they were not read.
    sources: Option<Vec<Diagnostic>>,
    /// Changes kept back that wait for the user.
    proposals: Vec<Value>,
    /// What the last scan of each warehouse read of its schemas, and what it omitted.
    scopes: BTreeMap<String, Value>,
    /// The skipped checks, with the command that performs each.
    unseen: Vec<(&'static str, &'static str)>,
}

impl Looks {
    /// With `--fast`: starts no program and reads no source.
    pub(crate) fn none(opened: &Opened) -> Outcome<Self> {
        let mut unseen = Vec::new();
        if opened.config.llm.backend != Backend::None {
            unseen.push(("model", "ktx status"));
        }
        unseen.extend(["git", "local state", "semantic sources"].map(|what| (what, "ktx status")));
        unseen.extend(servers(opened));
        Ok(Self {
            git: None,
            state: None,
            made_anew: Vec::new(),
            sources: None,
            proposals: proposals(opened)?,
            scopes: BTreeMap::new(),
            unseen,
        })
    }

    /// Asks git for its version, checks the local state and reads the sources. Reaches no server.
    pub(crate) fn take(session: &Session, opened: &Opened) -> Outcome<Self> {
        let git = opened.store.look_at_git().map_err(|error| Failure {
            hints: error.hints(),
            ..Failure::from_error(Code::GitUnusable, &error)
        });
        let git = git.and_then(|()| conflict(&opened.store).map_or(Ok(()), Err));
        let state = opened.store.look_at_state();
        let state = state
            .map_err(|error| state_failure(&error))
            .and_then(|()| local_files::look_at_ledger(opened))
            .map_err(|failure| failure.seen_from(&opened.dir));
        let context = context::open(session, opened)?;
        let (sources, scopes) = compose::block_on(|_| async {
            let mut found = Vec::new();
            let mut scopes = BTreeMap::new();
            for warehouse in opened.config.warehouses() {
                let listed = context.listing(&warehouse.id).await?;
                found.extend(listed.diagnostics);
                // An unreadable scan is reported where it is used.
                if let Ok(Some(snapshot)) = context.snapshot(&warehouse.id).await {
                    scopes.insert(warehouse.id.to_string(), scope(&snapshot));
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
            made_anew: local_files::made_anew(opened),
            sources: Some(wrong.collect()),
            proposals: proposals(opened)?,
            scopes,
            unseen: servers(opened).into_iter().collect(),
        })
    }

    /// Returns why commits are impossible.
    pub(crate) fn git_problem(&self) -> Option<&Failure> {
        self.git.as_ref()?.as_ref().err()
    }

    /// Returns what the last scan of a warehouse read; null if it has no schemas.
    pub(crate) fn scope(&self, connection: &str) -> Value {
        self.scopes.get(connection).cloned().unwrap_or_default()
    }

    /// Returns why the local state cannot be used.
    pub(crate) fn state_problem(&self) -> Option<&Failure> {
        self.state.as_ref()?.as_ref().err()
    }

    /// Returns warnings about the damaged files that are rebuilt.
    pub(crate) fn made_anew(&self, opened: &Opened) -> Vec<Value> {
        let warning = |(path, lost): &(PathBuf, &str)| {
            let shown = path.strip_prefix(&opened.dir).unwrap_or(path).display();
            json!({
                "message": format!("`{shown}` is damaged: {lost}"),
                "fix": "remove the file; it is made anew when it is needed",
            })
        };
        self.made_anew.iter().map(warning).collect()
    }

    /// Returns the number of faulty files in the semantic layer.
    pub(crate) fn wrong_sources(&self) -> usize {
        self.sources.as_ref().map_or(0, Vec::len)
    }

    /// Adds `git`, `localState`, `sources` and `notLookedAt` to the JSON form.
    pub(crate) fn add_to(&self, status: &mut serde_json::Map<String, Value>) {
        let sources = match &self.sources {
            None => json!({ "status": "skipped", "detail": "not read (--fast)", "issues": [] }),
            Some(wrong) if wrong.is_empty() => {
                json!({ "status": "ok", "detail": "readable", "issues": [] })
            }
            Some(wrong) => json!({
                "status": "fail",
                "detail": source_errors(wrong.len()),
                "issues": wrong.iter().map(issue).collect::<Vec<_>>(),
            }),
        };
        let unseen: Vec<Value> = self
            .unseen
            .iter()
            .map(|(what, command)| json!({ "what": what, "command": command }))
            .collect();
        status.insert("git".to_owned(), seen(self.git.as_ref()));
        status.insert("localState".to_owned(), seen(self.state.as_ref()));
        status.insert("sources".to_owned(), sources);
        status.insert("proposals".to_owned(), json!(self.proposals));
        status.insert("notLookedAt".to_owned(), Value::Array(unseen));
    }
}

fn proposals(opened: &Opened) -> Outcome<Vec<Value>> {
    let waiting = waiting_proposals(&opened.store).map_err(|error| {
        Failure::from_error(Code::ProposalFailed, &error).seen_from(&opened.dir)
    })?;
    Ok(waiting.iter().map(proposal_json).collect())
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
fn scope(snapshot: &ScanSnapshot) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for table in &snapshot.tables {
        if let Some(schema) = table.table.db.as_deref() {
            *counts.entry(schema).or_default() += 1;
        }
    }
    if counts.is_empty() && snapshot.left_out.is_empty() {
        return Value::Null;
    }
    let schemas = counts
        .iter()
        .map(|(name, tables)| json!({ "name": name, "tables": tables }));
    let left = snapshot
        .left_out
        .iter()
        .map(|schema| json!({ "name": schema.name, "reason": schema.reason }));
    json!({ "schemas": schemas.collect::<Vec<_>>(), "leftOut": left.collect::<Vec<_>>() })
}

/// Describes a check: usable, unusable or skipped.
fn seen(look: Option<&Result<(), Failure>>) -> Value {
    match look {
        None => json!({ "status": "skipped", "detail": "not looked at (--fast)" }),
        Some(Ok(())) => json!({ "status": "ok", "detail": "usable" }),
        Some(Err(failure)) => json!({
            "status": "fail",
            "detail": std::iter::once(&failure.message)
                .chain(&failure.causes)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(": "),
            "fix": failure.hints.first(),
        }),
    }
}

/// Names the errors in the files of the semantic layer.
pub(crate) fn source_errors(errors: usize) -> String {
    format!(
        "{} in the files of `semantic-layer/`",
        counted(errors, "error")
    )
}

/// Warehouses on a server are never reached here.
fn servers(opened: &Opened) -> Option<(&'static str, &'static str)> {
    let is_server = |driver: Driver| {
        driver.kind() == DriverKind::Warehouse && !matches!(driver, Driver::Sqlite | Driver::DuckDb)
    };
    let mut connections = opened.config.connections.values();
    connections
        .any(|connection| is_server(connection.driver))
        .then_some(("warehouse servers", "ktx connection test"))
}
