//! The program as its users see it: commands in, exit code, stdout and stderr out.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a helper that fails fails its test"
)]
#![expect(clippy::too_many_lines, reason = "whole outputs stand in the tests")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests make files, start programs and look at the machine"
)]

mod admin;
mod audit;
mod bad_input;
mod claude;
mod compat;
mod conformance;
mod connection;
mod connection_edit;
mod demo;
mod generated;
mod kill;
mod mcp;
mod scan;
mod scan_review;
mod sl;
mod sl_query;
mod sql;
mod status;
mod support;
mod wiki;
