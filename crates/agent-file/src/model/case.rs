//! Cases: questions with reference answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArgumentMatcher, MetricEntry};

/// The cases of an agent, with the file's `defaults` applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseFile {
    #[serde(default)]
    pub arms: Vec<Arm>,
    /// In file order, with unique names.
    pub cases: Vec<Case>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    pub name: String,
    /// Default: the agent's tools.
    pub tools: Option<Vec<String>>,
    /// Parts of the layer that this arm hides: `wiki`, `semantic`, `descriptions`, `joins`,
    /// `dictionary`.
    pub without: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Default: `case-N`.
    pub name: String,
    pub tags: Vec<String>,
    pub owner: Option<String>,
    pub skip: Option<String>,
    pub turns: Vec<Turn>,
    pub expected_tools_mode: ExpectedToolsMode,
    pub forbidden_tools: Vec<String>,
    /// The date that the agent treats as today: `YYYY-MM-DD`.
    pub as_of: Option<String>,
    pub limits: Option<CaseLimits>,
    /// Number of runs, from 1 to 100.
    pub repeats: u32,
    /// Maximum seconds of a run; default: `execution.llm_timeout`.
    pub timeout_s: Option<u64>,
    pub expected_sources: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub input: String,
    /// Accepted answers: any of these; empty: every answer.
    pub ground_truth: Vec<GroundTruth>,
    pub expected_tools: Vec<ExpectedTool>,
    /// Default: the agent's metrics, else those implied by the ground truth.
    pub evaluations: Option<Vec<MetricEntry>>,
    pub files: Vec<CaseInput>,
    /// Retrieved texts for metrics; default: the results of the calls.
    pub retrieval_context: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GroundTruth {
    Text {
        text: String,
    },
    Sql {
        sql: String,
        connection: Option<String>,
    },
    Semantic {
        semantic: Value,
        connection: Option<String>,
    },
    Rows {
        rows: Vec<Vec<Value>>,
        columns: Option<Vec<String>>,
    },
    Value {
        value: f64,
    },
    /// The agent must decline to answer.
    Refusal,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedTool {
    /// Tool name with `*` for any characters.
    pub name: String,
    /// Arguments without an entry can be anything.
    pub args: BTreeMap<String, ArgumentMatcher>,
    /// Minimum number of calls, at least 1.
    pub count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedToolsMode {
    /// Other calls are allowed.
    Subset,
    Exact,
    /// In this order, with other calls between.
    Ordered,
}

/// Limits of a case. `None`: unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CaseLimits {
    pub max_turns: Option<u32>,
    /// US dollars at list prices.
    pub max_usd: Option<f64>,
    /// Tokens, input and output.
    pub max_tokens: Option<u64>,
    /// Wall time.
    pub max_seconds: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseInput {
    /// Relative to the project.
    pub path: PathBuf,
    /// `text`, `csv` or `image`; default: by file name.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub description: Option<String>,
}
