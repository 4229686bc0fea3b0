//! `ktx ingest`: a scan with descriptions from the configured model, context sources, or the
//! capture of notes.

mod committed;
mod failures;
pub(super) mod notes;
mod report;
mod sources;

use ktx_diagnostics::{Code, Exit, Failure};
use std::path::Path;
use std::sync::Arc;

use ktx_config::{Connection, Project};
use ktx_ingest::{SourceReport, Stop};
use ktx_llm_runtime::{LlmErrorKind, LlmRuntime};
use ktx_project_store::ProjectLock;
use ktx_scan::{Paused, ScanMode, Writing};
use ktx_usage_ledger::Limits;
use ktx_vocabulary::{ConnectionId, ModelRole};

use crate::cli::{IngestArgs, QueryHistoryArgs};
use crate::compose::{self, LedgerSink, Spending};
use crate::connections;
use crate::invocation::{CommandContext, Invocation, OpenProject};
use crate::locking::lock;
use crate::opening::open_project;
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};
use crate::scanning::{
    Job, Scanned, history, look_at_machine, require_usable, scan_locked, stopped,
};

/// The roles used: for the probe, for descriptions and units, and for the reconciliation.
const ROLES: [ModelRole; 3] = [
    ModelRole::Default,
    ModelRole::CandidateExtraction,
    ModelRole::Reconcile,
];

/// The roles used if documents are read too.
const ROLES_OF_DOCUMENTS: [ModelRole; 5] = [
    ModelRole::Default,
    ModelRole::CandidateExtraction,
    ModelRole::Reconcile,
    ModelRole::Triage,
    ModelRole::Curator,
];

/// The holder's name in the project's lock.
const COMMAND: &str = "ktx ingest";

type Results = Vec<(ConnectionId, Outcome<Scanned>)>;

/// Builds context for one connection or all of them.
pub(crate) fn run(args: &IngestArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let limits = compose::limits_of(&args.spending)?;
    let invocation = &invocation.ending_after(limits.time);
    if notes::are_given(args) {
        return notes::run(args, limits, invocation, &project, &printer);
    }
    let mut wanted = sources::wanted(args.connection_id.as_deref(), &project)?;
    if args.facts {
        wanted = wanted.with_facts()?;
    }
    notes::check_absent(
        args,
        wanted.sources.len() == 1 && wanted.warehouses.is_empty(),
    )?;
    let context = CommandContext {
        invocation,
        project: &project,
        printer: &printer,
    };
    let roles: &[ModelRole] = if wanted.has_documents() {
        &ROLES_OF_DOCUMENTS
    } else {
        &ROLES
    };
    let need = if args.facts {
        Need::Nothing
    } else {
        wanted.need()
    };
    let done = with_model((limits, roles, need), context, |held, model| {
        everything(args, &wanted, (held, model), context)
    });
    report::finish(&done.map_err(going_on)?, &wanted, context)
}

/// Scans all warehouses with descriptions. Fails before any change if the model cannot be used.
pub(crate) fn ingest(
    limits: Limits,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Results> {
    let connections = connections::targets(project, None)?;
    let context = CommandContext {
        invocation,
        project,
        printer,
    };
    let results = with_model((limits, &ROLES, Need::Always), context, |held, model| {
        described(
            &connections,
            QueryHistoryArgs::default(),
            (held, model),
            context,
        )
    });
    results.map_err(going_on)
}

/// The results of a command.
struct Done {
    warehouses: Results,
    sources: sources::Results,
    /// Warehouses that were not tried.
    left: Vec<ConnectionId>,
    /// Whether the record of past queries was requested.
    needs_history: bool,
    has_model: bool,
}

pub(super) enum Model {
    Absent,
    /// The user wants none of it.
    Unwanted,
    /// It cannot be used.
    Failed(Failure),
    /// It may be usable: its first call will show.
    Usable(Arc<dyn LlmRuntime>),
}

/// What a command needs a model for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// For everything.
    Always,
    /// For everything but the facts of its context sources.
    BeyondFacts,
    /// For nothing.
    Nothing,
}

