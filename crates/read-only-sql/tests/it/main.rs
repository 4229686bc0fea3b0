//! Tests the gate on files of cases and on generated texts.
#![expect(clippy::expect_used, reason = "a broken case file fails the test")]

mod corpus;
mod fuzz_corpus;
mod properties;
mod sqlite;
