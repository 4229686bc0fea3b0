//! Finds links in past queries: the columns that they compare for equality.
//!
//! Only tables and columns (by position) and the number of runs are kept of a query.

mod catalog;
mod equalities;
mod read;
mod scope;
pub(crate) mod usage;

pub(crate) use catalog::Catalog;
pub(crate) use read::read;

#[cfg(test)]
mod tests;
