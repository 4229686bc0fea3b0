//! Scans one connection, from settings to commit.

mod estimate;
mod files;
pub(crate) mod history;
mod planned;
mod progress;
mod settings;
mod stages;

use ktx_diagnostics::{Code, Exit, Failure, counted};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use ktx_config::Connection;
use ktx_llm_runtime::{LlmError, LlmRuntime, ProbeReport, ProbeRequest, RequestSent};
use ktx_project_store::{
    ProjectLock, PublishBase, PublishRequest, PublishResult, Publisher, RunStatus, StateDatabase,
    StateError, StorageTrouble,
};
use ktx_scan::wire::ScanReport;
use ktx_scan::{
    Budget, Paused, ProjectFiles, Reuse, ScanError, ScanMode, ScanOutcome, ScanRequest, Stopped,
    Writing,
};
use ktx_vocabulary::{ConnectionId, ModelRole};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::cli::QueryHistoryArgs;
use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::local_files;
use crate::locking::lock;
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};
use crate::run_records::{RunPlan, warehouse_parts, with_part};
use progress::ScanProgress;

use files::ScanFiles;

use stages::ScanStages;

pub(crate) use estimate::{estimate_all, estimate_json, estimate_text};
pub(crate) use planned::PlannedChanges;
pub(crate) use settings::{days_of_history, past_queries, reads_history};

#[derive(Debug)]
pub(crate) struct ScanResult {
    pub connection: ConnectionId,
    pub driver: &'static str,
    pub outcome: ScanOutcome,
    /// `None` on a dry run.
    pub published: Option<PublishResult>,
    /// Only on a dry run.
    pub planned: Option<PlannedChanges>,
}

pub(crate) struct Job<'a> {
    pub connection: &'a Connection,
    pub mode: ScanMode,
    pub writing: Writing,
    pub reuse: Reuse,
    /// `None` without descriptions.
    pub runtime: Option<Arc<dyn LlmRuntime>>,
    pub budget: Budget,
    /// Overrides `ktx.yaml`.
    pub history: QueryHistoryArgs,
}

#[derive(Clone, Copy)]
struct ScanContext<'a> {
    invocation: &'a Invocation,
    project: &'a OpenProject,
    printer: &'a Printer,
    state: &'a Arc<Mutex<StateDatabase>>,
    cancel: &'a CancellationToken,
}

pub(crate) fn scan_all(
    command: &str,
    jobs: Vec<Job<'_>>,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<(ConnectionId, Outcome<ScanResult>)>> {
    let lock = lock(project, command)?;
    let mode = jobs.first().map_or(ScanMode::Relationships, |job| job.mode);
    let connections = jobs.iter().map(|job| &job.connection.id);
    let plan = RunPlan::of_scan(connections, mode);
    let scans = Scans {
        command,
        jobs,
        plan: &plan,
    };
    scan_locked(&lock, scans, invocation, project, printer)
}

pub(crate) struct Scans<'a> {
    pub command: &'a str,
    pub jobs: Vec<Job<'a>>,
    pub plan: &'a RunPlan,
}

/// A failed connection does not stop others; a failed model does.
pub(crate) fn scan_locked(
    _held: &ProjectLock,
    Scans {
        command,
        jobs,
        plan,
    }: Scans<'_>,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<(ConnectionId, Outcome<ScanResult>)>> {
    let state = project
        .store
        .state()
        .map_err(|error| state_failure(&error))?;
    state
        .interrupt_runs(command, invocation.now)
        .map_err(|error| state_failure(&error))?;
    state
        .begin_run(&invocation.run_id, command, invocation.now, &plan.detail())
        .map_err(|error| state_failure(&error))?;
    project.store.failpoint("scan:begin");
    let state = Arc::new(Mutex::new(state));
    let state_ref = &state;
    let runtime = jobs.iter().find_map(|job| job.runtime.clone());
    let results = compose::block_on(|cancel| async move {
        let mut results = Vec::new();
        for job in jobs {
            let id = job.connection.id.clone();
            let context = ScanContext {
                invocation,
                project,
                printer,
                state: state_ref,
                cancel: &cancel,
            };
            let result = scan_one(&job, context).await;
            let stop = match &result {
                Ok(scanned) => scanned.outcome.paused.is_some(),
                Err(failure) => {
                    matches!(
                        failure.exit,
                        Exit::Model | Exit::Partial | Exit::Interrupted
                    )
                }
            };
            let result = result.map_err(|failure| failure.seen_from(&project.dir));
            results.push((id, result));
            if stop {
                break;
            }
        }
        if let Some(runtime) = runtime {
            // After Ctrl-C, does not wait any longer.
            runtime.settle().with_cancellation_token(&cancel).await;
        }
        Ok(results)
    })?;
    let parts = warehouse_parts(plan, &results);
    let detail = with_part(plan.detail(), "warehouses", parts);
    let failed = results.iter().any(|(_, result)| result.is_err());
    let status = match paused(&results) {
        _ if failed => RunStatus::Failed,
        Some(_) => RunStatus::Partial,
        None if stopped(&results).is_some() => RunStatus::Partial,
        None => RunStatus::Done,
    };
    let state = state.lock().map_err(|_| poisoned())?;
    state
        .finish_run(&invocation.run_id, status, Timestamp::now(), &detail)
        .map_err(|error| state_failure(&error))?;
    drop(state);
    Ok(results)
}

