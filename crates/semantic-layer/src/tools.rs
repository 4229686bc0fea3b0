//! What people do with sources: compare, draw, format, exchange, probe and test them.

pub(crate) mod diff;
pub(crate) mod drawing;
pub(crate) mod format;
pub(crate) mod interchange;
pub(crate) mod probes;
pub(crate) mod selftest;
