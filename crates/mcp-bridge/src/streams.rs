//! HTTP sessions whose answers a client reads on after its connection was cut.
//!
//! Each request has a log of the events of its answer. A connection only reads the log, so a slow
//! client holds nothing up, and another connection can read on after any event.

mod log;
mod manager;
mod routes;

pub(crate) use manager::{SessionTable, reads_on};
