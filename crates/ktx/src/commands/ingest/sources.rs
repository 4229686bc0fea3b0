//! `ktx ingest` of context sources: their metadata is copied, and a model reads their files, unit
//! by unit.

mod documents;
mod facts;
mod files;
mod journal;
mod kinds;
mod looker;
mod metabase;
mod notion;
mod plan;
mod progress;
mod report;
mod trouble;
mod work;

use jiff::Timestamp;
use ktx_diagnostics::Code;
use ktx_project_store::RunStatus;
use ktx_vocabulary::ConnectionId;
use serde_json::Value;
use tokio_util::future::FutureExt as _;

use super::kept::{Keeper, Kept};
use super::proposals::{Waiting, waiting};
use crate::compose;
use crate::report::{Failure, Outcome};
use crate::scanning::state_failure;

pub(super) use facts::{Taken, take};
pub(super) use kinds::read;
pub(crate) use kinds::tested;
pub(super) use plan::{Source, Wanted, wanted};
pub(super) use report::{items, print, targets};
pub(super) use trouble::{as_command, stops};

use super::{Around, Model, no_model};

/// The holder's name in the project's lock.
const COMMAND: &str = "ktx ingest";

pub(super) struct Ingested {
    /// The facts from metadata, copied without a model.
    pub(super) facts: Outcome<Facts>,
    /// Whether sources of this kind have facts without a model.
    pub(super) has_facts: bool,
    pub(super) units: Vec<UnitDone>,
    /// The results for candidates from documents, if there were any.
    pub(super) curated: Option<documents::Curation>,
    /// The reconciliation, if one was needed.
    pub(super) reconciled: Option<Loop>,
    /// Why the rest was not tried, unless one of these failed.
    pub(super) stopped: Option<Failure>,
    pub(super) reading: Reading,
    /// Changes kept back, also by earlier runs, that wait for the user.
    pub(super) proposals: Vec<Waiting>,
    /// The turns of all loops, in order.
    pub(super) events: Vec<Value>,
    pub(super) warnings: Vec<String>,
}

/// Whether the units of a source should be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// By the model.
    Asked,
    WithoutModel,
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) tables: usize,
    /// Described tables that no scan has seen.
    pub(super) unknown: Vec<String>,
    /// The commit; `None` if nothing changed.
    pub(super) commit: Option<String>,
}

/// A unit with its result; `None` if it was not tried.
pub(super) struct UnitDone {
    pub(super) key: String,
    /// Its display name.
    pub(super) label: Option<String>,
    /// The triage result, if it is a document.
    pub(super) verdict: Option<documents::Judged>,
    pub(super) result: Option<Loop>,
}

pub(super) struct Loop {
    /// The number of turns.
    pub(super) steps: u32,
    /// The result.
    pub(super) kept: Outcome<Kept>,
}

impl Ingested {
    /// Creates the entry of a source whose units were not tried yet.
    fn of(source: &Source, facts: Outcome<Facts>) -> Self {
        let mut warnings = source.facts.warnings.clone();
        // The first source of a connection has reported it already.
        let left_out = source.snapshot.left_out.iter();
        let left_out = left_out.filter(|_| source.scope.is_none());
        warnings
            .extend(left_out.map(|file| format!("`{}` was not read: {}", file.path, file.reason)));
        Self {
            facts,
            has_facts: source.has_facts,
            units: Vec::new(),
            curated: None,
            reconciled: None,
            stopped: None,
            reading: Reading::Asked,
            proposals: Vec::new(),
            events: Vec::new(),
            warnings,
        }
    }

    fn name_units(&mut self, source: &Source) {
        let left = source.units.iter().skip(self.units.len());
        self.units.extend(left.map(|unit| UnitDone {
            key: unit.key.clone(),
            label: unit.label.clone(),
            verdict: None,
            result: None,
        }));
    }

    fn loops(&self) -> impl Iterator<Item = &Loop> {
        let units = self.units.iter().filter_map(|unit| unit.result.as_ref());
        let passes = self.curated.iter().flat_map(|curated| &curated.passes);
        units.chain(passes).chain(&self.reconciled)
    }

