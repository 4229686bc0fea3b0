//! Names of tables and columns: their words, the entities they name, and word lists in several
//! languages.

pub(crate) mod entity;
pub(crate) mod lexicon;
pub(crate) mod modules;
pub(crate) mod prefix;
pub mod words;

#[cfg(test)]
mod tests;
