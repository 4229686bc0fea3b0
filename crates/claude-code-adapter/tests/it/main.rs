//! The adapter against the fake `claude`, in one binary, so that it is linked once.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]
#![expect(clippy::panic, reason = "one of the tools of the tests breaks down")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests write scenarios and look at processes"
)]

mod answers;
mod billing;
mod breakdowns;
mod budgets;
mod deadlines;
mod endings;
mod isolation;
mod limits;
mod logs;
mod misbehaviour;
mod models;
mod probe;
mod processes;
mod real_claude;
mod recorded_runs;
mod runs;
mod spares;
mod support;
mod surfaces;
mod tools;
mod wrong_answers;
