//! The evaluator of query results.

mod coding;
mod columns;
mod compare;
mod fan_out;
mod pairing;
mod table;

pub use compare::{ExtraColumns, RowOrder, SqlResultOptions, sql_result};
pub use table::{Cell, Extent, Table};
