//! Names of tables and columns, and word lists.

pub(crate) mod entity;
pub(crate) mod lexicon;
pub(crate) mod modules;
pub(crate) mod prefix;
pub mod words;

#[cfg(test)]
mod tests;
