//! Semantic sources, the planner and the SQL compiler: pure functions.
//!
//! A [`Catalog`] holds the sources, which are texts. [`compile`] turns a [`Query`] into one SQL
//! statement whose numbers are correct, or refuses it and suggests alternatives. This crate must
//! never know connections, files or LLMs.

mod aggregates;
mod authored;
mod bound;
mod build;
mod catalog;
mod clickhouse_types;
mod compile;
mod composed;
pub mod conformance;
mod deep;
mod diff;
mod drawing;
mod emit;
mod error;
mod escapes;
mod expression;
mod format;
mod formula;
mod grammar;
mod granularity;
mod graph;
mod interchange;
mod logic;
mod names;
mod near;
mod part;
mod places;
mod plan;
mod planner;
mod predicates;
mod presence;
mod probes;
mod query;
mod remarks;
mod resolved;
mod roles;
mod scalars;
mod selftest;
mod shape;
mod sides;
mod source_file;
mod sql_text;
mod times;
mod validate;

pub use authored::{ColumnType, Relationship, Role, Visibility};
pub use catalog::{Catalog, SourceSummary};
pub use compile::{ColumnRole, Compiled, ResultColumn, compile};
pub use diff::{Change, Difference, Effect, FieldChange, Subject, diff, diff_json, diff_text};
pub use drawing::{draw_mermaid, draw_svg, graph_json};
pub use error::{ErrorKind, QueryError};
pub use format::format_source;
pub use formula::{Comparison, Formula, Moment, Snapshot, Window};
pub use granularity::Granularity;
pub use interchange::{
    Exported, Fate, Imported, ImportedSource, InterchangeError, Loss, OSI_VERSION, Replaced,
    export_osi, import_osi, replace_source,
};
pub use part::Part;
pub use places::place_of;
pub use plan::{MeasureGroup, MeasureInfo, PartInfo, Plan, PlannedColumn, PlannedJoin, explain};
pub use probes::{NotAsked, Probe, Probes, Wanted, probes, relation_probe};
pub use query::{
    DEFAULT_LIMIT, DimensionRequest, Direction, EmptyMembers, MeasureRequest, MissingPeriods,
    OrderRequest, Query, QueryWords,
};
pub use remarks::ComparedValue;
pub use resolved::{Column, Join, Measure, Origin, Relation, SaidBy, Segment, Source, column_type};
pub use selftest::{Expectation, SelfTest, SelfTestKind, Verdict, judge, self_tests};
pub use shape::source_schema;
pub use source_file::SourceFile;
pub use validate::{Finding, ValidationReport, validate};
