//! Connectors: one module per warehouse driver, behind the contract of `ktx-warehouse`.
//!
//! [`open`] turns one entry of `connections:` into a connector. Opening is cheap: references to
//! secrets are resolved and the settings checked; the warehouse itself is reached by the first
//! operation. Every session is read-only by the means of its server, whatever the login may do.
//! This crate must never know what is asked for: no scan, no semantic layer, no tool lives here.

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
mod settings;
mod snowflake;
mod sqlite;
mod sqlserver;
mod stop;
#[cfg(test)]
mod tests;
mod tls;
mod url;

pub use orders::settle;
pub use registry::{SchemaWords, dialect, look_at_file, open, schema_words, scope, supported};
