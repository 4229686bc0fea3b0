//! `ktx ingest`.

mod notes;
mod planned;
mod report;
mod sources;

use std::path::Path;

use ktx_config::Connection;
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_ingest::{Imports, ModelNeed, Plan, SourceReport, Stop};
use ktx_llm_runtime::LlmErrorKind;
use ktx_vocabulary::{Backend, ConnectionId};

use crate::cli::IngestArgs;
use crate::compose;
use crate::ingesting::{
    Descriptions, HeldModel, Model, ModelUse, Results, described, failures, going_on, undescribed,
    with_model,
};
use crate::invocation::{CommandContext, Invocation};
use crate::opening::open_project;
use crate::report::Outcome;
use crate::run_records::{RetryScope, RunPlan};
use crate::scanning::{history, stopped};

pub(crate) fn run(args: &IngestArgs, invocation: &Invocation) -> Outcome {
    ingest(args, Orders::AsAsked, invocation)
}

/// A round of `ktx sync`. Without a model, does what needs none.
pub(crate) fn round(args: &IngestArgs, invocation: &Invocation) -> Outcome {
    ingest(args, Orders::Sync, invocation)
}

pub(crate) fn again(args: &IngestArgs, scope: &RetryScope, invocation: &Invocation) -> Outcome {
    ingest(args, Orders::Retry(scope), invocation)
}

#[derive(Clone, Copy)]
enum Orders<'a> {
    AsAsked,
    Sync,
    Retry(&'a RetryScope),
}

fn ingest(args: &IngestArgs, orders: Orders<'_>, invocation: &Invocation) -> Outcome {
    let retry = match orders {
        Orders::Retry(scope) => Some(scope),
        Orders::AsAsked | Orders::Sync => None,
    };
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let limits = compose::limits_of(&args.spending)?;
    let invocation = &invocation.ending_after(limits.time);
    let context = CommandContext {
        invocation,
        project: &project,
        printer: &printer,
    };
    let retried_notes = retry.map_or(&[][..], |scope| &scope.notes);
    if notes::are_given(args) || !retried_notes.is_empty() {
        return notes::run(args, retry, limits, context);
    }
    let mut plan = Plan::new(args.connection_id.as_deref(), &project.config)?;
    if let Some(scope) = retry {
        let is_retried = |found: &&Connection| scope.warehouses.contains(found.id.as_str());
        plan.warehouses.retain(is_retried);
        plan.sources
            .retain(|found| scope.units(&found.id).is_some());
    }
    if args.facts {
        plan = plan.facts_only()?;
    }
    notes::check_absent(args, &plan)?;
    if args.plan {
        return planned::run(&plan, args.note_connection.as_deref(), context);
    }
    let need = match orders {
        _ if args.facts => ModelNeed::Nothing,
        Orders::Sync if project.config.llm.backend == Backend::None => ModelNeed::BeyondFacts,
        _ => plan.need(),
    };
    let roles = plan.roles();
    let model_use = ModelUse {
        limits,
        roles,
        need,
    };
    let work = Work {
        args,
        plan: &plan,
        retry,
    };
    let done = with_model(model_use, context, |held, model| {
        everything(work, HeldModel { held, model }, context)
    });
    report::finish(&done.map_err(going_on)?, work, context)
}

#[derive(Clone, Copy)]
struct Work<'a> {
    args: &'a IngestArgs,
    plan: &'a Plan<'a>,
    retry: Option<&'a RetryScope>,
}

impl Work<'_> {
    fn plan_of_run(self) -> RunPlan {
        let names = |connections: &[&Connection]| {
            let ids = connections.iter().map(|connection| connection.id.as_str());
            ids.map(str::to_owned).collect()
        };
        RunPlan {
            warehouses: names(&self.plan.warehouses),
            sources: names(&self.plan.sources),
            is_facts_only: self.args.facts,
            reads_query_history: self.args.history.query_history,
            connection_id: self.args.note_connection.clone(),
            retry_of: self.retry.map(|scope| scope.run.clone()),
            ..RunPlan::default()
        }
    }
}

