//! What a run did with each source.

use std::collections::BTreeMap;

use ktx_diagnostics::counted;
use ktx_vocabulary::ConnectionId;

use crate::curate::Decision;
use crate::documents::{Lane, Verdict};
use crate::error::{Failed, Stop};
use crate::events::Turn;
use crate::imports::ImportReport;
use crate::proposals::WaitingProposal;
use crate::run_store::{Committed, Origin};
use ktx_context_sources::Source;

/// How many files are named that were not read for the same reason.
const MOST_NAMED: usize = 5;

/// The result of a source.
#[derive(Debug)]
pub struct SourceReport {
    pub source: ConnectionId,
    /// The facts from metadata, copied without a model.
    pub facts: Result<FactsReport, Failed>,
    /// Whether sources of this kind have facts without a model.
    pub has_facts: bool,
    /// The units, in order.
    pub units: Vec<UnitReport>,
    /// The results for candidates from documents, if there were any.
    pub curation: Option<CurationReport>,
    /// What went without a model because its files are gone.
    pub eviction: Option<LoopReport>,
    /// The reconciliation, if one was needed.
    pub reconciliation: Option<LoopReport>,
    /// Why the rest was not tried, unless one of these failed.
    pub stopped: Option<Failed>,
    /// Whether units were to be read.
    pub reading: Reading,
    /// Withheld changes, also of earlier runs, that wait for the user.
    pub proposals: Vec<WaitingProposal>,
    /// The turns of all loops, in order.
    pub turns: Vec<Turn>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Whether the units of a source are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    WithModel,
    /// Not at all: there is no model, and its facts need none.
    FactsOnly,
    /// Not at all: the user wants its facts only.
    FactsWanted,
}

/// The facts of a source that are in the manifest.
#[derive(Debug, Default)]
pub struct FactsReport {
    /// The number of tables that they describe.
    pub tables: usize,
    /// Described tables that no scan has seen.
    pub unknown: Vec<String>,
    /// What became of its definitions.
    pub imports: ImportReport,
    /// What the user should know about the reading.
    pub warnings: Vec<String>,
    /// The commit; `None` if nothing changed.
    pub commit: Option<String>,
}

/// The result of a unit.
#[derive(Debug)]
pub struct UnitReport {
    pub key: String,
    pub label: Option<String>,
    /// The triage result, if it is a document.
    pub judgement: Option<Judgement>,
    /// The result; `None` if it was not tried.
    pub result: Option<LoopReport>,
}

/// The triage result of a document, with its candidates.
#[derive(Debug, Clone)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The number of candidates found in a light reading.
    pub candidates: usize,
    /// The run that asked the model.
    pub origin: Origin,
}

impl Judgement {
    pub(crate) fn is_full(&self) -> bool {
        self.verdict.lane == Lane::Full
    }
}

/// The result of a loop.
#[derive(Debug)]
pub struct LoopReport {
    /// The number of turns in this run.
    pub steps: u32,
    pub result: Result<Committed, Failed>,
}

/// The results for candidates.
#[derive(Debug)]
pub struct CurationReport {
    /// The passes of this run.
    pub passes: Vec<LoopReport>,
    /// The decisions of this run, by candidate.
    pub decisions: BTreeMap<String, Decision>,
    /// The number of candidates without a decision.
    pub open: usize,
}

impl SourceReport {
    /// Creates the report of a source whose units were not tried yet.
    pub(crate) fn new(source: &Source, facts: Result<FactsReport, Failed>) -> Self {
        let mut warnings = source.facts.warnings.clone();
        warnings.extend(facts.iter().flat_map(|facts| facts.warnings.clone()));
        // The first source of a connection has reported it already.
        let left_out = source.snapshot.left_out.iter();
        let left_out = left_out.filter(|_| source.scope.is_none());
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for file in left_out {
            by_reason.entry(&file.reason).or_default().push(&file.path);
        }
        for (reason, paths) in by_reason {
            let named = paths.iter().take(MOST_NAMED);
            warnings.extend(named.map(|path| format!("`{path}` was not read: {reason}")));
            let more = paths.len().saturating_sub(MOST_NAMED);
            if more > 0 {
                warnings.push(format!(
                    "{} more were not read: {reason}",
                    counted(more, "file")
                ));
            }
        }
        Self {
            source: source.id.clone(),
            facts,
            has_facts: source.has_facts,
            units: Vec::new(),
            curation: None,
            eviction: None,
            reconciliation: None,
            stopped: None,
            reading: Reading::WithModel,
            proposals: Vec::new(),
            turns: Vec::new(),
            warnings,
        }
    }

    /// Adds the units that were not tried.
    pub(crate) fn name_units(&mut self, source: &Source) {
        let left = source.units.iter().skip(self.units.len());
        self.units.extend(left.map(|unit| UnitReport {
            key: unit.key.clone(),
            label: unit.label.clone(),
            judgement: None,
            result: None,
        }));
    }

    /// Returns the loops of units, of the curation and of the reconciliation.
    pub fn loops(&self) -> impl Iterator<Item = &LoopReport> {
        let units = self.units.iter().filter_map(|unit| unit.result.as_ref());
        let passes = self.curation.iter().flat_map(|curation| &curation.passes);
        let eviction = self.eviction.iter();
        eviction
            .chain(units)
            .chain(passes)
            .chain(&self.reconciliation)
    }

    /// Returns whether everything was tried, finished and committed.
    pub fn is_whole(&self) -> bool {
        !self.is_unfinished() && self.proposals.is_empty()
    }

    /// Returns whether repeating the run would continue some work.
    pub fn is_unfinished(&self) -> bool {
        let is_tried = self.reading != Reading::WithModel
            || self.units.iter().all(|unit| unit.result.is_some());
        let is_done = self.loops().all(LoopReport::is_finished);
        let is_decided = self.curation.as_ref().is_none_or(|done| done.open == 0);
        let is_ended = self.stopped.is_none() && self.facts.is_ok();
        !(is_tried && is_done && is_decided && is_ended)
    }

    /// Returns whether any part was copied or read, or there was nothing to do.
    pub fn has_something(&self) -> bool {
        let has_facts = self.facts.as_ref().is_ok_and(|facts| facts.tables > 0);
        has_facts || self.is_whole() || self.loops().any(|done| done.result.is_ok())
    }

    /// Returns all failures, those of the facts last.
    pub fn failures(&self) -> impl Iterator<Item = &Failed> {
        self.failures_of_reading().chain(self.facts.as_ref().err())
    }

    /// Returns the failures of loops, and why the rest was not tried.
    pub fn failures_of_reading(&self) -> impl Iterator<Item = &Failed> {
        let failures = self.loops().filter_map(|done| done.result.as_ref().err());
        failures.chain(&self.stopped)
    }

    /// Returns whether the model produced something in this run.
    pub fn has_new_work(&self) -> bool {
        let mut committed = self.loops().filter_map(|done| done.result.as_ref().ok());
        committed.any(|committed| committed.origin == Origin::ThisRun)
    }

    /// Returns the failure after which the rest was not tried, if any.
    pub fn stopping_failure(&self) -> Option<&Failed> {
        let mut failures = self.failures_of_reading();
        failures.find(|failed| failed.stop.is_some())
    }

    /// Returns why the rest was not tried, if so.
    pub fn stop(&self) -> Option<Stop> {
        self.stopping_failure()?.stop
    }
}

impl LoopReport {
    pub(crate) fn is_finished(&self) -> bool {
        let result = self.result.as_ref();
        result.is_ok_and(|committed| committed.truncation.is_none())
    }
}
