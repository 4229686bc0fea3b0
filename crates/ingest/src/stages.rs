//! The stages of a run, in order: facts, triage, units, eviction, curation, reconciliation. Each
//! result is committed or stored before the next step begins.

pub(crate) mod curation;
pub(crate) mod eviction;
pub(crate) mod facts;
pub(crate) mod ledger;
pub(crate) mod manifest;
mod parallel;
pub(crate) mod reconciliation;
pub(crate) mod triage;
pub(crate) mod units;
