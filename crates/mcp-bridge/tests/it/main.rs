//! The official client and raw JSON-RPC lines.
#![expect(clippy::expect_used, reason = "test helpers fail the test")]

mod session;
mod tools;
