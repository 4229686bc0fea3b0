//! `ktx ingest` of context sources.

mod progress;
mod report;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use ktx_config::Connection;
use ktx_context_sources::Source;
use ktx_diagnostics::counted;
use ktx_ingest::{
    FactsReports, FactsSource, Imports, IngestError, IngestRequest, PlannedUnit, RunStore,
    SourceReport, Start, Stop, UnavailableModel, UnitNeed, UsableModel, copy_facts, planned_units,
};
use ktx_project_store::RunStatus;
use ktx_vocabulary::ConnectionId;
use serde_json::json;

use crate::compose;
use crate::ingesting::failures::cause;
use crate::ingesting::{COMMAND, Model, model_name};
use crate::invocation::{CommandContext, Invocation, OpenProject};
use crate::report::Outcome;
use crate::run_records::{RetryScope, RunPlan, UnitScope, combined, with_part};
use crate::scanning::state_failure;

pub(super) use report::{items, print, targets};

pub(super) type Results = Vec<(ConnectionId, Outcome<SourceReport>)>;

pub(super) type PlannedSource = (ConnectionId, Outcome<Vec<PlannedUnit>>);

#[derive(Default)]
pub(super) struct ReadSources {
    entries: Vec<(ConnectionId, Outcome<ReadSource>)>,
}

struct ReadSource {
    source: Source,
    /// Connections of the same kind, which write facts under the same key.
    siblings: Vec<ConnectionId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartCondition {
    Alone,
    AfterWarehouses,
    /// The model failed, so the units are not tried.
    Stopped,
}

/// `target` is the named warehouse.
pub(super) fn read(
    connections: &[&Connection],
    target: Option<&str>,
    context: CommandContext<'_>,
) -> ReadSources {
    let mut read = ReadSources::default();
    for connection in connections {
        let id = &connection.id;
        match crate::sources::read(connection, target, context) {
            Ok(all) => read.entries.extend(all.into_iter().map(|source| {
                let siblings = siblings(connection, context.project);
                (id.clone(), Ok(ReadSource { source, siblings }))
            })),
            Err(failure) => read.entries.push((id.clone(), Err(failure))),
        }
    }
    read
}

fn siblings(connection: &Connection, project: &OpenProject) -> Vec<ConnectionId> {
    let others = project.config.context_sources();
    let others =
        others.filter(|other| other.id != connection.id && other.driver == connection.driver);
    others.map(|other| other.id.clone()).collect()
}

pub(super) fn remove_orphans(
    CommandContext {
        invocation,
        project,
        ..
    }: CommandContext<'_>,
) -> Outcome<()> {
    let layout = project.store.layout();
    let has_imports = |id: &&ConnectionId| layout.sources(id).join("_imports").is_dir();
    let warehouses = project.config.warehouses().map(|one| &one.id);
    let warehouses: Vec<&ConnectionId> = warehouses.filter(has_imports).collect();
    if warehouses.is_empty() {
        return Ok(());
    }
    let known = project.config.context_sources().map(|one| &one.id);
    let known: Vec<&ConnectionId> = known.collect();
    let run_store = open(invocation, project)?;
    ktx_ingest::remove_orphans(&warehouses, &known, &run_store)
        .map_err(|error| cause(&error, &project.dir))
}

impl ReadSources {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn planned(self, context: CommandContext<'_>) -> Outcome<Vec<PlannedSource>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let run_store = open(context.invocation, context.project)?;
        let planned = self.entries.into_iter().map(|(id, read)| {
            let units = read.and_then(|read| {
                planned_units(&read.source, &run_store)
                    .map_err(|error| cause(&error, &context.project.dir))
            });
            (id, units)
        });
        Ok(planned.collect())
    }

    /// Commits each source. Also reports commits of `earlier`, a call in the same run.
    pub(super) fn copy_facts(
        &self,
        earlier: FactsReports,
        imports: Imports,
        CommandContext {
            invocation,
            project,
            ..
        }: CommandContext<'_>,
    ) -> Outcome<FactsReports> {
        if self.is_empty() {
            return Ok(FactsReports::new());
        }
        let run_store = open(invocation, project)?;
        let unread = self.entries.iter().filter(|(_, read)| read.is_err());
        let unread: BTreeSet<ConnectionId> = unread.map(|(id, _)| id.clone()).collect();
        let read = self
            .entries
            .iter()
            .filter_map(|(_, read)| read.as_ref().ok());
        let sources: Vec<FactsSource<'_>> = read
            .map(|ReadSource { source, siblings }| FactsSource { source, siblings })
            .collect();
        Ok(copy_facts(&sources, &unread, earlier, imports, &run_store))
    }

