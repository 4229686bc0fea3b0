//! Grades, failure classes and evaluation errors.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    WrongValue,
    WrongRows,
    NoRows,
    /// Every different number is the reference times one whole factor.
    FanOut,
    WrongOrder,
    WrongTool,
    ForbiddenTool,
    NotFound,
    /// No value was given.
    Refused,
    AnsweredInsteadOfRefusing,
    OverLimit,
    MaxTurns,
}

impl FailureClass {
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

    /// True for answers, right or wrong.
    pub const fn is_answered(self) -> bool {
        !matches!(
            self,
            Self::NoRows | Self::Refused | Self::OverLimit | Self::MaxTurns
        )
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Grade {
    /// From 0 to 1.
    pub score: f64,
    /// `None` if the answer passes, or only similarity is measured.
    pub failure: Option<FailureClass>,
    pub reason: Option<String>,
    pub details: Map<String, Value>,
}

impl Grade {
    pub fn full() -> Self {
        Self::similarity(1.0)
    }

    pub fn similarity(score: f64) -> Self {
        Self {
            score,
            failure: None,
            reason: None,
            details: Map::new(),
        }
    }

    pub fn failed(class: FailureClass, reason: impl Into<String>) -> Self {
        Self {
            failure: Some(class),
            reason: Some(reason.into()),
            ..Self::similarity(0.0)
        }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    #[error("the answer names different numbers: {}", listed(.0))]
    AmbiguousNumber(Vec<f64>),
    #[error("the reference is not a finite number")]
    ReferenceNotFinite,
    #[error("the rows of the agent are truncated")]
    Truncated,
    #[error("the rows of the reference are truncated")]
    TruncatedReference,
    #[error("the reference has no rows")]
    EmptyReference,
    #[error("no match of the columns was found in {0} tries")]
    AmbiguousColumns(usize),
    #[error("row {row} has {cells} cells; the table has {columns} columns")]
    Ragged {
        row: usize,
        cells: usize,
        columns: usize,
    },
    #[error("{0} were not measured")]
    NotMeasured(&'static str),
    #[error("the judge failed: {0}")]
    Judge(String),
    #[error("{0}")]
    Missing(String),
    #[error("the reference failed: {0}")]
    Oracle(String),
}

impl EvaluationError {
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
