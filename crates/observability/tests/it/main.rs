//! Operations of a runtime as the spans that a collector receives.
#![expect(
    clippy::expect_used,
    reason = "test helpers fail the test with the reason"
)]

mod recorded;
mod spans;
