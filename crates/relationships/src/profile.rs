//! Table statistics from samples.

pub mod column;
pub mod shape;
pub mod sketch;
mod spelling;
pub mod table;
pub mod value;

pub use column::ColumnProfile;
pub use table::{Extent, TableProfile};

#[cfg(test)]
mod tests;
