//! Context sources as data: their files, the units that are read together, and the facts in their
//! metadata.
//!
//! Each kind is a folder and a row of [`KINDS`]. This crate must never know models, the terminal or
//! git.

mod apply;
mod artifacts;
mod canonical;
pub mod cube;
pub mod dbt;
mod definitions;
mod facts;
mod folder;
mod grouping;
mod kinds;
pub mod looker;
pub mod lookml;
pub mod metabase;
pub mod metricflow;
mod names;
pub mod notion;
mod page_cache;
mod repository;
mod rest;
mod server;
mod snapshot;
mod source;
mod yaml;

pub use apply::{ApplyError, FactChanges, Pruning, apply};
pub use artifacts::Artifacts;
pub use canonical::canonical_text;
pub use definitions::{
    Cardinality, ColumnKind, ColumnPair, ComputedColumn, DefinitionKind, Definitions, Fragment,
    MeasureDefinition, MeasureFormula, Model, ModelJoin, Moment, Purpose, SegmentDefinition,
    SkippedDefinition, SourcePosition, Sql, WhyLeft, Window,
};
pub use facts::{
    ColumnFacts, Exposure, Facts, Freshness, Reference, SchemaOrigin, TableFacts, TableLocation,
    Writer,
};
pub use grouping::split_long;
pub use kinds::{KINDS, kind_of};
pub use page_cache::PageCache;
pub use rest::{Rest, RestError, RestErrorKind};
pub use snapshot::{FolderKind, LeftOut, ReadError, Snapshot, Unit};
pub use source::{
    Access, Contents, ContextSource, Kind, LONGEST_UNIT, PageQuota, ReadRequest, Source,
    SourceContext, WarehouseLookup,
};
