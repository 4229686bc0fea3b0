//! The keys of `ktx.yaml` outside `connections` (a pure table).

use super::endpoint::{VERTEX, endpoint, endpoint_of_claude, endpoint_of_gemini, endpoint_of_two};
use super::{Field, KeyRule, Shape};

const POSITIVE: Shape = Shape::Count { min: 1, max: None };
const NATURAL: Shape = Shape::Count { min: 0, max: None };
const TTL: Shape = Shape::Choice(&["5m", "1h"]);

pub(crate) const ROOT: &[Field] = &[
    Field::object(
        "setup",
        SETUP,
        "What `ktx setup` remembers about its questions.",
    ),
    Field::defaulted(
        "connections",
        Shape::Connections,
        "{}",
        "Warehouses and context sources by connection id. An id has letters, digits, `_` and `-` and begins with a letter or digit.",
    ),
    Field::object("storage", STORAGE, "Accepted for older projects; not read."),
    Field::object("llm", LLM, "Who runs language models, and which ones."),
    Field::object("ingest", INGEST, "How context is read from sources."),
    Field::object("agent", AGENT, "The built-in agents."),
    Field::object("scan", SCAN, "How warehouses are scanned."),
];

const SETUP: &[Field] = &[Field::optional(
    "database_connection_ids",
    Shape::Texts,
    "The connections that setup treats as databases; every warehouse connection when absent.",
)];

const STORAGE: &[Field] = &[
    Field::defaulted(
        "state",
        Shape::Choice(&["sqlite", "postgres"]),
        r#""sqlite""#,
        "Accepted, not read: local state is in SQLite.",
    ),
    Field::defaulted(
        "search",
        Shape::Choice(&["sqlite-fts5", "postgres-hybrid"]),
        r#""sqlite-fts5""#,
        "Accepted, not read: search is in SQLite.",
    ),
    Field::object(
        "git",
        &[Field::optional(
            "author",
            Shape::Text,
            "Accepted, not read: commits carry the identity of your git configuration.",
        )],
        "Accepted for older projects; not read.",
    ),
];

const LLM: &[Field] = &[
    Field::object("provider", PROVIDER, "The backend and how it is reached."),
    Field::defaulted(
        "models",
        Shape::Map(KeyRule::Role, &Shape::Text),
        "{}",
        "The model of each role: `default`, `triage`, `candidateExtraction`, `curator`, `reconcile`. A role without a model uses `default`, which every backend but `none` needs. `repair` is accepted for older projects and has no effect, which `ktx status` says.",
    ),
    Field::object(
        "promptCaching",
        PROMPT_CACHING,
        "How prompts are cached by the provider. Ignored with `claude-code`: your own local Claude Code session decides on caching itself, and `ktx status` names the fields that have no effect.",
    ),
    Field::object(
        "timeouts",
        TIMEOUTS,
        "How long a provider over HTTP is waited for. Ignored with `claude-code`.",
    ),
    Field::defaulted(
        "pricing",
        Shape::Map(KeyRule::Any, &Shape::ClosedObject(super::prices::PRICES)),
        "{}",
        "Your own prices by model id, in USD per million tokens: `input` and `output`, and `cache_read`, `cache_write_5m`, `cache_write_1h` where they differ. Each is a number from 0; any other key is an error. They win over the built-in ones.",
    ),
    Field::optional(
        "budget",
        Shape::ClosedObject(BUDGET),
        "The most that all commands of the project together may use in a day, from midnight to midnight in your time zone: `usd_per_day`, US dollars at list prices, and `tokens_per_day`, input and output. Each is a number from 0, which allows no call; any other key is an error.",
    ),
];

const BUDGET: &[Field] = &[
    Field::optional(
        "usd_per_day",
        Shape::Amount,
        "US dollars at list prices. Needs a price for every model that is used.",
    ),
    Field::optional("tokens_per_day", NATURAL, "Tokens, input and output."),
];

const TIMEOUTS: &[Field] = &[
    Field::defaulted(
        "first_byte_seconds",
        POSITIVE,
        "120",
        "Seconds until the first byte of an answer. Raise it for a model that is loaded first, or that thinks long before it says anything.",
    ),
    Field::defaulted(
        "between_bytes_seconds",
        POSITIVE,
        "60",
        "Seconds of silence in the middle of an answer.",
    ),
];

