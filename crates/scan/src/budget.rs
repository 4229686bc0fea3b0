//! The limits of a scan in the warehouse, and what it used.

use std::time::Duration;

use ktx_warehouse::WarehouseError;

/// Limits for one run in the warehouse. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Statements that read values.
    pub statements: Option<usize>,
    /// Time since the first statement that reads values.
    pub time: Option<Duration>,
    /// Bytes billed, if the warehouse estimates them in advance; otherwise bytes received.
    pub bytes: Option<u64>,
}

/// Why a scan stopped reading early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The statement limit.
    Statements(usize),
    /// The time limit.
    Time(Duration),
    /// The byte limit.
    Bytes(u64),
    /// The warehouse no longer responds.
    Lost(WarehouseError),
}

/// The usage of a warehouse in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Statements that read values.
    pub statements: usize,
    /// Bytes, counted as in [`Budget::bytes`].
    pub bytes: u64,
}
