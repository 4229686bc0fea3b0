//! Connector tests on SQLite and on servers from `cargo xtask test`.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]

mod bigquery;
mod clickhouse;
mod duckdb;
mod generated;
mod live_clickhouse;
mod mysql;
mod postgres;
mod postgres_history;
mod redshift;
mod render;
mod snowflake;
mod sqlite;
mod sqlserver;
mod support;
mod tls;