const PROVIDER: &[Field] = &[
    Field::defaulted(
        "backend",
        Shape::Backend,
        r#""none""#,
        "Who runs models. An unknown value is an error; ktx never falls back to another backend.",
    ),
    Field::defaulted(
        "environment",
        Shape::Texts,
        "[]",
        "Names of further variables of your shell that `claude` is given. None of them may choose its account, provider, address, model or session.",
    ),
    Field::defaulted(
        "isolation",
        Shape::Choice(&["warn", "strict"]),
        r#""warn""#,
        "What becomes of a `claude-code` call in which a hook from the managed settings of this machine runs: a warning, or with `strict` the error `llm_isolation`.",
    ),
    endpoint_of_claude(
        "anthropic",
        "The Anthropic API. `ANTHROPIC_API_KEY` is used when `api_key` is absent.",
    ),
    Field::optional(
        "vertex",
        Shape::Object(VERTEX),
        "Anthropic models on Google Vertex AI.",
    ),
    endpoint_of_two(
        "gateway",
        "An AI gateway. `AI_GATEWAY_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint_of_two(
        "openai",
        "The OpenAI API. `OPENAI_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint_of_gemini(
        "gemini",
        "The Gemini API. `GEMINI_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint(
        "deepseek",
        "The DeepSeek API. `DEEPSEEK_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint(
        "qwen",
        "The Qwen API. `DASHSCOPE_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint(
        "glm",
        "The GLM API. `ZAI_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint(
        "minimax",
        "The MiniMax API. `MINIMAX_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint(
        "kimi",
        "The Kimi API. `MOONSHOT_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint(
        "groq",
        "The Groq API. `GROQ_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint(
        "cerebras",
        "The Cerebras API. `CEREBRAS_API_KEY` is used when `api_key` is absent.",
    ),
    endpoint_of_two(
        "openai-compatible",
        "Any server that speaks the OpenAI protocol; needs `base_url`.",
    ),
];

const PROMPT_CACHING: &[Field] = &[
    Field::optional(
        "enabled",
        Shape::Flag,
        "Whether prompts are marked for caching; `true` when absent.",
    ),
    Field::optional(
        "cacheSystem",
        Shape::Flag,
        "Whether system prompts are marked; `true` when absent.",
    ),
    Field::optional(
        "cacheTools",
        Shape::Flag,
        "Whether tool lists are marked; `true` when absent.",
    ),
    Field::optional(
        "cacheHistory",
        Shape::Flag,
        "Whether conversations are marked; `true` when absent.",
    ),
    Field::optional(
        "systemTtl",
        TTL,
        "How long system prompts stay cached; `1h` when absent.",
    ),
    Field::optional(
        "toolsTtl",
        TTL,
        "How long tool lists stay cached; `1h` when absent.",
    ),
    Field::optional(
        "historyTtl",
        TTL,
        "How long conversations stay cached; `5m` when absent.",
    ),
    Field::optional(
        "vertexFallbackTo5m",
        Shape::Flag,
        "Whether Vertex is asked for `5m` where it does not offer `1h`; `false` when absent.",
    ),
];

