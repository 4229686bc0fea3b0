//! SQL as text and trees: the dialects of the warehouses, how they quote, what they parse.
//!
//! This crate must not know warehouses, the semantic layer, or what a statement may do.

pub mod clickhouse_types;
pub mod deep;
mod dialect;
pub mod escapes;
pub mod grammar;
pub mod pipes;

pub use dialect::Dialect;
