//! SQL as text and trees: the dialects of the warehouses, how they quote, what they parse.
//!
//! This crate must not know warehouses, the semantic layer, or what a statement may do.

mod dialect;
pub mod grammar;

pub use dialect::Dialect;
