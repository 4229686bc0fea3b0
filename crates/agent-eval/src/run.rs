//! Runs cases: asks, grades, keeps a journal.

mod case;
mod grading;
mod journal;
mod metric;
mod recorded;
mod runner;

pub use case::{
    AgentRunner, AskEffect, AskError, AttemptRequest, Case, CaseTurn, Conversation, End,
    Evaluation, Gold, GoldRows, Limits, Metric, Oracle, OracleError, Truth, TurnRecord,
};
pub use journal::{JournalEntry, JournalError, RecordedRun, RunJournal};
pub use recorded::RecordedAnswers;
pub use runner::{Plan, Ports, RunOutcome, run};
