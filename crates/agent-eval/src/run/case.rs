//! What a run asks, and what it needs from its caller.

use std::time::Duration;

use async_trait::async_trait;
use regex::Regex;
use serde_json::Value;

use crate::{
    Criteria, EqualityOptions, Expectation, ExpectedCall, ExtraColumns, LetterCase, NumericOptions,
    RagMeasure, RougeVariant, RowOrder, Table, ToolCall, ToolsMode, Usage,
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
    /// Texts that a judge takes as found.
    pub retrieved: Vec<String>,
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
        /// How far two numbers may differ, as a share of the larger one.
        relative_tolerance: f64,
        /// How far two numbers may differ.
        absolute_tolerance: f64,
        /// Whether further columns pass.
        extra_columns: ExtraColumns,
        /// Whether the reference may have no rows.
        allow_empty: bool,
        /// Whether the order counts; the reference decides when absent.
        order: Option<RowOrder>,
    },
    /// The expected calls were made; as the case says when there is no mode.
    Tools(Option<ToolsMode>),
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The session.
    pub session: Option<String>,
    /// One for each turn that was answered.
    pub turns: Vec<TurnRecord>,
    /// Of all turns.
    pub usage: Usage,
    /// How it ended.
    pub end: End,
}

/// How a conversation ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// With an answer to each turn.
    #[default]
    Answered,
    /// The steps were used up.
    OutOfSteps,
}

/// What the agent did in one turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnRecord {
    /// The text.
    pub answer: String,
    /// The structured answer; absent when the agent has no schema.
    pub structured: Option<Value>,
    /// All calls, in order.
    pub calls: Vec<ToolCall>,
    /// The rows of the last query that succeeded.
    pub rows: Option<Table>,
}

/// Asks the agent.
#[async_trait]
pub trait AgentRunner: Send + Sync {
    /// Asks the turns of `case` in one fresh session, with the tools of `arm`.
    ///
    /// # Errors
    /// What kept the agent from answering: it is never a wrong answer.
    async fn ask(&self, case: &Case, arm: &str, repeat: u32) -> Result<Conversation, AskError>;
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AskError {
    /// What failed.
    pub message: String,
    /// What it cost all the same.
    pub usage: Usage,
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
