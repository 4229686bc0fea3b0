//! Runs cases: asks, grades, keeps a journal.

mod case;
mod grading;
mod journal;
mod metric;
mod runner;

pub use case::{
    AgentRunner, AskError, Case, CaseTurn, Conversation, End, Evaluation, Gold, GoldRows, Limits,
    Metric, Oracle, OracleError, Truth, TurnRecord,
};
pub use journal::{JournalError, Resumed, RunJournal};
pub use runner::{Plan, Ports, run};
