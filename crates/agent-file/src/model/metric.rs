//! Metrics with their parameters.

use serde::{Deserialize, Serialize};

use super::{ExpectedToolsMode, Model};

/// An entry of `metrics` or `evaluations`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricEntry {
    /// The name in reports; the metric's when absent.
    pub name: Option<String>,
    /// The lowest score that passes, from 0 to 1; the metric's own when absent.
    pub threshold: Option<f64>,
    /// Whether the metric is computed.
    pub enabled: bool,
    /// A path with dots into the structured answer.
    pub response_path: Option<String>,
    /// The model that judges; `evaluations.model` when absent.
    pub model: Option<Box<Model>>,
    /// The metric with its parameters.
    #[serde(flatten)]
    pub metric: Metric,
}

/// A metric with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "metric", rename_all = "snake_case")]
pub enum Metric {
    Equality {
        case_insensitive: bool,
        strip_whitespace: bool,
        strip_punctuation: bool,
    },
    /// The answer contains one of the texts; the ground truth when absent.
    Contains {
        values: Option<Vec<String>>,
        case_insensitive: bool,
    },
    /// The answer contains none of the texts.
    NotContains {
        values: Option<Vec<String>>,
        case_insensitive: bool,
    },
    Regex {
        pattern: String,
    },
    Numeric {
        pick: NumberPick,
        absolute_tolerance: f64,
        relative_tolerance: f64,
        accept_percent: bool,
        accept_thousands_separators: bool,
        decimal: DecimalSign,
    },
    SqlResult {
        /// Whole numbers are exact when both are absent.
        rel_tol: Option<f64>,
        abs_tol: Option<f64>,
        extra_columns: ExtraColumns,
        /// Whether the order of rows counts; the reference decides when absent.
        ordered: Option<bool>,
        allow_empty: bool,
    },
    Tools {
        /// `expected_tools_mode` of the case when absent.
        mode: Option<ExpectedToolsMode>,
    },
    Refusal,
    /// US dollars.
    Cost {
        max: f64,
    },
    Tokens {
        max: f64,
    },
    Seconds {
        max: f64,
    },
    Steps {
        max: f64,
    },
    F1Score,
    Bleu,
    Rouge {
        variant: RougeVariant,
    },
    Meteor,
    Geval {
        criteria: String,
        evaluation_steps: Option<Vec<String>>,
        evaluation_params: Vec<JudgedPart>,
        strict_mode: bool,
        /// An odd number.
        votes: u32,
    },
    Rag {
        metric_type: ContextMeasure,
    },
}

/// Which number of an answer is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberPick {
    /// The last line that begins with `Answer:`, else the only number.
    AnswerLine,
    First,
    Last,
    Any,
}

/// The sign before decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DecimalSign {
    #[serde(rename = ".")]
    Point,
    #[serde(rename = ",")]
    Comma,
}

/// Whether an answer may have more columns than the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtraColumns {
    Allow,
    Forbid,
}

/// What `rouge` compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RougeVariant {
    #[serde(rename = "rouge1")]
    Words,
    #[serde(rename = "rouge2")]
    Pairs,
    #[serde(rename = "rougeL")]
    LongestSequence,
}

/// What a judge sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedPart {
    Input,
    ActualOutput,
    ExpectedOutput,
    Context,
    RetrievalContext,
}

/// What `rag` measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMeasure {
    Faithfulness,
    AnswerRelevancy,
    ContextualRelevancy,
    ContextualPrecision,
    ContextualRecall,
}
