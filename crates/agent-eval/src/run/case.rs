//! What a run asks, and what it needs from its caller.

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

/// A case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, which no other case has.
    pub name: String,
    /// Why it is not asked.
    pub skip: Option<String>,
    /// One or more questions in one session.
    pub turns: Vec<CaseTurn>,
    /// How calls are compared.
    pub tools_mode: ToolsMode,
    /// Tools that must not be called; `*` stands for any characters.
    pub forbidden_tools: Vec<String>,
    /// The most that passes.
    pub limits: Limits,
    /// How often it is asked.
    pub repeats: u32,
    /// How long one attempt may take.
    pub timeout: Duration,
}

impl Case {
    /// Whether the data hold the answers: a refusal is expected when each turn has that truth alone.
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
    /// Whether any answer can be wrong: something compares it, and does not only inform.
    pub fn can_fail(&self) -> bool {
        let limits = self.limits != Limits::default();
        limits || !self.forbidden_tools.is_empty() || self.turns.iter().any(CaseTurn::can_fail)
    }
}

impl CaseTurn {
    fn can_fail(&self) -> bool {
        let decides = |it: &Evaluation| it.threshold.is_some() || !it.metric.only_informs();
        let is_compared = if self.evaluations.is_empty() {
            !self.truths.is_empty()
        } else {
            self.evaluations.iter().any(decides)
        };
        is_compared || !self.expected_tools.is_empty()
    }
}

/// One question.
#[derive(Debug, Clone)]
pub struct CaseTurn {
    /// The question.
    pub input: String,
    /// Any of these is right.
    pub truths: Vec<Truth>,
    /// Calls that the agent must make.
    pub expected_tools: Vec<ExpectedCall>,
    /// How the answer is judged; when empty, as follows from the kind of each truth.
    pub evaluations: Vec<Evaluation>,
    /// Background that the case gives.
    pub context: Vec<String>,
    /// Texts that a judge takes as found; what the calls have found when absent.
    pub retrieved: Option<Vec<String>>,
}

/// A right answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// A text.
    Text(String),
    /// A number.
    Value(f64),
    /// These rows.
    Rows(Table),
    /// The rows of a query.
    Gold(Gold),
    /// That the data do not hold the answer.
    Refusal,
}

/// A query whose rows are right.
#[derive(Debug, Clone, PartialEq)]
pub enum Gold {
    /// SQL.
    Sql {
        /// The statement.
        sql: String,
        /// Where it runs; the only connection when absent.
        connection: Option<String>,
    },
    /// A semantic query.
    Semantic {
        /// The query.
        query: Value,
        /// Where it runs; the only connection when absent.
        connection: Option<String>,
        /// The day that relative dates count from; the day of the run when absent.
        as_of: Option<String>,
    },
}

/// The most that passes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Messages of the model.
    pub max_steps: Option<f64>,
    /// US dollars.
    pub max_usd: Option<f64>,
    /// Input and output.
    pub max_tokens: Option<f64>,
    /// Wall clock.
    pub max_seconds: Option<f64>,
}

/// An evaluator of a case.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// What is computed.
    pub metric: Metric,
    /// The name in reports; the metric's when absent.
    pub name: Option<String>,
    /// The lowest score that passes; the metric's own rule when absent.
    pub threshold: Option<f64>,
    /// A path with dots into the structured answer, which is judged in place of the text.
    pub response_path: Option<String>,
    /// The model that judges, under the name that the caller's judge knows; its usual one when absent.
    pub judge: Option<String>,
}