/// Works under the project's lock with the configured model; its cost is in the ledger at the end.
fn with_model<T>(
    (limits, roles, need): (Limits, &[ModelRole], Need),
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
    work: impl FnOnce(&ProjectLock, &Model) -> Outcome<T>,
) -> Outcome<T> {
    let sink = Arc::new(LedgerSink::new(invocation, project, printer.clone()));
    let worked = || {
        let spending = Spending { limits, roles };
        let runtime = match need {
            Need::Nothing => Ok(None),
            Need::Always | Need::BeyondFacts => compose::llm(invocation, project, &sink, spending),
        };
        let model = match (runtime, need) {
            (Ok(Some(runtime)), _) => Model::Usable(runtime),
            (Ok(None), Need::Nothing) => Model::Unwanted,
            (Ok(None), Need::BeyondFacts) => Model::Absent,
            (Ok(None), Need::Always) => {
                return Err(compose::no_model("ingest needs a model")
                    .hint("run `ktx scan` to read structure and joins without a model"));
            }
            // A limit of money that cannot be held is refused before anything else.
            (Err(failure), _) if matches!(failure.code, Code::PriceUnknown | Code::PriceTable) => {
                return Err(failure);
            }
            (Err(failure), Need::BeyondFacts) => Model::Failed(failure),
            (Err(failure), Need::Always | Need::Nothing) => return Err(failure),
        };
        // Before any cost.
        let held = lock(project, COMMAND)?;
        look_at_machine(project, printer)?;
        work(&held, &model)
    };
    let result = worked();
    sink.finish();
    result
}

/// Ingests the facts of sources first, which need no model. Then the warehouses, because the
/// meaning of sources is written about their tables.
fn everything(
    args: &IngestArgs,
    wanted: &sources::Wanted<'_>,
    (held, model): (&ProjectLock, &Model),
    context: CommandContext<'_>,
) -> Outcome<Done> {
    let target = args.note_connection.as_deref();
    let read = sources::read(&wanted.sources, target, context);
    let mut facts = read.copy_facts(Vec::new(), context)?;
    let mut warehouses = Vec::new();
    if !wanted.warehouses.is_empty() {
        let described = described(&wanted.warehouses, args.history, (held, model), context);
        warehouses = match described {
            Err(failure) if !read.is_empty() => {
                let ids = wanted.warehouses.iter().map(|warehouse| &warehouse.id);
                ids.map(|id| (id.clone(), Err(failure.clone()))).collect()
            }
            described => described?,
        };
        // A scan may have found tables that they describe.
        facts = read.copy_facts(facts, context)?;
    }
    let is_stopped = warehouses.iter().any(|(_, result)| match result {
        Ok(scanned) => scanned.outcome.paused.is_some(),
        Err(failure) => failures::stop(failure).is_some(),
    });
    let opening = match (is_stopped, wanted.warehouses.is_empty()) {
        (true, _) => sources::Opening::Stopped,
        (false, true) => sources::Opening::Alone,
        (false, false) => sources::Opening::AfterWarehouses,
    };
    let sources = if read.is_empty() {
        Vec::new()
    } else {
        read.ingest(facts, model, opening, context)?
    };
    let left = wanted.warehouses.iter().skip(warehouses.len());
    Ok(Done {
        left: left.map(|warehouse| warehouse.id.clone()).collect(),
        warehouses,
        sources,
        needs_history: args.history.query_history,
        has_model: !matches!(model, Model::Absent),
    })
}

