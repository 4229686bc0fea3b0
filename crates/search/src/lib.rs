//! Full-text index over wiki pages, semantic sources and the schema; rank fusion.
//!
//! The index is a cache in its own SQLite file, which can be deleted at any time. The owner of the
//! content passes *units* (a page, the sources of one connection, one scan) with a cheap stamp.
//! Only units with a new stamp are read again, and only changed documents are written. This crate
//! must never know LLMs, MCP or where content comes from.

mod document;
mod error;
mod filing;
mod fusion;
mod hits;
mod index;
mod kept;
mod lanes;
mod lists;
mod near;
mod postings;
mod query;
mod ranking;
mod reading;
mod schema;
mod snippet;
mod stems;
mod terms;
mod text;
mod thesaurus;
mod units;
mod vectors;
mod vocabulary;
mod write;

pub use document::{Document, Field, Kind, Section};
pub use error::SearchError;
pub use fusion::{Ranking, fuse, normalized};
pub use index::{Index, IndexAddress, NearDocument, SyncReport};
pub use kept::{Unembedded, are_vectors_whole};
pub use query::{Confidence, Hit, Lane, LaneReport, LaneStatus, Query, SearchOutcome};
pub use units::{Digest, UnitState};
pub use vectors::{Meaning, QueryVector, VectorModel, Vectors, VectorsError};
