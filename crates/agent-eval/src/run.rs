//! Runs cases: asks, grades, keeps a journal.

mod case;
mod grading;
mod journal;
mod metric;
mod recorded;
mod runner;

pub use case::{
    AgentRunner, AskEffect, AskError, AttemptRequest, Case, CaseTurn, Conversation, Evaluation,
    Gold, GoldRows, Limits, Metric, Oracle, OracleError, Truth, TurnEnd, TurnRecord,
};
pub use journal::{JournalEntry, JournalError, RecordedRun, RunJournal};
pub use recorded::RecordedAnswers;
pub use runner::{EvaluationPlan, EvaluationPorts, RunOutcome, run};
