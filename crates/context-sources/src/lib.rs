//! What context sources say, as data: their files, the units that are read together, and the facts in their
//! metadata, which need no model.
//!
//! This crate must never know models, the terminal or git.

mod apply;
pub mod dbt;
mod facts;
pub mod metabase;
pub mod notion;
mod rest;
mod snapshot;

pub use apply::{Applied, ApplyError, Pruning, apply};
pub use facts::{ColumnFacts, Facts, TableFacts};
pub use rest::{Rest, RestError, RestErrorKind};
pub use snapshot::{LeftOut, ReadError, Snapshot, Unit};
