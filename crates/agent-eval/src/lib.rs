//! Grades the answers of agents. Evaluators, statistics and reports are pure functions; `run` asks
//! the agent and keeps a journal.
//!
//! A grade is a score from 0 to 1. A case that cannot be graded (a failing judge, a reference
//! without rows, an ambiguous number) is an error, never a score.
//!
//! This crate must never know backends, the terminal or warehouses.

mod count;
mod grade;
mod judge;
mod limits;
mod matching;
mod report;
mod rows;
mod run;
mod sources;
mod statistics;
mod text;
mod tools;

pub use grade::{EvaluationError, FailureClass, Grade};
pub use judge::{
    Criteria, Expectation, Judge, JudgeError, JudgeQuestion, JudgedMaterial, JudgedObject,
    JudgedPart, RagMeasure, judge_context, judge_criteria, judge_refusal,
};
pub use limits::{LimitMeasure, grade_measure};
pub use report::{
    AblationArm, AblationReport, AgentInfo, ArmReport, Attempt, CaseKey, CaseReport, Grid,
    LayerInfo, MetricResult, PlannedCase, Report, ReportHeader, RunChanges, Totals, Usage, Verdict,
    arm_grid, changes, html, junit, markdown, report, side_by_side, verdicts,
};
pub use rows::{
    Cell, Extent, ExtraColumns, RowOrder, SqlResultOptions, Table, Tolerance, WholeNumbers,
    sql_result,
};
pub use run::{
    AgentRunner, AskEffect, AskError, AttemptRequest, Case, CaseTurn, Conversation, Evaluation,
    EvaluationPlan, EvaluationPorts, Gold, GoldRows, JournalEntry, JournalError, Limits, Metric,
    Oracle, OracleError, RecordedAnswers, RecordedRun, RunJournal, RunOutcome, Truth, TurnEnd,
    TurnRecord, run,
};
pub use sources::grade_sources;
pub use statistics::{
    AblationResult, AblationVerdict, Accuracy, ArmPair, ArmResult, Interval, PassTally, accuracy,
    bootstrap, compare_arms, mcnemar, wilson,
};
pub use text::{
    DecimalSign, EqualityOptions, LetterCase, NumberPick, NumericOptions, RougeVariant,
    answer_line, bleu, contains_any, contains_none, equals, f1_score, matches, meteor, numeric,
    rouge, stem, tokens,
};
pub use tools::{ExpectedCall, ToolCall, ToolsMode, grade_tools};

#[cfg(test)]
mod tests;
