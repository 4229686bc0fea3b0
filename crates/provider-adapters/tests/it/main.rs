//! The HTTP runtime against loopback servers that check every request.
#![expect(
    clippy::expect_used,
    reason = "test helpers fail the test with the reason"
)]

mod agent;
mod bad_input;
mod bill;
mod bounds;
mod caching;
mod checkers;
mod cuts;
mod fake;
mod logs;
mod matrix;
mod object;
mod paying;
mod redaction;
mod retry;
mod run;
mod settings;
mod stored;
mod text;
mod transport;
mod vertex;