fn described(
    connections: &[&Connection],
    history: QueryHistoryArgs,
    (held, model): (&ProjectLock, &Model),
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome<Results> {
    let (mode, runtime) = match model {
        Model::Usable(runtime) => {
            require_usable(runtime, invocation)?;
            (ScanMode::Enriched, Some(Arc::clone(runtime)))
        }
        Model::Absent | Model::Unwanted => (ScanMode::Relationships, None),
        Model::Failed(failure) => return Err(failure.clone()),
    };
    let jobs = connections
        .iter()
        .map(|connection| Job {
            connection,
            mode,
            writing: Writing::Publish,
            runtime: runtime.clone(),
            budget: ktx_scan::Budget::default(),
            history,
        })
        .collect();
    scan_locked(held, (COMMAND, jobs), invocation, project, printer)
}

impl Done {
    /// Returns the reports of the sources that were read.
    fn reports(&self) -> impl Iterator<Item = &SourceReport> {
        let sources = self.sources.iter();
        sources.filter_map(|(_, result)| result.as_ref().ok())
    }
}

fn is_interrupted(done: &Done) -> bool {
    let mut failures = done.reports().flat_map(SourceReport::failures);
    failures.any(|failed| failed.stop == Some(Stop::Interrupted))
}

/// Returns the exit code of a command with at least one result.
fn exit(done: &Done, dir: &Path) -> Exit {
    let results = &done.warehouses;
    let scans = results
        .iter()
        .filter_map(|(_, result)| result.as_ref().err().cloned());
    let stops = done.reports().filter_map(SourceReport::stopping_failure);
    let stops = stops.map(|failed| failures::failure(failed, dir));
    let mut stops = stops.chain(scans);
    if let Some(stop) = stops.find(|failure| failure.exit == Exit::Model) {
        // The user has to log in or pay first, or the model was never usable.
        let needs_person = [LlmErrorKind::Auth, LlmErrorKind::Billing]
            .iter()
            .any(|kind| kind.code() == stop.code);
        let has_work = done.reports().any(SourceReport::has_new_work)
            || results.iter().any(|(_, result)| result.is_ok());
        if needs_person || !has_work {
            return Exit::Model;
        }
    }
    let failed = results.iter().any(|(_, result)| result.is_err());
    let is_missed = done.needs_history && history::is_missing(results);
    let is_short = undescribed(results) || stopped(results).is_some() || !done.left.is_empty();
    let is_whole = |(_, result): &(_, Outcome<SourceReport>)| {
        let report = result.as_ref();
        report.is_ok_and(SourceReport::is_whole)
    };
    if failed || is_missed || is_short || !done.sources.iter().all(is_whole) {
        Exit::Partial
    } else {
        Exit::Success
    }
}

/// Returns the failure of a command without any result.
fn nothing_done(done: &Done, dir: &Path) -> Option<Failure> {
    let warehouses = done.warehouses.iter();
    let warehouses = warehouses.map(|(_, result)| result.as_ref().err().cloned());
    // An untried source does not count as a result.
    let sources = done.sources.iter().filter_map(|(_, result)| match result {
        Ok(report) if report.has_something() => Some(None),
        Ok(report) => {
            let failed = report.failures().next()?;
            Some(Some(failures::failure(failed, dir)))
        }
        Err(failure) => Some(Some(failure.clone())),
    });
    let failures: Option<Vec<Failure>> = warehouses.chain(sources).collect();
    let first = failures?.into_iter().next();
    Some(first.unwrap_or_else(|| Failure::new(Code::Internal, "nothing was ingested")))
}

/// Returns the backend and model of a role, in one text.
fn model_name(config: &Project, role: ModelRole) -> String {
    let model = config.model(role).unwrap_or_default();
    format!("{} {model}", config.llm.backend.as_str())
}

/// Adds how an interrupted run continues.
fn going_on(failure: Failure) -> Failure {
    match failure.exit {
        Exit::Interrupted => {
            failure.hint("finished work is kept; `ktx ingest` continues from there")
        }
        _ => failure,
    }
}

/// The hint for tables that the model could not describe.
pub(super) const ASK_AGAIN: &str =
    "hint: run `ktx ingest` again: it asks for the missing descriptions alone";

/// Returns whether the model failed on a table that it was asked about.
pub(super) fn undescribed(results: &Results) -> bool {
    let scanned = results
        .iter()
        .filter_map(|(_, result)| result.as_ref().ok());
    scanned
        .flat_map(|scanned| &scanned.outcome.report.warnings)
        .any(|warning| warning.code == "enrichment_failed")
}

/// Needs the user if a login or payment is missing; every other cause is temporary.
pub(super) const fn pause_exit(paused: &Paused) -> Exit {
    match paused.error.kind {
        LlmErrorKind::Auth | LlmErrorKind::Billing => Exit::Model,
        _ => Exit::Partial,
    }
}

pub(super) fn pause_text(paused: &Paused) -> String {
    let Paused {
        error,
        left,
        tables,
    } = paused;
    let mut failure = Failure::from(error.clone());
    if *left > 0 {
        failure = failure.hint(format!(
            "{} of {tables} tables are described and kept; `ktx ingest` continues with the missing {left}",
            tables.saturating_sub(*left)
        ));
    }
    failure.to_text().replacen("error: ", "paused: ", 1)
}