/// A metric with its parameters.
#[derive(Debug, Clone)]
pub enum Metric {
    /// The answer is the text.
    Equality(EqualityOptions),
    /// The answer contains one of the texts; the truths when there are none.
    Contains(Vec<String>, LetterCase),
    /// The answer contains none of the texts; of the truths when there are none.
    NotContains(Vec<String>, LetterCase),
    /// The pattern matches somewhere.
    Pattern(Regex),
    /// The number is right.
    Numeric(NumericOptions),
    /// The rows are right.
    SqlResult {
        /// How far two numbers may differ.
        tolerance: Tolerance,
        /// Whether further columns pass.
        extra_columns: ExtraColumns,
        /// Whether the reference may have no rows.
        allow_empty: bool,
        /// Whether the order counts; the reference decides when absent.
        order: Option<RowOrder>,
    },
    /// The expected calls were made; as the case says when there is no mode.
    Tools(Option<ToolsMode>),
    /// Each of these names is among the found ones.
    Sources(Vec<String>),
    /// The agent refused, or did not, as the truth says.
    Refusal,
    /// At most these dollars.
    Cost(f64),
    /// At most these tokens.
    Tokens(f64),
    /// At most these seconds.
    Seconds(f64),
    /// At most these steps.
    Steps(f64),
    /// Shared tokens.
    F1Score,
    /// BLEU.
    Bleu,
    /// ROUGE.
    Rouge(RougeVariant),
    /// METEOR.
    Meteor,
    /// Criteria in words.
    Geval(Criteria),
    /// The found texts.
    Rag(RagMeasure),
}

/// What the agent did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The session.
    pub session: Option<String>,
    /// One for each turn that was answered.
    pub turns: Vec<TurnRecord>,
    /// Of all turns.
    pub usage: Usage,
    /// How it ended.
    pub end: End,
    /// Wall clock of all turns.
    pub seconds: f64,
}

/// How a conversation ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// With an answer to each turn.
    #[default]
    Answered,
    /// The steps were used up.
    OutOfSteps,
}

/// What the agent did in one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The text.
    pub answer: String,
    /// The structured answer; absent when the agent has no schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// All calls, in order.
    pub calls: Vec<ToolCall>,
    /// What the calls have found, as the model saw it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
    /// The rows of the last query that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Table>,
}

/// Asks the agent.
#[async_trait]
pub trait AgentRunner: Send + Sync {
    /// Asks the turns of a case in one fresh session, with the tools of an arm. When the token of the attempt is
    /// cancelled, it ends soon, with what it has cost.
    ///
    /// # Errors
    /// What kept the agent from answering: it is never a wrong answer.
    async fn ask(&self, attempt: AttemptRequest<'_>) -> Result<Conversation, AskError>;
}

/// One attempt that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct AttemptRequest<'a> {
    /// The case.
    pub case: &'a Case,
    /// The arm.
    pub arm: &'a str,
    /// From 1.
    pub repeat: u32,
    /// Ends the attempt.
    pub stop: &'a CancellationToken,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AskError {
    /// What failed.
    pub message: String,
    /// What that means for the run.
    pub effect: AskEffect,
    /// What it cost all the same.
    pub usage: Usage,
}

/// What a failed attempt means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskEffect {
    /// Another try may succeed.
    Retry,
    /// Another try would fail alike.
    Lasting,
    /// The budget is used up: the run ends.
    Budget,
    /// Someone has stopped the run: it ends.
    Cancelled,
    /// No attempt can succeed, such as without a login: the run ends.
    Unusable,
}

impl AskEffect {
    /// Whether the run ends.
    pub const fn ends_run(self) -> bool {
        matches!(self, Self::Budget | Self::Cancelled | Self::Unusable)
    }
}

/// Runs the queries of truths.
#[async_trait]
pub trait Oracle: Send + Sync {
    /// The rows of `gold`, and the order that its query asks for.
    ///
    /// # Errors
    /// What kept the query from running.
    async fn rows(&self, gold: &Gold) -> Result<GoldRows, OracleError>;
}

/// The rows of a truth.
#[derive(Debug, Clone, PartialEq)]
pub struct GoldRows {
    /// The rows.
    pub table: Table,
    /// The order of the query.
    pub order: RowOrder,
}

/// Why a query of a truth did not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OracleError(pub String);
