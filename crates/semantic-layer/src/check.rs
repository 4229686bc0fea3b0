//! Checks of whole catalogs: validation, and the conformance protocol.

pub mod conformance;
pub(crate) mod validate;
