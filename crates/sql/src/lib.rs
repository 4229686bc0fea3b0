//! SQL as text and trees. This crate must not know warehouses, the semantic layer, or what a
//! statement may do.

pub mod clickhouse_types;
pub mod deep;
mod dialect;
pub mod escapes;
pub mod grammar;
pub mod pipes;
mod walk;

pub use dialect::Dialect;
pub use walk::{Tree, visit, visit_expressions, visit_mut, visit_relations};
