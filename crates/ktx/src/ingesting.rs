//! Shared parts of ingests: lock, model, ledger and table descriptions.

mod committed;
pub(crate) mod failures;
pub(crate) mod notes;

use std::sync::Arc;

use ktx_config::{Connection, Project};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_ingest::{ModelNeed, ROLES};
use ktx_llm_runtime::{LlmErrorKind, LlmRuntime};
use ktx_project_store::ProjectLock;
use ktx_scan::{Paused, ScanMode, Writing};
use ktx_usage_ledger::Limits;
use ktx_vocabulary::{ConnectionId, ModelRole};

use crate::cli::QueryHistoryArgs;
use crate::compose::{self, LedgerSink, Spending};
use crate::connections;
use crate::invocation::{CommandContext, Invocation, OpenProject};
use crate::locking::lock;
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};
use crate::run_records::{RunPlan, recorded};
use crate::scanning::{Job, ScanResult, Scans, check_machine, require_usable, scan_locked};

pub(crate) use committed::warnings;

pub(crate) const COMMAND: &str = "ktx ingest";

pub(crate) type Results = Vec<(ConnectionId, Outcome<ScanResult>)>;

/// Fails before any change if the model is unusable.
pub(crate) fn describe_all(
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
    let model_use = ModelUse {
        limits,
        roles: &ROLES,
        need: ModelNeed::Always,
    };
    let ids = connections.iter().map(|connection| &connection.id);
    let plan = RunPlan::of_scan(ids, ScanMode::Enriched);
    let results = with_model(model_use, context, |held, model| {
        let scans = Descriptions {
            connections: &connections,
            history: QueryHistoryArgs::default(),
            plan: &plan,
        };
        described(scans, HeldModel { held, model }, context)
    });
    results.map_err(going_on)
}

pub(crate) enum Model {
    Absent,
    Unwanted,
    Failed(Failure),
    /// The first call will show.
    Usable(Arc<dyn LlmRuntime>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelUse<'a> {
    pub(crate) limits: Limits,
    pub(crate) roles: &'a [ModelRole],
    pub(crate) need: ModelNeed,
}

/// Takes the project's lock.
pub(crate) fn with_model<T>(
    ModelUse {
        limits,
        roles,
        need,
    }: ModelUse<'_>,
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
            ModelNeed::Nothing => Ok(None),
            ModelNeed::Always | ModelNeed::BeyondFacts => {
                compose::llm(invocation, project, &sink, spending)
            }
        };
        let model = match (runtime, need) {
            (Ok(Some(runtime)), _) => Model::Usable(recorded(runtime, invocation, project)),
            (Ok(None), ModelNeed::Nothing) => Model::Unwanted,
            (Ok(None), ModelNeed::BeyondFacts) => Model::Absent,
            (Ok(None), ModelNeed::Always) => {
                return Err(compose::no_model("ingest needs a model")
                    .hint("run `ktx scan` to read structure and joins without a model"));
            }
            // Refuses a cost limit without prices first.
            (Err(failure), _) if matches!(failure.code, Code::PriceUnknown | Code::PriceTable) => {
                return Err(failure);
            }
            (Err(failure), ModelNeed::BeyondFacts) => Model::Failed(failure),
            (Err(failure), ModelNeed::Always | ModelNeed::Nothing) => return Err(failure),
        };
        // Before any cost.
        let held = lock(project, COMMAND)?;
        check_machine(project, printer)?;
        work(&held, &model)
    };
    let result = worked();
    sink.finish();
    result
}

/// The project's lock, and the model that works under it.
#[derive(Clone, Copy)]
pub(crate) struct HeldModel<'a> {
    pub(crate) held: &'a ProjectLock,
    pub(crate) model: &'a Model,
}

/// The warehouses whose tables are described.
pub(crate) struct Descriptions<'a> {
    pub(crate) connections: &'a [&'a Connection],
    pub(crate) history: QueryHistoryArgs,
    pub(crate) plan: &'a RunPlan,
}

pub(crate) fn described(
    Descriptions {
        connections,
        history,
        plan,
    }: Descriptions<'_>,
    HeldModel { held, model }: HeldModel<'_>,
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
            reuse: ktx_scan::Reuse::Unchanged,
            budget: ktx_scan::Budget::default(),
            history,
        })
        .collect();
    let scans = Scans {
        command: COMMAND,
        jobs,
        plan,
    };
    scan_locked(held, scans, invocation, project, printer)
}

pub(crate) fn model_name(config: &Project, role: ModelRole) -> String {
    let model = config.model(role).unwrap_or_default();
    format!("{} {model}", config.llm.backend.as_str())
}

pub(crate) fn going_on(failure: Failure) -> Failure {
    if failure.exit == Exit::Interrupted || failure.code == Code::LlmBudget {
        failure.hint("finished work is kept; `ktx ingest` continues from there")
    } else {
        failure
    }
}

pub(crate) const ASK_AGAIN: &str =
    "hint: run `ktx ingest` again; it asks only for the missing descriptions";

pub(crate) fn undescribed(results: &Results) -> bool {
    let scanned = results
        .iter()
        .filter_map(|(_, result)| result.as_ref().ok());
    scanned
        .flat_map(|scanned| &scanned.outcome.report.warnings)
        .any(|warning| warning.code == "enrichment_failed")
}

/// Login and payment need the user; other causes are temporary.
pub(crate) const fn pause_exit(paused: &Paused) -> Exit {
    match paused.error.kind {
        LlmErrorKind::Auth | LlmErrorKind::Billing => Exit::Model,
        _ => Exit::Partial,
    }
}

pub(crate) fn pause_text(paused: &Paused) -> String {
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

pub(crate) fn continues(turns: usize) -> String {
    let turns = match turns {
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    format!("continues after {turns} of an earlier run")
}
