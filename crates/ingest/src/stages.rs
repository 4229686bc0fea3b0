//! The stages of a run, in order: facts, triage, units, curation, reconciliation. Each result is
//! committed or stored before the next step begins.

pub(crate) mod curation;
pub(crate) mod facts;
pub(crate) mod reconciliation;
pub(crate) mod triage;
pub(crate) mod units;
