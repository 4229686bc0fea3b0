//! The static read-only gate: which SQL may reach a warehouse.
//!
//! A text passes if it is one query of its dialect and every part is known to only read: no writing
//! node at any depth, no lock, no variable, no file, stage or remote table, and no function outside
//! the dialect's list. The gate prints an allowed text from the parsed tree; parsing the printed
//! text again must give the same tree.
//!
//! This crate must not know connectors, the semantic layer, or who sends a statement.

mod functions;
mod gate;
mod grammar;
mod lexis;
mod limit;
mod literals;
mod names;
mod order;
mod parameters;
mod patches;
mod refusal;
mod restriction;
mod rules;
mod tables;
mod tidy;
mod user_functions;
pub mod wire;

pub use gate::{MAX_BYTES, ReadOnlySql, check, check_allowing, lists_function};
pub use order::SortKey;
pub use parameters::{ParameterValue, Truth, parameter_names, with_values};
pub use refusal::Refusal;
pub use restriction::{ReadableColumn, ReadableTable, Restriction, keeps_filters_apart};
pub use user_functions::{AllowedFunctions, FunctionName};
