//! What an evaluator returns.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// A text or number other than the reference.
    WrongValue,
    /// Rows other than those of the reference.
    WrongRows,
    /// No query of the agent succeeded.
    NoRows,
    /// Every number that differs is the reference times one whole factor.
    FanOut,
    /// The rows of the reference in another order.
    WrongOrder,
    /// An expected call is missing, or a call was not expected.
    WrongTool,
    /// A call of a tool that the case forbids.
    ForbiddenTool,
    /// A search did not find what the case names.
    NotFound,
    /// The agent gave no value.
    Refused,
    /// The agent gave a value where it had to say what is missing.
    AnsweredInsteadOfRefusing,
    /// More dollars, tokens, seconds or steps than allowed.
    OverLimit,
    /// The agent used up its steps.
    MaxTurns,
}

impl FailureClass {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WrongValue => "wrong_value",
            Self::WrongRows => "wrong_rows",
            Self::NoRows => "no_rows",
            Self::FanOut => "fan_out",
            Self::WrongOrder => "wrong_order",
            Self::WrongTool => "wrong_tool",
            Self::ForbiddenTool => "forbidden_tool",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::AnsweredInsteadOfRefusing => "answered_instead_of_refusing",
            Self::OverLimit => "over_limit",
            Self::MaxTurns => "max_turns",
        }
    }

    /// Whether the agent gave an answer, right or wrong.
    pub const fn is_answered(self) -> bool {
        !matches!(
            self,
            Self::NoRows | Self::Refused | Self::OverLimit | Self::MaxTurns
        )
    }
}

/// The score of one evaluator.
#[derive(Debug, Clone, PartialEq)]
pub struct Grade {
    /// From 0 to 1.
    pub score: f64,
    /// Why the evaluator does not pass the answer by its own rule; absent when it does, and for texts that are only
    /// similar to the reference.
    pub failure: Option<FailureClass>,
    /// What was compared, in one line; absent when the score says it all.
    pub reason: Option<String>,
    /// What else a report shows.
    pub details: Map<String, Value>,
}

impl Grade {
    /// The score 1.
    pub fn full() -> Self {
        Self::similarity(1.0)
    }

    /// A score without a rule of its own.
    pub fn similarity(score: f64) -> Self {
        Self {
            score,
            failure: None,
            reason: None,
            details: Map::new(),
        }
    }

    /// The score 0.
    pub fn failed(class: FailureClass, reason: impl Into<String>) -> Self {
        Self {
            failure: Some(class),
            reason: Some(reason.into()),
            ..Self::similarity(0.0)
        }
    }

    /// The grade with one more detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

/// Why an answer has no score.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    /// The answer names different numbers and no `Answer:` line.
    #[error("the answer names different numbers: {}", listed(.0))]
    AmbiguousNumber(Vec<f64>),
    /// A reference that cannot be compared.
    #[error("the reference is not a finite number")]
    ReferenceNotFinite,
    /// The rows of the agent end before those of its query.
    #[error("the rows of the agent are truncated")]
    Truncated,
    /// The rows of the reference end before those of its query.
    #[error("the rows of the reference are truncated")]
    TruncatedReference,
    /// The reference has no rows.
    #[error("the reference has no rows")]
    EmptyReference,
    /// The search for matching columns ended without a result.
    #[error("no match of the columns was found in {0} tries")]
    AmbiguousColumns(usize),
    /// A row of a table has too few or too many cells.
    #[error("row {row} has {cells} cells; the table has {columns} columns")]
    Ragged {
        /// From 1.
        row: usize,
        /// Cells of this row.
        cells: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// A limit on something that the backend does not measure.
    #[error("{0} were not measured")]
    NotMeasured(&'static str),
    /// The judge failed, or returned what it was not asked for.
    #[error("the judge failed: {0}")]
    Judge(String),
    /// The evaluator needs something that the case does not have.
    #[error("{0}")]
    Missing(String),
    /// The reference could not be fetched.
    #[error("the reference failed: {0}")]
    Oracle(String),
}

impl EvaluationError {
    /// The name in reports.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AmbiguousNumber(_) => "ambiguous",
            Self::ReferenceNotFinite => "reference_not_finite",
            Self::Truncated => "truncated",
            Self::TruncatedReference => "truncated_reference",
            Self::EmptyReference => "empty_reference",
            Self::AmbiguousColumns(_) => "ambiguous_columns",
            Self::Ragged { .. } => "ragged_rows",
            Self::NotMeasured(_) => "not_measured",
            Self::Judge(_) => "judge",
            Self::Missing(_) => "missing",
            Self::Oracle(_) => "oracle",
        }
    }
}

fn listed(numbers: &[f64]) -> String {
    let texts: Vec<String> = numbers.iter().map(f64::to_string).collect();
    texts.join(", ")
}
