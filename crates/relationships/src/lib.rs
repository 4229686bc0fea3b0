//! Relationship discovery: which columns refer to which keys, and why.
//!
//! Tables, profiles of their values, past joins and people's decisions go in; links come out, each
//! with a verdict and its reasons. Declared links stay as they are; others are found from values
//! first and names second. This crate must never know a warehouse, a file, a model or a clock:
//! its caller asks the warehouse the questions that samples leave open.

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
pub use choice::resolve::resolve;
pub use composite::settle::{settle_groups, single_links};
pub use composite::{Counts, Proposal, judge, propose};
pub use facts::{ColumnFacts, Facts, TableFacts};
pub use pairs::{note_spelling, rescore, score_pairs, unchecked};
pub use score::ScoredPair;
