//! Scans real SQLite databases end to end.
#![expect(clippy::expect_used, reason = "test helpers fail the test")]
#![expect(clippy::panic, reason = "test helpers fail the test")]

mod budgets;
mod clones;
mod described;
mod describing;
mod faulty;
mod hand_written;
mod histories;
mod incremental;
mod memory;
mod odd;
mod operators;
mod quality;
mod rescans;
mod rivals;
mod sampled;
mod scans;
mod snapshots;
mod sqlite;
mod stated;
