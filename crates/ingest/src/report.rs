//! The results of a run for each source.

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
use crate::verdict::{Thing, ThingVerdict};
use ktx_context_sources::Source;

const MOST_NAMED: usize = 5;

#[derive(Debug)]
pub struct SourceReport {
    pub source: ConnectionId,
    pub facts: Result<FactsReport, Failed>,
    pub has_facts: bool,
    pub units: Vec<UnitReport>,
    pub curation: Option<CurationReport>,
    /// The verdicts about pages and sources whose files are gone.
    pub eviction: Option<EvictionReport>,
    pub reconciliation: Option<LoopReport>,
    /// Why the rest was not tried, unless one of these failed.
    pub stopped: Option<Failed>,
    pub reading: Reading,
    /// Proposals of this and earlier runs.
    pub proposals: Vec<WaitingProposal>,
    pub turns: Vec<Turn>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    WithModel,
    /// There is no model, and facts need none.
    FactsOnly,
    /// The user requested facts only.
    FactsWanted,
}

#[derive(Debug, Default)]
pub struct FactsReport {
    pub tables: usize,
    pub unknown: Vec<String>,
    pub imports: ImportReport,
    pub warnings: Vec<String>,
    pub commit: Option<String>,
}

#[derive(Debug)]
pub struct UnitReport {
    pub key: String,
    pub label: Option<String>,
    pub judgement: Option<Judgement>,
    pub result: Option<LoopReport>,
}

#[derive(Debug, Clone)]
pub struct Judgement {
    pub verdict: Verdict,
    pub candidates: usize,
    pub origin: Origin,
}

impl Judgement {
    pub(crate) fn is_full(&self) -> bool {
        self.verdict.lane == Lane::Full
    }
}

#[derive(Debug)]
pub struct LoopReport {
    pub steps: u32,
    pub result: Result<Committed, Failed>,
}

#[derive(Debug)]
pub struct CurationReport {
    pub passes: Vec<LoopReport>,
    pub decisions: BTreeMap<String, Decision>,
    pub open: usize,
}

#[derive(Debug, Default)]
pub struct EvictionReport {
    /// About what others share with the files that are gone.
    pub verdicts: Vec<ThingVerdict>,
    /// What has no verdict yet; the next run asks again.
    pub open: Vec<Thing>,
    /// What needed no model.
    pub decided: Option<LoopReport>,
    pub asked: Option<LoopReport>,
}

impl EvictionReport {
    pub(crate) const fn is_empty(&self) -> bool {
        self.verdicts.is_empty()
            && self.open.is_empty()
            && self.decided.is_none()
            && self.asked.is_none()
    }

    pub fn loops(&self) -> impl Iterator<Item = &LoopReport> {
        self.decided.iter().chain(&self.asked)
    }
}

impl SourceReport {
    pub(crate) fn new(source: &Source, facts: Result<FactsReport, Failed>) -> Self {
        let mut warnings = source.facts.warnings.clone();
        warnings.extend(facts.iter().flat_map(|facts| facts.warnings.clone()));
        // The first source of a connection has already reported it.
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

    pub(crate) fn name_units(&mut self, source: &Source) {
        let left = source.units.iter().skip(self.units.len());
        self.units.extend(left.map(|unit| UnitReport {
            key: unit.key.clone(),
            label: unit.label.clone(),
            judgement: None,
            result: None,
        }));
    }

    pub fn loops(&self) -> impl Iterator<Item = &LoopReport> {
        let units = self.units.iter().filter_map(|unit| unit.result.as_ref());
        let passes = self.curation.iter().flat_map(|curation| &curation.passes);
        let eviction = self.eviction.iter().flat_map(EvictionReport::loops);
        eviction
            .chain(units)
            .chain(passes)
            .chain(&self.reconciliation)
    }

    pub fn is_whole(&self) -> bool {
        !self.is_unfinished() && self.proposals.is_empty()
    }

    /// Returns whether another run would continue some work.
    pub fn is_unfinished(&self) -> bool {
        let is_tried = self.reading != Reading::WithModel
            || self.units.iter().all(|unit| unit.result.is_some());
        let is_done = self.loops().all(LoopReport::is_finished);
        let is_decided = self.curation.as_ref().is_none_or(|done| done.open == 0);
        let has_verdicts = self
            .eviction
            .as_ref()
            .is_none_or(|done| done.open.is_empty());
        let is_ended = self.stopped.is_none() && self.facts.is_ok();
        !(is_tried && is_done && is_decided && has_verdicts && is_ended)
    }

    /// Returns whether any part was copied or read, or there was nothing to do.
    pub fn has_something(&self) -> bool {
        let has_facts = self.facts.as_ref().is_ok_and(|facts| facts.tables > 0);
        has_facts || self.is_whole() || self.loops().any(|done| done.result.is_ok())
    }

    pub fn failures(&self) -> impl Iterator<Item = &Failed> {
        self.failures_of_reading().chain(self.facts.as_ref().err())
    }

    pub fn failures_of_reading(&self) -> impl Iterator<Item = &Failed> {
        let failures = self.loops().filter_map(|done| done.result.as_ref().err());
        failures.chain(&self.stopped)
    }

    pub fn has_new_work(&self) -> bool {
        let mut committed = self.loops().filter_map(|done| done.result.as_ref().ok());
        committed.any(|committed| committed.origin == Origin::ThisRun)
    }

    pub fn stopping_failure(&self) -> Option<&Failed> {
        let mut failures = self.failures_of_reading();
        failures.find(|failed| failed.stop.is_some())
    }

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
