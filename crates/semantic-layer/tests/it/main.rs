//! Integration tests: the contract's cases, every dialect read back, broken files, and an
//! independent oracle.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "test helpers fail the test"
)]

mod cases;
mod clickhouse;
mod containers;
mod dialects;
mod fields;
mod files;
mod filtered_aggregates;
mod fixtures;
mod forms;
mod hostile;
mod indexed;
mod literate;
mod missing_sides;
mod notes;
mod odd_names;
mod operators;
mod oracle;
mod overlays;
mod paths;
mod plans;
mod read_back;
mod refusals;
mod roles;
mod self_checks;
mod shapes;
mod sqlite;
mod times;
mod trust;
mod unproven;
mod validation;
mod warehouse_words;
