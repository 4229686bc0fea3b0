//! The keys of an agent's tools (a pure table).

use super::{
    Field, FixedField, POSITIVE, PathKind, RATIO, ShortForm, TEXT, TEXTS, TaggedShape, ValueShape,
    Variant, VariantBody,
};
use crate::form::TextForm;

pub(super) const TOOL: ValueShape = ValueShape::Short(&ShortForm {
    key: "name",
    text: ValueShape::Form(TextForm::ToolName),
    fixed: Some(FixedField {
        key: "type",
        value: "ktx",
    }),
    full: ValueShape::Tagged(&TaggedShape {
        tag: "type",
        absent: None,
        noun: "type of tool",
        variants: &[
            Variant {
                name: "function",
                body: VariantBody::Fields(&[COMMON, FUNCTION]),
            },
            Variant {
                name: "mcp",
                body: VariantBody::Fields(&[COMMON, MCP]),
            },
            Variant {
                name: "prompt",
                body: VariantBody::Fields(&[COMMON, PROMPT]),
            },
            Variant {
                name: "vectorstore",
                body: VariantBody::Fields(&[
                    COMMON,
                    &[SOURCE, VECTOR_TOP_K, VECTOR_MODE],
                    WEIGHTS,
                    VECTOR,
                ]),
            },
            Variant {
                name: "hierarchical_document",
                body: VariantBody::Fields(&[
                    COMMON,
                    &[SOURCE, DOCUMENT_TOP_K, DOCUMENT_MODE],
                    WEIGHTS,
                    DOCUMENT,
                ]),
            },
        ],
    }),
});

const COMMON: &[Field] = &[
    Field::required(
        "name",
        ValueShape::Form(TextForm::ToolName),
        "The tool's name: letters, digits and `_`, at most 48.",
    ),
    Field::optional("description", TEXT, "What the tool does, for the model."),
    Field::optional(
        "permission",
        ValueShape::Choice(&["allow", "ask", "deny"]),
        "Whether calls run, need an approval or are denied; `permissions` decides when absent.",
    ),
    Field::defaulted("timeout_s", POSITIVE, "60", "Seconds that a call may take."),
    Field::foreign("defer_loading", "ktx offers every tool of the agent"),
];

const FUNCTION: &[Field] = &[
    Field::optional(
        "tool",
        ValueShape::Form(TextForm::ToolName),
        "The ktx tool that is called.",
    ),
    Field::defaulted(
        "arguments",
        ValueShape::Map(&ValueShape::Any),
        "{}",
        "Arguments with fixed values, hidden from the model.",
    ),
    Field::optional(
        "file",
        TEXT,
        "Refused: ktx runs no Python. Name a ktx tool in `tool`, or serve the function over MCP.",
    ),
    Field::optional("function", TEXT, "Refused, like `file`."),
    Field::optional(
        "parameters",
        ValueShape::AnyObject,
        "Accepted with `file`, which is refused.",
    ),
];

const MCP: &[Field] = &[
    Field::defaulted(
        "transport",
        ValueShape::Choice(&["stdio", "http", "sse"]),
        r#""stdio""#,
        "How the server is reached.",
    ),
    Field::optional("command", TEXT, "The program of the server, for `stdio`."),
    Field::defaulted("args", TEXTS, "[]", "Its arguments."),
    Field::defaulted(
        "env",
        ValueShape::Map(&ValueShape::Form(TextForm::Loose)),
        "{}",
        "Its variables. A key or token must be a reference: `env:NAME` or `file:PATH`.",
    ),
    Field::optional(
        "url",
        ValueShape::Form(TextForm::Address),
        "The address of the server, for `http` and `sse`.",
    ),
    Field::defaulted(
        "headers",
        ValueShape::Map(&ValueShape::Form(TextForm::Loose)),
        "{}",
        "Headers of each request. A key or token must be a reference.",
    ),
    Field::defaulted(
        "include",
        TEXTS,
        r#"["*"]"#,
        "Which tools of the server are offered, with `*` for any characters.",
    ),
    Field::defaulted("exclude", TEXTS, "[]", "Which of them are not."),
    Field::defaulted(
        "request_timeout",
        POSITIVE,
        "60",
        "Seconds that a request may take.",
    ),
    Field::defaulted(
        "trust_annotations",
        ValueShape::Flag,
        "false",
        "Whether the server is believed when it says that a tool only reads.",
    ),
    Field::defaulted(
        "optional",
        ValueShape::Flag,
        "false",
        "Whether the agent starts without the server if it is not available.",
    ),
    Field::foreign("env_file", "write the variables in `env`"),
    Field::foreign("encoding", "MCP is UTF-8"),
    Field::foreign("timeout", "use `request_timeout`"),
    Field::foreign("sse_read_timeout", "use `request_timeout`"),
    Field::foreign("terminate_on_close", "ktx ends its sessions"),
    Field::foreign("config", "write the settings in `args` or `env`"),
    Field::foreign("load_tools", "use `include` and `exclude`"),
    Field::foreign("load_prompts", "ktx takes tools only"),
    Field::foreign("is_retrieval", "write `retrieval_context` in the case"),
    Field::foreign("registry_name", "ktx asks no registry"),
];

