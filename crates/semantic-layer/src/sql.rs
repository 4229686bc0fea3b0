//! SQL trees. Knows no semantic source.

pub(crate) mod build;
pub mod expression;
pub(crate) mod operators;
pub mod sql_text;
