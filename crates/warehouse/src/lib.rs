//! Connectors, schema snapshots and admission. This crate must not know which drivers exist.

mod admission;
mod cell;
mod connector;
mod error;
mod listing;
mod snapshot;

pub use admission::{AdmissionError, admit};
pub use cell::{Cell, ColumnHeader};
pub use connector::{
    Caps, ConnectionCheck, Connector, Estimate, Flow, FunctionVerdict, QueryEnd, QueryResult,
    RoleCheck, RowSink, SchemaCheck, SchemaReport, SchemaState, Scope, collect,
};
pub use error::{ErrorKind, WarehouseError};
pub use listing::{ListedSchema, SchemaReading};
pub use snapshot::{
    Column, DimensionType, ForeignKey, ScanWarning, SchemaSnapshot, Table, TableKind,
};
