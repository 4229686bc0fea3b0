//! The static read-only gate: which SQL can reach a warehouse.
//!
//! A text passes if it is one query and every part only reads. The gate prints it from the parsed
//! tree. This crate must not depend on connectors or the semantic layer.

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
