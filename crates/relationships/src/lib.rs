//! Relationship discovery: which columns refer to which keys, and why.
//!
//! This crate must not depend on a warehouse, a file, a model or a clock: its caller asks the
//! warehouse what samples leave open.

mod candidates;
mod choice;
mod composite;
mod facts;
pub mod links;
pub mod names;
mod pairs;
pub mod profile;
mod score;
pub mod settings;
pub mod types;
pub mod weights;

pub use choice::decided::apply_decisions;
pub use choice::implied::{mark_implied, tell_disproof};
pub use choice::measured::measure_declared;
pub use choice::resolve::resolve;
pub use composite::settle::{settle_groups, single_links};
pub use composite::{Counts, Proposal, judge, propose};
pub use facts::{ColumnFacts, Facts, TableFacts};
pub use pairs::{note_spelling, rescore, score_pairs, unchecked};
pub use score::ScoredPair;
