//! Cases: questions with what is right.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArgumentMatcher, MetricEntry};

/// The cases of an agent. `defaults` of the file are applied to each case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseFile {
    /// The variants of the agent that the file declares.
    #[serde(default)]
    pub arms: Vec<Arm>,
    /// The cases, in the order of the file. Their names are unique.
    pub cases: Vec<Case>,
}

/// A variant of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    pub name: String,
    /// The tools; the agent's when absent.
    pub tools: Option<Vec<String>>,
    /// Parts of the layer that the arm does not see: `wiki`, `semantic`, `descriptions`, `joins`,
    /// `dictionary`.
    pub without: Vec<String>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The name; `case-N` for a case without one.
    pub name: String,
    pub tags: Vec<String>,
    /// Who answers for the case.
    pub owner: Option<String>,
    /// Why the case does not run.
    pub skip: Option<String>,
    /// The questions in one session, at least one.
    pub turns: Vec<Turn>,
    /// How calls are compared with the expected ones.
    pub expected_tools_mode: ExpectedToolsMode,
    /// Patterns of tools that must not be called.
    pub forbidden_tools: Vec<String>,
    /// The date that the agent takes for today: `YYYY-MM-DD`.
    pub as_of: Option<String>,
    /// The most that passes.
    pub limits: Option<CaseLimits>,
    /// How often the case runs, from 1 to 100.
    pub repeats: u32,
    /// Seconds that a run may take; `execution.llm_timeout` when absent.
    pub timeout_s: Option<u64>,
    /// Tables, measures and pages that a search must find.
    pub expected_sources: Vec<String>,
}

/// One question of a case. A case with `input` has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The question.
    pub input: String,
    /// What is right: any of these; nothing is asked for when empty.
    pub ground_truth: Vec<GroundTruth>,
    /// Calls that the agent must make.
    pub expected_tools: Vec<ExpectedTool>,
    /// The metrics of this turn; those of the agent, or those that follow from the ground truth,
    /// when absent.
    pub evaluations: Option<Vec<MetricEntry>>,
    /// Files that the question comes with.
    pub files: Vec<CaseInput>,
    /// What metrics take for the retrieved texts; the results of the calls when absent.
    pub retrieval_context: Option<Vec<String>>,
}

/// What is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GroundTruth {
    Text {
        text: String,
    },
    /// A query whose rows are right.
    Sql {
        sql: String,
        connection: Option<String>,
    },
    /// A semantic query whose rows are right.
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
    /// The agent must say that it cannot answer.
    Refusal,
}

/// A call that the agent must make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedTool {
    /// The tool's name, with `*` for any characters.
    pub name: String,
    /// What the arguments must be; arguments without an entry may be anything.
    pub args: BTreeMap<String, ArgumentMatcher>,
    /// How many calls there must be, at least 1.
    pub count: u32,
}

/// `expected_tools_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedToolsMode {
    /// Further calls are fine.
    Subset,
    /// No other calls.
    Exact,
    /// The expected calls in this order, with others between them.
    Ordered,
}

/// The most that a case may use. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CaseLimits {
    /// Steps.
    pub max_turns: Option<u32>,
    /// US dollars at list prices.
    pub max_usd: Option<f64>,
    /// Tokens, input and output.
    pub max_tokens: Option<u64>,
    /// Seconds.
    pub max_seconds: Option<u64>,
}

/// A file that a question comes with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseInput {
    /// The file, relative to the project.
    pub path: PathBuf,
    /// `text`, `csv` or `image`; decided by its name when absent.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What the agent is told about it.
    pub description: Option<String>,
}
