//! SQL trees: the grammar, texts of each dialect, small builders. Knows no semantic source.

pub(crate) mod build;
pub(crate) mod clickhouse_types;
pub mod deep;
pub(crate) mod escapes;
pub mod expression;
pub(crate) mod grammar;
pub(crate) mod logic;
pub mod sql_text;
