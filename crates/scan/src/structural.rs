//! The structure of a warehouse as files, one artifact per table, compared with the last scan.

pub(crate) mod artifact;
pub(crate) mod diff;
pub(crate) mod hash;
pub(crate) mod introspect;
pub(crate) mod sync;

#[cfg(test)]
mod tests;
