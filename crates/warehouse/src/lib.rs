//! The connector contract, schema snapshots and the read-only gate.
//!
//! This crate contains what every warehouse shares: the connector trait with its answers, and the gate that decides which SQL may reach a warehouse. This
//! crate must not know which drivers exist.

mod admission;
mod cell;
mod connector;
mod error;
pub mod gate;
mod listing;
mod snapshot;
mod user_functions;

pub use admission::{AdmissionError, admit};
pub use cell::{Cell, ColumnHeader};
pub use connector::{
    Caps, ConnectionCheck, Connector, Estimate, Flow, QueryEnd, QueryResult, RoleCheck, RowSink,
    SchemaCheck, SchemaReport, SchemaState, Scope, collect,
};
pub use error::{ErrorKind, WarehouseError};
pub use gate::{ReadOnlySql, Refusal};
pub use listing::{ListedSchema, SchemaReading};
pub use snapshot::{
    Column, DimensionType, ForeignKey, ScanWarning, SchemaSnapshot, Table, TableKind,
};
pub use user_functions::{AllowedFunctions, FunctionName, FunctionVerdict};
