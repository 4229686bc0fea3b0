//! Full-text index over wiki pages, semantic sources and the schema; rank fusion.
//!
//! The index is a cache in a SQLite file of its own: it may be deleted at any time. Whoever owns the
//! content hands over *units* (a page, the sources of one connection, one scan) with a cheap stamp;
//! only units whose stamp has changed are read again, and only documents whose content has changed
//! are written. This crate must never know LLMs, MCP or where content comes from.

mod document;
mod fusion;
mod index;
mod lanes;
mod query;
mod schema;
mod snippet;
mod terms;

pub use document::{Document, Field, Kind};
pub use fusion::{Ranking, fuse, normalized};
pub use index::{Index, SearchError, SyncReport, UnitState};
pub use query::{Hit, Lane, LaneReport, LaneStatus, Query, SearchOutcome};
