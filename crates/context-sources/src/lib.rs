//! Context sources as data: their files, the units that are read together, and the facts in their
//! metadata, which need no model.
//!
//! This crate must never know models, the terminal or git.

mod apply;
pub mod dbt;
mod definitions;
mod facts;
mod folder;
mod grouping;
pub mod looker;
pub mod lookml;
pub mod metabase;
pub mod metricflow;
mod names;
pub mod notion;
mod page_cache;
mod rest;
mod snapshot;
mod yaml;

pub use apply::{Applied, ApplyError, Pruning, apply};
pub use definitions::{
    Cardinality, ColumnKind, ColumnPair, ComputedColumn, DefinitionKind, Definitions, Fragment,
    Left, MeasureDefinition, MeasureFormula, Model, ModelJoin, Moment, Purpose, SegmentDefinition,
    Spot, Sql, Window,
};
pub use facts::{ColumnFacts, Facts, Place, Reference, TableFacts, Writer};
pub use grouping::split_long;
pub use page_cache::PageCache;
pub use rest::{Rest, RestError, RestErrorKind};
pub use snapshot::{FolderKind, LeftOut, ReadError, Snapshot, Unit};
