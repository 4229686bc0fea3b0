//! Metrics with their parameters.

use serde::{Deserialize, Serialize};

use super::{ExpectedToolsMode, Model};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricEntry {
    /// Name in reports; default: the name of the metric.
    pub name: Option<String>,
    /// Minimum passing score, from 0 to 1; default: the metric's.
    pub threshold: Option<f64>,
    pub enabled: bool,
    /// Dotted path into the structured answer.
    pub response_path: Option<String>,
    /// The judge; default: `evaluations.model`.
    pub model: Option<Box<Model>>,
    #[serde(flatten)]
    pub metric: Metric,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "metric", rename_all = "snake_case")]
pub enum Metric {
    Equality {
        case_insensitive: bool,
        strip_whitespace: bool,
        strip_punctuation: bool,
    },
    /// The answer contains one of the texts; default: the ground truth.
    Contains {
        values: Option<Vec<String>>,
        case_insensitive: bool,
    },
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
        /// Without both tolerances, whole numbers must be equal.
        rel_tol: Option<f64>,
        abs_tol: Option<f64>,
        extra_columns: ExtraColumns,
        /// Compare the order of rows; default: depends on the reference.
        ordered: Option<bool>,
        allow_empty: bool,
    },
    Tools {
        /// Default: the case's `expected_tools_mode`.
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
        /// Odd.
        votes: u32,
    },
    Rag {
        metric_type: ContextMeasure,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberPick {
    /// The last line that starts with `Answer:`, else the only number.
    AnswerLine,
    First,
    Last,
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DecimalSign {
    #[serde(rename = ".")]
    Point,
    #[serde(rename = ",")]
    Comma,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtraColumns {
    Allow,
    Forbid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RougeVariant {
    #[serde(rename = "rouge1")]
    Words,
    #[serde(rename = "rouge2")]
    Pairs,
    #[serde(rename = "rougeL")]
    LongestSequence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedPart {
    Input,
    ActualOutput,
    ExpectedOutput,
    Context,
    RetrievalContext,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMeasure {
    Faithfulness,
    AnswerRelevancy,
    ContextualRelevancy,
    ContextualPrecision,
    ContextualRecall,
}
