//! Validation, self-tests and the conformance protocol.

pub mod conformance;
pub(crate) mod selftest;
pub(crate) mod validate;
