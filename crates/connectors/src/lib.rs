//! Warehouse connectors, which implement the contract of `ktx-warehouse`.
//!
//! [`open`] resolves references and checks settings; the first operation connects. The server keeps
//! every session read-only, regardless of the login's rights.
//!
//! This crate must not know why a query runs: no scan, no semantic layer, no tools.

mod assembly;
mod bigquery;
mod clickhouse;
mod clock;
mod document;
mod duckdb;
mod file;
mod history;
mod jwt;
mod limits;
mod mysql;
mod orders;
mod postgres;
mod registry;
mod rest;
mod rows;
mod session;
mod settings;
mod snowflake;
mod sqlite;
mod sqlserver;
mod statement;
mod stop;
#[cfg(test)]
mod tests;
mod tls;
mod url;

pub use orders::settle;
pub use registry::{SchemaWords, dialect, look_at_file, open, schema_words, scope, supported};