struct IngestResults {
    warehouses: Results,
    sources: sources::Results,
    left: Vec<ConnectionId>,
    needs_history: bool,
    has_model: bool,
}

/// Facts come first, because they need no model. Sources come last, because their pages describe
/// warehouse tables.
fn everything(
    work: Work<'_>,
    held_model: HeldModel<'_>,
    context: CommandContext<'_>,
) -> Outcome<IngestResults> {
    let Work { args, plan, retry } = work;
    let plan_of_run = work.plan_of_run();
    let target = args.note_connection.as_deref();
    if args.connection_id.is_none() && retry.is_none() {
        sources::remove_orphans(context)?;
    }
    let mut read = sources::read(&plan.sources, target, context);
    if let Some(scope) = retry {
        read = read.only(scope, context)?;
    }
    let imports = if plan.warehouses.is_empty() {
        Imports::Now
    } else {
        Imports::AfterScan
    };
    let mut facts = read.copy_facts(Vec::new(), imports, context)?;
    let mut warehouses = Vec::new();
    if !plan.warehouses.is_empty() {
        let scans = Descriptions {
            connections: &plan.warehouses,
            history: args.history,
            plan: &plan_of_run,
        };
        let described = described(scans, held_model, context);
        warehouses = match described {
            Err(failure) if !read.is_empty() => {
                let ids = plan.warehouses.iter().map(|warehouse| &warehouse.id);
                ids.map(|id| (id.clone(), Err(failure.clone()))).collect()
            }
            described => described?,
        };
        // A scan can find tables that the facts describe.
        facts = read.copy_facts(facts, Imports::Now, context)?;
    }
    let is_stopped = warehouses.iter().any(|(_, result)| match result {
        Ok(scanned) => scanned.outcome.paused.is_some(),
        Err(failure) => Stop::of(failure.code).is_some(),
    });
    let opening = match (is_stopped, plan.warehouses.is_empty()) {
        (true, _) => sources::StartCondition::Stopped,
        (false, true) => sources::StartCondition::Alone,
        (false, false) => sources::StartCondition::AfterWarehouses,
    };
    let sources = if read.is_empty() {
        Vec::new()
    } else {
        read.ingest(facts, held_model.model, opening, &plan_of_run, context)?
    };
    let left = plan.warehouses.iter().skip(warehouses.len());
    Ok(IngestResults {
        left: left.map(|warehouse| warehouse.id.clone()).collect(),
        warehouses,
        sources,
        needs_history: args.history.query_history,
        has_model: !matches!(held_model.model, Model::Absent),
    })
}

impl IngestResults {
    fn reports(&self) -> impl Iterator<Item = &SourceReport> {
        let sources = self.sources.iter();
        sources.filter_map(|(_, result)| result.as_ref().ok())
    }
}

fn is_interrupted(done: &IngestResults) -> bool {
    let mut failures = done.reports().flat_map(SourceReport::failures);
    failures.any(|failed| failed.stop == Some(Stop::Interrupted))
}

fn exit(done: &IngestResults, dir: &Path) -> Exit {
    let results = &done.warehouses;
    let scans = results
        .iter()
        .filter_map(|(_, result)| result.as_ref().err().cloned());
    let stops = done.reports().filter_map(SourceReport::stopping_failure);
    let stops = stops.map(|failed| failures::failure(failed, dir));
    let mut stops = stops.chain(scans);
    if let Some(stop) = stops.find(|failure| failure.exit == Exit::Model) {
        // The user must log in or pay, or the model was never usable.
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

fn nothing_done(done: &IngestResults, dir: &Path) -> Option<Failure> {
    let warehouses = done.warehouses.iter();
    let warehouses = warehouses.map(|(_, result)| result.as_ref().err().cloned());
    // Untried sources are not results.
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
