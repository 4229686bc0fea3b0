//! `ktx ingest` of context sources: what their metadata says is taken over, what their files mean is read by
//! a model, unit by unit.

mod documents;
mod files;
mod journal;
mod kinds;
mod looker;
mod metabase;
mod notion;
mod plan;
mod progress;
mod report;
mod work;

use std::sync::Arc;

use jiff::Timestamp;
use ktx_llm_runtime::LlmRuntime;
use ktx_project_store::RunStatus;
use ktx_vocabulary::ConnectionId;
use serde_json::Value;
use tokio_util::future::FutureExt as _;

use super::kept::{Keeper, Kept};
use crate::compose;
use crate::exit::Exit;
use crate::report::{Failure, Outcome};
use crate::scanning::state_failure;

pub(super) use kinds::read;
pub(crate) use kinds::tested;
pub(super) use plan::{Source, Wanted, wanted};
pub(super) use report::{items, print, targets};

use super::Around;

/// Who holds the project's lock meanwhile.
const COMMAND: &str = "ktx ingest";

/// What became of one context source.
pub(super) struct Ingested {
    /// What the metadata says, taken over without a model.
    pub(super) facts: Outcome<Facts>,
    /// Whether sources of its kind say something without a model.
    pub(super) has_facts: bool,
    /// The units in their order.
    pub(super) units: Vec<UnitDone>,
    /// What became of the candidates that were found on documents, when there were any.
    pub(super) curated: Option<documents::Curation>,
    /// The reconciliation, when there was something to bring in line.
    pub(super) reconciled: Option<Loop>,
    /// The turns of all loops, in their order.
    pub(super) events: Vec<Value>,
    /// What a person should know.
    pub(super) warnings: Vec<String>,
}

/// What was taken over from metadata.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Tables that it says something about.
    pub(super) tables: usize,
    /// Tables that no scan has seen.
    pub(super) unknown: Vec<String>,
    /// The commit; none when nothing changed.
    pub(super) commit: Option<String>,
}

/// A unit with what became of it; none when it was not tried.
pub(super) struct UnitDone {
    pub(super) key: String,
    /// What people call it.
    pub(super) label: Option<String>,
    /// How it was read on, when it is a document.
    pub(super) verdict: Option<documents::Judged>,
    pub(super) result: Option<Loop>,
}

/// One loop of a model.
pub(super) struct Loop {
    /// The turns that it had.
    pub(super) steps: u32,
    /// What it made.
    pub(super) kept: Outcome<Kept>,
}

impl Ingested {
    /// All loops that were tried.
    fn loops(&self) -> impl Iterator<Item = &Loop> {
        let units = self.units.iter().filter_map(|unit| unit.result.as_ref());
        let passes = self.curated.iter().flat_map(|curated| &curated.passes);
        units.chain(passes).chain(&self.reconciled)
    }

    /// Whether everything was tried and came to its end.
    pub(super) fn is_whole(&self) -> bool {
        let is_tried = self.units.iter().all(|unit| unit.result.is_some());
        let mut loops = self.loops();
        let is_done = loops.all(|done| done.kept.as_ref().is_ok_and(|kept| !kept.is_partial));
        let is_decided = self.curated.as_ref().is_none_or(|done| done.open == 0);
        is_tried && is_done && is_decided && self.facts.is_ok()
    }

    /// The failure of a source of which nothing was taken over or read.
    pub(super) fn nothing_done(&self) -> Option<&Failure> {
        let mut loops = self.loops().peekable();
        loops.peek()?;
        let failures: Option<Vec<&Failure>> = loops.map(|done| done.kept.as_ref().err()).collect();
        let has_facts = self
            .facts
            .as_ref()
            .is_ok_and(|facts| facts.commit.is_some());
        failures.filter(|_| !has_facts)?.first().copied()
    }

    /// Everything that failed in a loop.
    pub(super) fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.loops().filter_map(|done| done.kept.as_ref().err())
    }

    /// The failure behind which nothing more is tried, when there was one.
    fn stop(&self) -> Option<&Failure> {
        self.failures().find(|failure| stops(failure))
    }
}

/// Whether a failure is one of the model or the user, and would be the same for whatever comes next.
pub(super) const fn stops(failure: &Failure) -> bool {
    matches!(
        failure.exit,
        Exit::Model | Exit::Partial | Exit::Interrupted
    )
}

pub(super) type Results = Vec<(ConnectionId, Outcome<Ingested>)>;

/// Ingests context sources one after another, under the project's lock. A failed one does not stop the
/// others; a model that cannot be used or that stops in the middle stops all.
pub(super) fn ingest(
    sources: Vec<(ConnectionId, Outcome<Source>)>,
    runtime: &Arc<dyn LlmRuntime>,
    around: Around<'_>,
    is_first: bool,
) -> Outcome<Results> {
    let (session, opened, _) = around;
    let keeper = Keeper::open(session, opened)?;
    if is_first {
        let state = keeper.state();
        state
            .interrupt_runs(COMMAND, session.now)
            .and_then(|()| state.begin_run(&session.run_id, COMMAND, session.now, &Value::Null))
            .map_err(|error| state_failure(&error))?;
    }
    let keeper_ref = &keeper;
    let results = compose::block_on(|cancel| async move {
        let mut results: Results = Vec::new();
        let mut work = work::Work::new(keeper_ref, runtime, around, cancel.clone());
        for (id, source) in sources {
            let result = match source {
                Ok(source) => work.source(&source).await,
                Err(failure) => Err(failure),
            };
            let is_stopped = match &result {
                Ok(ingested) => ingested.stop().is_some(),
                Err(failure) => stops(failure),
            };
            results.push((id, result));
            if is_stopped {
                break;
            }
        }
        // Who presses Ctrl-C waits for nothing more.
        runtime.settle().with_cancellation_token(&cancel).await;
        Ok(results)
    })?;
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