pub(crate) fn paused(results: &[(ConnectionId, Outcome<ScanResult>)]) -> Option<&Paused> {
    results.iter().find_map(|(_, result)| {
        let scanned = result.as_ref().ok()?;
        scanned.outcome.paused.as_ref()
    })
}

pub(crate) fn stopped(results: &[(ConnectionId, Outcome<ScanResult>)]) -> Option<&Stopped> {
    results.iter().find_map(|(_, result)| {
        let scanned = result.as_ref().ok()?;
        scanned.outcome.stopped.as_ref()
    })
}

fn request(
    job: &Job<'_>,
    files: Arc<dyn ProjectFiles>,
    stages: Arc<ScanStages>,
    context: ScanContext<'_>,
) -> Outcome<ScanRequest> {
    let ScanContext {
        invocation,
        project,
        ..
    } = context;
    let connection = job.connection;
    Ok(ScanRequest {
        connection: connection.id.clone(),
        driver: connection.driver.as_str().to_owned(),
        connector: compose::connector(invocation, &project.dir, connection)?,
        scope: compose::scope(connection),
        mode: job.mode,
        run_id: invocation.run_id.clone(),
        now: invocation.now,
        writing: job.writing,
        reuse: job.reuse,
        settings: settings::settings(project, connection, job.budget, job.history)?,
        runtime: job.runtime.clone(),
        model: format!(
            "{}/{}",
            project.config.llm.backend.as_str(),
            project
                .config
                .model(ModelRole::CandidateExtraction)
                .unwrap_or("default")
        ),
        last_report: last_report(&connection.id, project),
        files,
        stages,
        events: Arc::new(ScanProgress::new(
            context.printer.clone(),
            connection.id.as_str(),
        )),
        cancel: context.cancel.clone(),
    })
}

async fn scan_one(job: &Job<'_>, context: ScanContext<'_>) -> Outcome<ScanResult> {
    let ScanContext {
        invocation,
        project,
        ..
    } = context;
    let connection = job.connection;
    let publisher = project
        .store
        .publisher()
        .map_err(|error| publish_failure(&error))?;
    let base = publisher.begin().map_err(|error| publish_failure(&error))?;
    note_removed_locks(&publisher, context.project, context.printer);
    let files = ScanFiles::at(base.commit.as_deref(), &connection.id, project)?;
    let files = Arc::new(files);
    let stages = Arc::new(ScanStages::new(&connection.id, context));
    let port = Arc::clone(&files) as Arc<dyn ProjectFiles>;
    let request = request(job, port, Arc::clone(&stages), context)?;
    let outcome = ktx_scan::scan(request)
        .await
        .map_err(|error| scan_failure(&error))?;
    project.store.failpoint("scan:computed");
    let published = match job.writing {
        Writing::DryRun => None,
        Writing::Publish => {
            let message = message(&connection.id, job.mode, &outcome);
            let request = PublishRequest {
                changes: &outcome.changes,
                message: &message,
                at: invocation.now,
            };
            let published = publisher
                .publish(&base, &request)
                .map_err(|error| publish_failure(&error))?;
            write_local(&outcome, project)?;
            remember(&outcome, &base, &published, &files, &stages, project)?;
            Some(published)
        }
    };
    project.store.failpoint("scan:published");
    let is_dry = job.writing == Writing::DryRun;
    Ok(ScanResult {
        planned: is_dry
            .then(|| PlannedChanges::of(connection, &files, &outcome))
            .transpose()?,
        connection: connection.id.clone(),
        driver: connection.driver.as_str(),
        outcome,
        published,
    })
}

/// Stores a complete scan with a stamp of its files, unless a concurrent commit changed them.
fn remember(
    outcome: &ScanOutcome,
    base: &PublishBase,
    published: &PublishResult,
    files: &ScanFiles,
    stages: &ScanStages,
    project: &OpenProject,
) -> Outcome<()> {
    let Some(kept) = &outcome.kept else {
        return Ok(());
    };
    let files = match &published.commit {
        None => files.stamp(),
        Some(commit) => {
            let history = project.store.history();
            let history = history.map_err(|error| files::failure(&error))?;
            let before = history.commit(&format!("{commit}^")).ok();
            if before != base.commit {
                return Ok(());
            }
            ScanFiles::at(Some(commit), &kept.connection, project)?.stamp()
        }
    };
    let files = files.map_err(|error| Failure::from_error(Code::PublishFailed, &error))?;
    kept.store(stages, &files.unwrap_or_default())
        .map_err(|error| scan_failure(&error))
}

fn write_local(outcome: &ScanOutcome, project: &OpenProject) -> Outcome<()> {
    for file in &outcome.local {
        project
            .store
            .write(&file.path, &file.bytes)
            .map_err(|error| Failure::from_error(Code::File, &error))?;
    }
    Ok(())
}

