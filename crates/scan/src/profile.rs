//! Table statistics from samples: counts, extremes, frequent values, sketches, value lists.

pub(crate) mod column;
pub(crate) mod counts;
pub(crate) mod dictionary;
pub(crate) mod personal;
pub(crate) mod previous;
pub(crate) mod read;
pub(crate) mod sample;
pub(crate) mod shape;
pub(crate) mod sketch;
mod spelling;
pub(crate) mod table;
pub(crate) mod table_read;
pub(crate) mod value;
pub(crate) mod wire;

pub(crate) use column::ColumnProfile;
pub(crate) use table::{Extent, TableProfile};

#[cfg(test)]
mod tests;
