//! Cases, and what a run needs from its caller.

use std::time::Duration;

use async_trait::async_trait;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Criteria, EqualityOptions, Expectation, ExpectedCall, ExtraColumns, LetterCase, NumericOptions,
    RagMeasure, RougeVariant, RowOrder, Table, Tolerance, ToolCall, ToolsMode, Usage,
};

#[derive(Debug, Clone)]
pub struct Case {
    /// Unique.
    pub name: String,
    pub skip: Option<String>,
    pub turns: Vec<CaseTurn>,
    pub tools_mode: ToolsMode,
    /// `*` matches any characters.
    pub forbidden_tools: Vec<String>,
    pub limits: Limits,
    pub repeats: u32,
    pub timeout: Duration,
}

impl Case {
    /// A refusal is expected if it is the only truth of each turn.
    pub fn expectation(&self) -> Expectation {
        let is_refusal = |turn: &CaseTurn| matches!(turn.truths.as_slice(), [Truth::Refusal]);
        if !self.turns.is_empty() && self.turns.iter().all(is_refusal) {
            Expectation::Refusal
        } else {
            Expectation::Answer
        }
    }
}

impl Case {
    /// True if something compares the answer.
    pub fn can_fail(&self) -> bool {
        let limits = self.limits != Limits::default();
        limits || !self.forbidden_tools.is_empty() || self.turns.iter().any(CaseTurn::can_fail)
    }
}

impl CaseTurn {
    fn can_fail(&self) -> bool {
        let decides = |it: &Evaluation| it.threshold.is_some() || !it.metric.needs_threshold();
        let is_compared = if self.evaluations.is_empty() {
            !self.truths.is_empty()
        } else {
            self.evaluations.iter().any(decides)
        };
        is_compared || !self.expected_tools.is_empty()
    }
}

#[derive(Debug, Clone)]
pub struct CaseTurn {
    pub input: String,
    /// Any one is right.
    pub truths: Vec<Truth>,
    pub expected_tools: Vec<ExpectedCall>,
    /// If empty, inferred from the truths.
    pub evaluations: Vec<Evaluation>,
    pub context: Vec<String>,
    /// For judges; by default the results of calls.
    pub retrieved: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    Text(String),
    Value(f64),
    Rows(Table),
    Gold(Gold),
    /// Not in the data.
    Refusal,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Gold {
    Sql {
        sql: String,
        /// By default the only connection.
        connection: Option<String>,
    },
    Semantic {
        query: Value,
        /// By default the only connection.
        connection: Option<String>,
        /// For relative dates; by default the day of the run.
        as_of: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Messages of the model.
    pub max_steps: Option<f64>,
    pub max_usd: Option<f64>,
    /// Input and output.
    pub max_tokens: Option<f64>,
    /// Wall clock.
    pub max_seconds: Option<f64>,
}

#[derive(Debug, Clone)]
pub struct Evaluation {
    pub metric: Metric,
    /// By default the metric's.
    pub name: Option<String>,
    /// By default the metric's own rule.
    pub threshold: Option<f64>,
    /// Dotted path into the structured answer, judged instead of the text.
    pub response_path: Option<String>,
    /// Name of a model; by default the judge's usual one.
    pub judge: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Metric {
    Equality(EqualityOptions),
    /// One of the texts; by default the truths.
    Contains(Vec<String>, LetterCase),
    /// None of the texts; by default of the truths.
    NotContains(Vec<String>, LetterCase),
    Pattern(Regex),
    Numeric(NumericOptions),
    SqlResult {
        tolerance: Tolerance,
        extra_columns: ExtraColumns,
        allow_empty: bool,
        /// By default the reference's.
        order: Option<RowOrder>,
    },
    /// By default as in the case.
    Tools(Option<ToolsMode>),
    /// All names were found.
    Sources(Vec<String>),
    Refusal,
    Cost(f64),
    Tokens(f64),
    Seconds(f64),
    Steps(f64),
    F1Score,
    Bleu,
    Rouge(RougeVariant),
    Meteor,
    Geval(Criteria),
    Rag(RagMeasure),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub session: Option<String>,
    /// One per answered turn.
    pub turns: Vec<TurnRecord>,
    pub usage: Usage,
    pub end: TurnEnd,
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    #[default]
    Answered,
    OutOfSteps,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    pub answer: String,
    /// Set if the agent has a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// In order.
    pub calls: Vec<ToolCall>,
    /// Results of the calls, as the model saw them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
    /// Rows of the last successful query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Table>,
}

#[async_trait]
pub trait AgentRunner: Send + Sync {
    /// Asks a case's turns in one new session, with the tools of an arm. A cancelled attempt ends
    /// soon and reports its cost. An error is never a wrong answer.
    async fn ask(&self, attempt: AttemptRequest<'_>) -> Result<Conversation, AskError>;
}

#[derive(Debug, Clone, Copy)]
pub struct AttemptRequest<'a> {
    pub case: &'a Case,
    pub arm: &'a str,
    pub repeat: u32,
    pub stop: &'a CancellationToken,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AskError {
    pub message: String,
    pub effect: AskEffect,
    /// What the failed attempt used.
    pub usage: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskEffect {
    /// Another try may succeed.
    Retry,
    Lasting,
    Budget,
    /// The user stopped the run.
    Cancelled,
    /// No attempt can succeed, for example without a login.
    Unusable,
}

impl AskEffect {
    pub const fn ends_run(self) -> bool {
        matches!(self, Self::Budget | Self::Cancelled | Self::Unusable)
    }
}

#[async_trait]
pub trait Oracle: Send + Sync {
    /// Returns the rows of `gold` and their order.
    async fn rows(&self, gold: &Gold) -> Result<GoldRows, OracleError>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct GoldRows {
    pub table: Table,
    pub order: RowOrder,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OracleError(pub String);
