//! The JSON shapes of tools and of `--json`, apart from the program's own types.

mod connections;
mod dictionary;
mod discover;
mod entities;
mod query;
mod sources;
mod sql;
mod wiki;

pub use connections::{ConnectionItem, ConnectionListOutput};
pub use dictionary::{
    Coverage, CoverageStatus, DictionaryInput, DictionaryMatch, DictionaryMiss, DictionaryOutput,
    DictionaryResult, SearchedConnection,
};
pub(crate) use discover::Payload;
pub use discover::{DiscoverInput, DiscoverKind, DiscoverOutput, DiscoverRef};
pub use entities::{
    ColumnItem, EntityDetails, EntityDetailsInput, EntityDetailsOutput, EntityError,
    EntityErrorCode, EntityFound, EntityInput, EntityMissing, ForeignKeyItem, JoinItem,
    SnapshotItem, TableName, TablePlace,
};
pub use query::{
    AcrossInput, DimensionInput, DirectionInput, IncludePart, MeasureInput, OrderInput,
    SlQueryInput, SlQueryOutput,
};
pub use sources::{
    DictionaryHit, LaneItem, ReadSourceInput, ReadSourceOutput, SourceHit, SourceItem, SourceList,
};
pub use sql::{SqlInput, SqlOutput};
pub use wiki::{
    WikiHit, WikiItem, WikiReadInput, WikiReadOutput, WikiSearchInput, WikiSearchOutput,
};
