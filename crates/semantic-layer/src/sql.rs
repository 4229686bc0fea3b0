//! SQL trees: texts of each dialect, small builders. Knows no semantic source.

pub(crate) mod build;
pub(crate) mod clickhouse_types;
pub mod deep;
pub(crate) mod escapes;
pub mod expression;
pub(crate) mod logic;
pub(crate) mod operators;
pub mod sql_text;
