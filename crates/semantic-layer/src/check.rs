//! Checks of whole catalogs: validation, self-tests of their claims, and the conformance protocol.

pub mod conformance;
pub(crate) mod selftest;
pub(crate) mod validate;