const PROMPT: &[Field] = &[
    Field::optional(
        "template",
        TEXT,
        "The prompt, with `{{name}}` for a parameter.",
    ),
    Field::optional(
        "file",
        ValueShape::Path(PathKind::File),
        "A file with the prompt, relative to the agent file.",
    ),
    Field::defaulted(
        "parameters",
        ValueShape::Map(&ValueShape::AnyObject),
        "{}",
        "The parameters by name, each with a JSON Schema.",
    ),
    Field::optional(
        "model",
        ValueShape::Object(super::model::MODEL),
        "Another model than the agent's.",
    ),
];

const SOURCE: Field = Field::required(
    "source",
    ValueShape::Path(PathKind::Either),
    "A folder or file of the project, relative to the agent file.",
);
const MODES: ValueShape = ValueShape::Choice(&["semantic", "keyword", "exact", "hybrid"]);
const HITS: ValueShape = ValueShape::Count {
    min: 1,
    max: Some(100),
};
const VECTOR_TOP_K: Field = Field::defaulted("top_k", HITS, "5", "Hits of a search.");
const DOCUMENT_TOP_K: Field = Field::defaulted("top_k", HITS, "10", "Hits of a search.");
const VECTOR_MODE: Field = Field::defaulted(
    "search_mode",
    MODES,
    r#""semantic""#,
    "How texts are compared. `semantic` compares meaning, `keyword` words, `exact` the whole text, `hybrid` all three. `semantic` and `hybrid` require embeddings.",
);
const DOCUMENT_MODE: Field = Field::defaulted(
    "search_mode",
    MODES,
    r#""hybrid""#,
    "How texts are compared. `semantic` compares meaning, `keyword` words, `exact` the whole text, `hybrid` all three. `semantic` and `hybrid` require embeddings.",
);

const WEIGHTS: &[Field] = &[
    Field::optional("min_score", RATIO, "The lowest score of a hit."),
    Field::optional(
        "semantic_weight",
        RATIO,
        "The weight of meaning in `hybrid`.",
    ),
    Field::optional("keyword_weight", RATIO, "The weight of words in `hybrid`."),
    Field::optional(
        "exact_weight",
        RATIO,
        "The weight of exact text in `hybrid`.",
    ),
];

/// Why keys of document stores have no meaning.
const CUTS: &str = "ktx divides documents itself";
const INDEX: &str = "ktx keeps its own index";
const EMBEDS: &str = "use `embedding_provider`";
const RECORDS: &str = "ktx reads documents as text";

const VECTOR: &[Field] = &[
    Field::optional(
        "min_similarity_score",
        RATIO,
        "`min_score` under HoloDeck's name.",
    ),
    Field::foreign("vector_field", RECORDS),
    Field::foreign("meta_fields", RECORDS),
    Field::foreign("record_path", RECORDS),
    Field::foreign("record_prefix", RECORDS),
    Field::foreign("meta_prefix", RECORDS),
    Field::foreign("chunk_size", CUTS),
    Field::foreign("chunk_overlap", CUTS),
    Field::foreign("embedding_model", EMBEDS),
    Field::foreign("embedding_dimensions", EMBEDS),
    Field::foreign("database", INDEX),
];

const DOCUMENT: &[Field] = &[
    Field::foreign("chunking_strategy", CUTS),
    Field::foreign("max_chunk_tokens", CUTS),
    Field::foreign("chunk_overlap", CUTS),
    Field::foreign("max_subsection_depth", CUTS),
    Field::foreign("subsection_patterns", CUTS),
    Field::foreign("document_domain", CUTS),
    Field::foreign("contextual_embeddings", EMBEDS),
    Field::foreign("context_max_tokens", EMBEDS),
    Field::foreign("context_concurrency", EMBEDS),
    Field::foreign("context_model", EMBEDS),
    Field::foreign("embedding_model", EMBEDS),
    Field::foreign("embedding_dimensions", EMBEDS),
    Field::foreign("rrf_k", INDEX),
    Field::foreign("keyword_index", INDEX),
    Field::foreign("database", INDEX),
    Field::foreign("enable_definition_extraction", INDEX),
    Field::foreign("enable_cross_references", INDEX),
    Field::foreign("reranking", INDEX),
    Field::foreign("enable_reranking", INDEX),
    Field::foreign("reranker", INDEX),
];