    /// Removes units that changed since the run to retry. Known units cost nothing and stay, so
    /// that their files do not count as removed.
    pub(super) fn only(
        mut self,
        scope: &RetryScope,
        CommandContext {
            invocation,
            project,
            printer,
        }: CommandContext<'_>,
    ) -> Outcome<Self> {
        if self.is_empty() {
            return Ok(self);
        }
        let run_store = open(invocation, project)?;
        for (id, read) in &mut self.entries {
            let (Ok(read), Some(UnitScope::Named(named))) = (read, scope.units(id)) else {
                continue;
            };
            let planned = planned_units(&read.source, &run_store)
                .map_err(|error| cause(&error, &project.dir))?;
            let is_other =
                |unit: &&PlannedUnit| unit.need != UnitNeed::Known && !named.contains(&unit.key);
            let others: BTreeSet<String> = planned
                .iter()
                .filter(is_other)
                .map(|unit| unit.key.clone())
                .collect();
            if !others.is_empty() {
                printer.note(&format!(
                    "left: {} of {id} with later changes; `ktx ingest {id}` reads them",
                    counted(others.len(), "unit")
                ));
            }
            read.source.units.retain(|unit| !others.contains(&unit.key));
        }
        Ok(self)
    }

    /// Requires the project's lock. Untried sources have results too.
    pub(super) fn ingest(
        self,
        facts: FactsReports,
        model: &Model,
        opening: StartCondition,
        plan: &RunPlan,
        context: CommandContext<'_>,
    ) -> Outcome<Results> {
        let CommandContext {
            invocation,
            project,
            ..
        } = context;
        let run_store = open(invocation, project)?;
        let before = begin(plan, &run_store, invocation)?;
        let mut order = Vec::new();
        let mut sources = Vec::new();
        for (id, read) in self.entries {
            order.push((id, read.as_ref().err().cloned()));
            sources.extend(read.ok().map(|read| read.source));
        }
        let sources = sources.into_iter().zip(facts).collect();
        let reports = compose::block_on(|cancel| async {
            let request = IngestRequest {
                run_store: &run_store,
                context: crate::context::open_for_agent(invocation, project)?,
                model: engine_model(model, project),
                run_id: invocation.run_id.clone(),
                events: progress::sink(context.printer),
                start: match opening {
                    StartCondition::Stopped => Start::Stopped,
                    StartCondition::Alone | StartCondition::AfterWarehouses => Start::Tried,
                },
                cancel,
            };
            let reports = ktx_ingest::ingest(request, sources).await;
            reports.map_err(|error| cause(&error, &project.dir))
        })?;
        let mut reports = reports.into_iter();
        let results = order.into_iter().filter_map(|(id, failure)| {
            let result = match failure {
                Some(failure) => Err(failure),
                None => Ok(reports.next()?),
            };
            Some((id, result))
        });
        let results: Results = results.collect();
        finish(before, &results, &run_store, context)?;
        Ok(results)
    }
}

fn begin(
    plan: &RunPlan,
    run_store: &RunStore,
    invocation: &Invocation,
) -> Outcome<Option<ktx_project_store::Run>> {
    let state = run_store.state();
    let run = &invocation.run_id;
    let begun = || {
        let before = state.run(run)?;
        if let Some(before) = &before {
            state.continue_run(run, &before.detail)?;
        } else {
            state.interrupt_runs(COMMAND, invocation.now)?;
            state.begin_run(run, COMMAND, invocation.now, &plan.detail())?;
        }
        Ok(before)
    };
    begun().map_err(|error| state_failure(&error))
}

fn finish(
    before: Option<ktx_project_store::Run>,
    results: &Results,
    run_store: &RunStore,
    CommandContext {
        invocation,
        project,
        ..
    }: CommandContext<'_>,
) -> Outcome<()> {
    let state = run_store.state();
    let run = &invocation.run_id;
    let own = status(results);
    let ended = || {
        let detail = state.run(run)?.map(|run| run.detail).unwrap_or_default();
        let detail = with_part(detail, "sources", json!(items(results, project)));
        let status = before.map_or(own, |before| combined(before.status, own));
        state.finish_run(run, status, Timestamp::now(), &detail)
    };
    ended().map_err(|error| state_failure(&error))
}

fn open(invocation: &Invocation, project: &OpenProject) -> Outcome<RunStore> {
    let run_store = RunStore::open(&project.store, invocation.now);
    run_store.map_err(|error: IngestError| cause(&error, &project.dir))
}

fn engine_model(model: &Model, project: &OpenProject) -> ktx_ingest::Model {
    match model {
        Model::Absent => ktx_ingest::Model::Absent,
        Model::Unwanted => ktx_ingest::Model::Unwanted,
        Model::Failed(failure) => ktx_ingest::Model::Unavailable(UnavailableModel {
            failure: failure.clone(),
            stop: Stop::of(failure.code),
        }),
        Model::Usable(runtime) => {
            let config = project.config.clone();
            let steps = u32::try_from(config.ingest.step_budget).unwrap_or(u32::MAX);
            ktx_ingest::Model::Usable(UsableModel {
                runtime: Arc::clone(runtime),
                step_budget: steps.max(1),
                concurrency: u32::try_from(config.ingest.max_concurrency).unwrap_or(1),
                name: Arc::new(move |role| model_name(&config, role)),
            })
        }
    }
}

fn status(results: &Results) -> RunStatus {
    let is_whole = |result: &Outcome<SourceReport>| {
        let report = result.as_ref();
        report.is_ok_and(SourceReport::is_whole)
    };
    if results.iter().all(|(_, result)| is_whole(result)) {
        RunStatus::Done
    } else if results.iter().any(|(_, result)| result.is_ok()) {
        RunStatus::Partial
    } else {
        RunStatus::Failed
    }
}
