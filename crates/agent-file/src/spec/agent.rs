//! The keys of an agent file (a pure table).

use super::cases::{CASES, METRICS};
use super::claude::CLAUDE;
use super::model::MODEL;
use super::tools::TOOL;
use super::work::{AGENT_LIMITS, CONTEXT, EXECUTION, PERMISSIONS, SCHEDULE, TODO, WORKSPACE};
use super::{Field, ListShape, PathKind, TEXT, ValueShape};
use crate::form::TextForm;
use ktx_vocabulary::Provider;

const DEFAULT_TOOLS: &str =
    r#"["sl_query","sl_read_source","wiki_search","wiki_read","discover_data","entity_details"]"#;

pub(crate) const ROOT: &[Field] = &[
    Field::required(
        "name",
        ValueShape::Form(TextForm::AgentName),
        "The agent's name: letters, digits and `-`, beginning with a letter, at most 100.",
    ),
    Field::optional(
        "description",
        ValueShape::Text { most: Some(500) },
        "What the agent is for, in at most 500 characters.",
    ),
    Field::optional(
        "author",
        ValueShape::Text { most: Some(256) },
        "Who wrote the file, in at most 256 characters.",
    ),
    Field::object("model", MODEL, "The model and its settings."),
    Field::required(
        "instructions",
        ValueShape::Object(INSTRUCTIONS),
        "The system prompt: either `inline` or `file`.",
    ),
    Field::optional(
        "response_format",
        ValueShape::Schema,
        "A JSON Schema of the structured answer, or the path of a JSON or YAML file that holds one. The root must be an object.",
    ),
    Field::optional(
        "embedding_provider",
        ValueShape::Object(MODEL),
        "Who computes embeddings for this agent: a model block with the provider `openai` or `azure_openai`. When absent, `ingest.embeddings` of the project.",
    ),
    Field::defaulted(
        "tools",
        ValueShape::List(&ListShape {
            item: TOOL,
            most: Some(50),
            unique: Some("name"),
        }),
        DEFAULT_TOOLS,
        "The tools that the agent may call, at most 50. A text is a ktx tool by its name.",
    ),
    Field::object(
        "permissions",
        PERMISSIONS,
        "Which calls run, which need an approval, which are denied.",
    ),
    Field::object(
        "limits",
        AGENT_LIMITS,
        "The most that a run may use. Options of a command can only lower it.",
    ),
    Field::object("context", CONTEXT, "When a long session is compressed."),
    Field::object("todo", TODO, "A list of tasks that the agent keeps."),
    Field::defaulted(
        "agents",
        ValueShape::List(&ListShape {
            item: ValueShape::Form(TextForm::AgentName),
            most: None,
            unique: Some(""),
        }),
        "[]",
        "The agents that this agent may ask, by the names of their files. They may not form a circle.",
    ),
    Field::defaulted(
        "max_parallel",
        ValueShape::Count {
            min: 1,
            max: Some(16),
        },
        "4",
        "Maximum number of agents that it asks at the same time.",
    ),
    Field::defaulted(
        "schedule",
        ValueShape::List(&ListShape {
            item: ValueShape::Object(SCHEDULE),
            most: None,
            unique: Some("name"),
        }),
        "[]",
        "Questions that ktx asks at certain times.",
    ),
    Field::optional(
        "workspace",
        ValueShape::Object(WORKSPACE),
        "The only files that a tool of the agent can reach.",
    ),
    Field::optional(
        "claude",
        ValueShape::Object(CLAUDE),
        "Settings of HoloDeck for Anthropic models. Ignored with a warning for other providers.",
    ),
    Field::optional(
        "evaluations",
        ValueShape::Object(EVALUATIONS),
        "The metrics of all cases that have none of their own.",
    ),
    Field::optional("test_cases", CASES, "The cases of `ktx agent test`."),
    Field::optional(
        "test_cases_file",
        ValueShape::Path(PathKind::File),
        "A file with the cases, in place of `test_cases`.",
    ),
    Field::object(
        "execution",
        EXECUTION,
        "How cases run, under HoloDeck's names.",
    ),
    Field::optional(
        "tool_filtering",
        ValueShape::AnyObject,
        "Accepted with a warning: ktx offers every tool of the agent.",
    ),
    Field::foreign("observability", "ktx reads the OTEL_* variables"),
    Field::foreign("deployment", "ktx runs where its project is"),
    Field::foreign(
        Provider::OpenAi.as_str(),
        "ktx takes the settings of `model`",
    ),
];

const EVALUATIONS: &[Field] = &[
    Field::optional(
        "model",
        ValueShape::Object(MODEL),
        "The model that judges; the role `default` when absent.",
    ),
    Field::defaulted("metrics", METRICS, "[]", "The metrics."),
];

const INSTRUCTIONS: &[Field] = &[
    Field::optional("inline", TEXT, "The text itself."),
    Field::optional(
        "file",
        ValueShape::Path(PathKind::File),
        "A file with the text, relative to the agent file, inside the project.",
    ),
];