    /// Returns whether everything was tried, finished and committed.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_unfinished() && self.proposals.is_empty()
    }

    /// Returns whether repeating the command would continue some work.
    fn is_unfinished(&self) -> bool {
        let is_tried = self.reading == Reading::WithoutModel
            || self.units.iter().all(|unit| unit.result.is_some());
        let mut loops = self.loops();
        let is_done = loops.all(|done| done.kept.as_ref().is_ok_and(|kept| !kept.is_partial));
        let is_decided = self.curated.as_ref().is_none_or(|done| done.open == 0);
        let is_ended = self.stopped.is_none() && self.facts.is_ok();
        !(is_tried && is_done && is_decided && is_ended)
    }

    /// Returns whether any part was copied or read, or there was nothing to do.
    pub(super) fn has_something(&self) -> bool {
        let has_facts = self.facts.as_ref().is_ok_and(|facts| facts.tables > 0);
        has_facts || self.is_whole() || self.loops().any(|done| done.kept.is_ok())
    }

    pub(super) fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.failures_of_reading().chain(self.facts.as_ref().err())
    }

    /// Returns the failures of loops, and why the rest was not tried.
    fn failures_of_reading(&self) -> impl Iterator<Item = &Failure> {
        let failures = self.loops().filter_map(|done| done.kept.as_ref().err());
        failures.chain(&self.stopped)
    }

    /// Returns whether the model produced something in this run.
    pub(super) fn is_worked(&self) -> bool {
        let mut kept = self.loops().filter_map(|done| done.kept.as_ref().ok());
        kept.any(|kept| !kept.is_known)
    }

    /// Returns the failure after which the rest was not tried, if any.
    pub(super) fn stop(&self) -> Option<&Failure> {
        self.failures_of_reading().find(|failure| stops(failure))
    }
}

pub(super) type Results = Vec<(ConnectionId, Outcome<Ingested>)>;

/// How the sources of a command begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// The command has only sources.
    Alone,
    AfterWarehouses,
    /// The model failed for the warehouses: the units are not tried.
    Stopped,
}

/// Lets the model read the units of context sources one after another, under the project's lock. A
/// failed source does not stop the others; a model that cannot be used or that stops midway stops
/// all. Each source has a result, even if it was not tried.
pub(super) fn ingest(
    sources: Vec<(ConnectionId, Outcome<Source>)>,
    taken: Taken,
    (model, opening): (&Model, Opening),
    around: Around<'_>,
) -> Outcome<Results> {
    let (session, opened, _) = around;
    let keeper = Keeper::open(session, opened)?;
    if opening == Opening::Alone {
        let state = keeper.state();
        state
            .interrupt_runs(COMMAND, session.now)
            .and_then(|()| state.begin_run(&session.run_id, COMMAND, session.now, &Value::Null))
            .map_err(|error| state_failure(&error))?;
    }
    let keeper_ref = &keeper;
    let mut results = compose::block_on(|cancel| async move {
        let mut results: Results = Vec::new();
        let mut work = match model {
            Model::Usable(runtime) => {
                Some(work::Work::new(keeper_ref, runtime, around, cancel.clone()))
            }
            Model::Absent | Model::Failed(_) => None,
        };
        let mut is_stopped = opening == Opening::Stopped;
        for ((id, source), facts) in sources.into_iter().zip(taken) {
            let result = match source {
                Err(failure) => Err(failure),
                Ok(source) => {
                    let facts = facts.unwrap_or_else(|| Ok(Facts::default()));
                    let mut done = Ingested::of(&source, facts);
                    let read = match (model, &mut work) {
                        _ if is_stopped => Ok(()),
                        (Model::Failed(failure), _) => Err(failure.clone()),
                        (Model::Usable(_), Some(work)) => work.source(&source, &mut done).await,
                        _ if source.has_facts => {
                            done.reading = Reading::WithoutModel;
                            Ok(())
                        }
                        _ => Err(no_model("documents can only be read with a model")),
                    };
                    done.stopped = read.err();
                    done.name_units(&source);
                    Ok(done)
                }
            };
            is_stopped |= match &result {
                Ok(ingested) => ingested.stop().is_some(),
                Err(failure) => stops(failure),
            };
            results.push((id, result));
        }
        if let Model::Usable(runtime) = model {
            // After Ctrl-C, do not wait any more.
            runtime.settle().with_cancellation_token(&cancel).await;
        }
        Ok(results)
    })?;
    let proposals = waiting(&opened.store)
        .map_err(|error| Failure::from_error(Code::ProposalFailed, &error))?;
    for (id, result) in &mut results {
        if let Ok(done) = result {
            let own = proposals.iter().filter(|proposal| proposal.source == *id);
            done.proposals = own.cloned().collect();
        }
    }
    let is_whole = |result: &Outcome<Ingested>| result.as_ref().is_ok_and(Ingested::is_whole);
    let status = if results.iter().all(|(_, result)| is_whole(result)) {
        RunStatus::Done
    } else if results.iter().any(|(_, result)| result.is_ok()) {
        RunStatus::Partial
    } else {
        RunStatus::Failed
    };
    let state = keeper.state();
    state
        .finish_run(&session.run_id, status, Timestamp::now(), &Value::Null)
        .map_err(|error| state_failure(&error))?;
    Ok(results)
}