const EMBEDDINGS: &[Field] = &[
    Field::defaulted(
        "backend",
        Shape::Choice(&["none", "openai", "sentence-transformers"]),
        r#""none""#,
        "Who computes embeddings. Independent of the language-model backend.",
    ),
    Field::optional(
        "model",
        Shape::Text,
        "The embedding model, such as `text-embedding-3-small`.",
    ),
    Field::defaulted("dimensions", POSITIVE, "8", "The length of the vectors."),
    Field::optional(
        "openai",
        Shape::Object(&[
            Field::optional("api_key", Shape::Secret, "The key."),
            Field::optional("base_url", Shape::Reference, "Where the API is."),
        ]),
        "The OpenAI embeddings API.",
    ),
    Field::optional(
        "sentenceTransformers",
        Shape::Object(&[
            Field::defaulted("base_url", Shape::Text, r#""""#, "Where the server is."),
            Field::optional(
                "pathPrefix",
                Shape::Text,
                "What precedes the server's paths.",
            ),
        ]),
        "A sentence-transformers server.",
    ),
    Field::optional("batchSize", POSITIVE, "How many texts go into one request."),
];

const INGEST: &[Field] = &[
    Field::defaulted(
        "adapters",
        Shape::Texts,
        "[]",
        "The context-source adapters that setup chose; a connection's own adapter always runs.",
    ),
    Field::object(
        "embeddings",
        EMBEDDINGS,
        "Embeddings for search and ingest.",
    ),
    Field::object(
        "workUnits",
        &[
            Field::defaulted(
                "stepBudget",
                POSITIVE,
                "40",
                "Agent steps per unit of work.",
            ),
            Field::defaulted(
                "maxConcurrency",
                POSITIVE,
                "1",
                "Units of work at one time.",
            ),
            Field::defaulted(
                "failureMode",
                Shape::Choice(&["abort", "continue"]),
                r#""continue""#,
                "Whether a failed unit ends the run.",
            ),
        ],
        "How the work of an ingest is cut and run.",
    ),
    Field::object(
        "rateLimit",
        RATE_LIMIT,
        "What happens near and at a provider's rate limit.",
    ),
    Field::defaulted(
        "profile",
        Shape::Either(&[Shape::Flag, Shape::Choice(&["json"])]),
        "false",
        "Accepted for older projects; has no effect, which `ktx status` says.",
    ),
];

const RATE_LIMIT: &[Field] = &[
    Field::defaulted(
        "enabled",
        Shape::Flag,
        "true",
        "Whether requests are held back at all.",
    ),
    Field::defaulted(
        "throttleThreshold",
        Shape::Ratio,
        "0.8",
        "The share of the limit at which fewer requests run at one time.",
    ),
    Field::defaulted(
        "minConcurrencyUnderPressure",
        POSITIVE,
        "1",
        "How many requests run at one time even then.",
    ),
    Field::optional(
        "maxWaitMs",
        POSITIVE,
        "The longest wait for a limit, in milliseconds. When a limit lasts longer, the run pauses and reports until when calls are refused. When absent, five minutes for a provider over HTTP, and as long as it takes with `claude-code`.",
    ),
    Field::object(
        "retry",
        &[
            Field::defaulted("maxAttempts", POSITIVE, "6", "Tries in all."),
            Field::defaulted(
                "baseDelayMs",
                NATURAL,
                "1000",
                "Milliseconds before the second try.",
            ),
            Field::defaulted(
                "maxDelayMs",
                NATURAL,
                "60000",
                "The longest pause, in milliseconds.",
            ),
            Field::defaulted(
                "jitter",
                Shape::Flag,
                "true",
                "Whether pauses vary at random.",
            ),
        ],
        "How a refused request is tried again.",
    ),
];

const AGENT: &[Field] = &[Field::object(
    "run_research",
    &[
        Field::defaulted(
            "enabled",
            Shape::Flag,
            "true",
            "Whether the research agent may run.",
        ),
        Field::defaulted("max_iterations", NATURAL, "20", "Its steps."),
        Field::defaulted(
            "default_toolset",
            Shape::Texts,
            r#"["sl_query","wiki_search","wiki_read","sl_read_source"]"#,
            "Its tools.",
        ),
    ],
    "The research agent.",
)];

const SCAN: &[Field] = &[
    Field::object(
        "enrichment",
        &[
            Field::defaulted(
                "mode",
                Shape::Choice(&["none", "deterministic", "llm"]),
                r#""none""#,
                "Whether tables and columns are described, and by whom.",
            ),
            Field::optional(
                "embeddings",
                Shape::Object(EMBEDDINGS),
                "Embeddings for scans; `ingest.embeddings` when absent.",
            ),
        ],
        "What is added to a scanned schema.",
    ),
    Field::object(
        "relationships",
        RELATIONSHIPS,
        "How joins that no key declares are found.",
    ),
];

const RELATIONSHIPS: &[Field] = &[
    Field::defaulted(
        "enabled",
        Shape::Flag,
        "true",
        "Whether joins are looked for.",
    ),
    Field::defaulted(
        "llmProposals",
        Shape::Flag,
        "true",
        "Whether a model may propose joins.",
    ),
    Field::defaulted(
        "validationRequiredForManifest",
        Shape::Flag,
        "true",
        "Whether a join must be confirmed by the data before it is written.",
    ),
    Field::defaulted(
        "acceptThreshold",
        Shape::Ratio,
        "0.85",
        "From which score a join is accepted.",
    ),
    Field::defaulted(
        "reviewThreshold",
        Shape::Ratio,
        "0.55",
        "From which score a join is listed for review.",
    ),
    Field::defaulted(
        "maxLlmTablesPerBatch",
        POSITIVE,
        "40",
        "Tables per question to the model.",
    ),
    Field::defaulted(
        "maxCandidatesPerColumn",
        POSITIVE,
        "25",
        "Candidates kept per column.",
    ),
    Field::defaulted(
        "profileSampleRows",
        POSITIVE,
        "10000",
        "Rows sampled per table.",
    ),
    Field::defaulted(
        "profileConcurrency",
        POSITIVE,
        "4",
        "Tables profiled at one time.",
    ),
    Field::defaulted(
        "validationConcurrency",
        POSITIVE,
        "4",
        "Joins checked at one time.",
    ),
    Field::optional(
        "validationBudget",
        Shape::Either(&[Shape::Choice(&["all"]), NATURAL]),
        "How many queries may check joins.",
    ),
];
