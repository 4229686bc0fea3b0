//! Finds links in past queries: the columns that they compare for equality. Keeps no texts.

mod catalog;
mod equalities;
mod read;
mod scope;
pub(crate) mod usage;

pub(crate) use catalog::Catalog;
pub(crate) use read::read;

#[cfg(test)]
mod tests;
