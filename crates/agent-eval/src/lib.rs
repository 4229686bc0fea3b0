//! Grades what an agent answered. Evaluators, statistics and reports are functions of their arguments; `run` asks the
//! agent through a trait and keeps a journal.
//!
//! A grade is a score from 0 to 1. What could not be graded (a judge that failed, a reference without rows, two
//! different numbers where one was asked for) is an error and never a score.
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
mod statistics;
mod text;
mod tools;

pub use grade::{EvaluationError, FailureClass, Grade};
pub use judge::{
    Criteria, Expectation, Judge, JudgeError, JudgedPart, Material, Question, RagMeasure,
    judge_context, judge_criteria, judge_refusal,
};
pub use limits::{Measure, grade_measure};
pub use report::{
    AblationArm, AblationReport, AgentInfo, ArmReport, Attempt, CaseKey, CaseReport, Changes,
    Header, LayerInfo, MetricResult, PlannedCase, Report, Totals, Usage, Verdict, changes, html,
    junit, markdown, report,
};
pub use rows::{Cell, Extent, ExtraColumns, RowOrder, SqlResultOptions, Table, sql_result};
pub use run::{
    AgentRunner, AskError, Case, CaseTurn, Conversation, End, Evaluation, Gold, GoldRows,
    JournalError, Limits, Metric, Oracle, OracleError, Plan, Ports, Resumed, RunJournal, Truth,
    TurnRecord, run,
};
pub use statistics::{
    AblationResult, AblationVerdict, Accuracy, Interval, Pair, Side, Tally, accuracy, bootstrap,
    compare_arms, mcnemar, wilson,
};
pub use text::{
    DecimalSign, EqualityOptions, LetterCase, NumberPick, NumericOptions, RougeVariant,
    answer_line, bleu, contains_any, contains_none, equals, f1_score, matches, meteor, numeric,
    rouge, stem, tokens,
};
pub use tools::{ArgumentMatcher, ExpectedCall, ToolCall, ToolsMode, WholeText, grade_tools};

#[cfg(test)]
mod tests;
