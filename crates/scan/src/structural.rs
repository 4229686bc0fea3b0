//! The structure of a warehouse as files.

pub(crate) mod artifact;
pub(crate) mod diff;
pub(crate) mod hash;
pub(crate) mod introspect;
pub(crate) mod sync;

#[cfg(test)]
mod tests;
