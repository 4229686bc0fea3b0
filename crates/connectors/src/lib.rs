//! Connectors: one module per warehouse driver, implementing the contract of `ktx-warehouse`.
//!
//! [`open`] turns one entry of `connections:` into a connector. Opening is cheap: it resolves
//! secret references and checks the settings, and the first operation connects to the warehouse.
//! The server keeps every session read-only, whatever the login may do.
//!
//! This crate must not know why a query is run: it contains no scan, no semantic layer and no tool.

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
