//! Semantic sources, the planner and the SQL compiler: pure functions.
//!
//! [`compile`] turns a [`Query`] over a [`Catalog`] into one correct SQL statement, or refuses it.
//! This crate must never know connections, files or LLMs.

mod catalog;
mod check;
mod emit;
mod model;
mod names;
mod plan;
pub mod sql;
mod suggest;

pub use catalog::graph;
pub use catalog::places::place_of;
pub use catalog::{Catalog, CatalogIndex, Piece, ScannedTable, SourceSummary, Unread};
pub use check::conformance;
pub use check::selftest::{Expectation, SelfTest, SelfTestKind, Verdict, judge, self_tests};
pub use check::validate::{Finding, ValidationReport, validate};
pub use emit::compile::{Compiled, ResultColumn, compile};
pub use emit::parse_query;
pub use emit::query_plan::{
    MeasureGroup, MeasureInfo, PartInfo, Plan, PlannedColumn, PlannedJoin, explain,
};
pub use emit::remarks::ComparedValue;
pub use model::advice::{Advice, Offer, refused_markdown};
pub use model::authored;
pub use model::authored::{ColumnType, Relationship, Role, Visibility};
pub use model::composed::Composed;
pub use model::error::{ErrorKind, QueryError, Remedy};
pub use model::formula::{Comparison, Formula, Moment, Snapshot, Window};
pub use model::granularity::Granularity;
pub use model::part::Part;
pub use model::resolved::{
    Column, Join, JoinOrigin, Measure, Origin, Relation, Segment, Source, best_description,
    column_type,
};
pub use model::shape;
pub use model::shape::source_schema;
pub use model::source_file::SourceFile;
pub use names::aggregates;
pub use names::query::{
    Across, DEFAULT_LIMIT, DimensionRequest, Direction, EmptyMembers, MeasureRequest,
    MissingPeriods, OrderRequest, Others, Query, QueryWords, Totals,
};
pub use plan::ColumnRole;
pub use suggest::{Declared, SourceFacts, SuggestedItem, Suggestion, overlay, suggest};