/// An unreadable report is rebuilt.
fn last_report(connection: &ConnectionId, project: &OpenProject) -> Option<ScanReport> {
    let path = project.store.layout().scan_report(connection);
    let bytes = ktx_project_store::read_optional(&path).ok()??;
    serde_json::from_slice(&bytes).ok()
}

fn message(connection: &ConnectionId, mode: ScanMode, outcome: &ScanOutcome) -> String {
    let verb = match mode {
        ScanMode::Structural | ScanMode::Relationships => "scan",
        ScanMode::Enriched => "ingest",
    };
    let diff = &outcome.report.diff_summary;
    format!(
        "ktx {verb}: {connection}\n\n{} added, {} modified, {} deleted, {} unchanged\n",
        counted(diff.tables_added, "table"),
        diff.tables_modified,
        diff.tables_deleted,
        diff.tables_unchanged
    )
}

/// Runs every free check before any cost.
pub(crate) fn check_machine(project: &OpenProject, printer: &Printer) -> Outcome<()> {
    let store = &project.store;
    let checked = store.check_state().and_then(|()| {
        // An existing database can be in use; the check must not wait.
        let is_new = !store.layout().database().exists();
        is_new.then(|| store.state()).transpose()
    });
    drop(checked.map_err(|error| state_failure(&error))?);
    local_files::check_ledger(project)?;
    let publisher = project
        .store
        .publisher()
        .map_err(|error| publish_failure(&error))?;
    let begun = publisher.begin();
    note_removed_locks(&publisher, project, printer);
    begun
        .and_then(|_| publisher.check_writable())
        .map_err(|error| publish_failure(&error))
}

pub(crate) fn note_removed_locks(publisher: &Publisher, project: &OpenProject, printer: &Printer) {
    for file in publisher.removed_locks() {
        let place = file.strip_prefix(&project.dir).unwrap_or(&file).display();
        printer.note(&format!(
            "removed git lock `{place}`, which a killed run had left"
        ));
    }
}

/// For an interactive user.
pub(crate) fn require_usable_now(
    runtime: &Arc<dyn LlmRuntime>,
    invocation: &Invocation,
) -> Outcome<ProbeReport> {
    compose::block_on(|cancel| async move {
        let request = ProbeRequest::of(&invocation.run_id).cancelled_by(cancel);
        runtime.probe(request).await.map_err(probe_failure)
    })
}

/// The first call, before any change.
pub(crate) fn require_usable(
    runtime: &Arc<dyn LlmRuntime>,
    invocation: &Invocation,
) -> Outcome<ProbeReport> {
    compose::block_on(|cancel| async move { usable(runtime, invocation, &cancel).await })
}

pub(crate) async fn usable(
    runtime: &Arc<dyn LlmRuntime>,
    invocation: &Invocation,
    cancel: &CancellationToken,
) -> Outcome<ProbeReport> {
    let request = ProbeRequest::of(&invocation.run_id);
    let request = request.patient().cancelled_by(cancel.clone());
    runtime.probe(request).await.map_err(probe_failure)
}

pub(crate) fn probe_failure(error: LlmError) -> Failure {
    let sent = error.sent;
    let failure = Failure::from(error);
    match sent {
        RequestSent::Yes => failure,
        RequestSent::No => failure
            .hint("run `ktx llm probe` to ask at once, if the account or its plan has changed"),
    }
}

fn scan_failure(error: &ScanError) -> Failure {
    match error {
        ScanError::Introspect { source, .. } => {
            Failure::from(source.clone()).context(error.to_string())
        }
        ScanError::Model { source, .. } => Failure::from(source.clone()),
        ScanError::Cancelled => Failure::new(Code::Cancelled, "cancelled"),
        ScanError::Emptied { connection, .. } => Failure::from_error(Code::NothingThere, error)
            .hint("check the database, the schemas and the rights of the connection")
            .hint(format!(
                "if the tables are gone for good, delete `raw-sources/{connection}` and \
                     `semantic-layer/{connection}/_schema`, then scan again"
            )),
        ScanError::Decisions { .. } => Failure::from_error(Code::InvalidDecisions, error),
        ScanError::State(source) => state_failure(source),
        ScanError::Path(source) => Failure::from_error(Code::Internal, source),
        ScanError::File { .. } | ScanError::Internal { .. } => {
            Failure::from_error(Code::ScanFailed, error)
        }
    }
}

pub(crate) fn publish_failure(error: &ktx_project_store::PublishError) -> Failure {
    Failure::from_error(Code::PublishFailed, error).with_hints(error)
}

pub(crate) fn state_failure(error: &StateError) -> Failure {
    let failure = Failure::from_error(Code::LocalState, error).with_hints(error);
    match StorageTrouble::of(error) {
        Some(StorageTrouble::Damaged) => {
            failure.hint("ktx may ask again for descriptions that were stored in it")
        }
        _ => failure,
    }
}

fn poisoned() -> Failure {
    Failure::new(Code::Internal, "the local database is poisoned")
}
