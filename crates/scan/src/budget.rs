//! The budget of a scan and its use of the warehouse.

use std::time::Duration;

use ktx_warehouse::WarehouseError;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    pub statements: Option<usize>,
    /// From the first statement that reads values.
    pub time: Option<Duration>,
    /// Billed bytes if the warehouse estimates them; otherwise bytes received.
    pub bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    Statements(usize),
    Time(Duration),
    Bytes(u64),
    Lost(WarehouseError),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub statements: usize,
    pub bytes: u64,
}
