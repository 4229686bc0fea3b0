//! The evaluator of query results.

mod coding;
mod columns;
mod compare;
mod fan_out;
mod numeral;
mod pairing;
mod table;

pub use compare::{ExtraColumns, RowOrder, SqlResultOptions, sql_result};
pub use numeral::{Tolerance, WholeNumbers};
pub use table::{Cell, Extent, Table};
