//! The keys of `ktx.yaml` outside `connections`.

use super::endpoint::{VERTEX, endpoint, endpoint_of_claude, endpoint_of_gemini, endpoint_of_two};
use super::{Field, KeyRule, Shape};

const POSITIVE: Shape = Shape::Count { min: 1, max: None };
const NATURAL: Shape = Shape::Count { min: 0, max: None };
const TTL: Shape = Shape::Choice(&["5m", "1h"]);

pub(crate) const ROOT: &[Field] = &[
    Field::object("setup", SETUP, "State of `ktx setup`."),
    Field::defaulted(
        "connections",
        Shape::Connections,
        "{}",
        "Warehouses and context sources by connection id. An id has letters, digits, `_` and `-` and begins with a letter or digit.",
    ),
    Field::object(
        "storage",
        STORAGE,
        "Accepted for older projects; has no effect.",
    ),
    Field::object(
        "llm",
        LLM,
        "The backend of language models, and the models.",
    ),
    Field::object("ingest", INGEST, "How ktx reads context from sources."),
    Field::object("agent", AGENT, "The built-in agents."),
    Field::object("scan", SCAN, "How ktx scans warehouses."),
    Field::optional(
        "clients",
        Shape::Map(KeyRule::Any, &Shape::ClosedObject(super::clients::CLIENT)),
        "The clients of `ktx mcp`, and what each may use and read; everyone may use and read everything when absent.",
    ),
];

const SETUP: &[Field] = &[Field::optional(
    "database_connection_ids",
    Shape::Texts,
    "The connections that setup treats as databases; by default every warehouse connection.",
)];

const STORAGE: &[Field] = &[
    Field::defaulted(
        "state",
        Shape::Choice(&["sqlite", "postgres"]),
        r#""sqlite""#,
        "Has no effect: local state is in SQLite.",
    ),
    Field::defaulted(
        "search",
        Shape::Choice(&["sqlite-fts5", "postgres-hybrid"]),
        r#""sqlite-fts5""#,
        "Has no effect: search is in SQLite.",
    ),
    Field::object(
        "git",
        &[Field::optional(
            "author",
            Shape::Text,
            "Has no effect: commits have the identity of your git configuration.",
        )],
        "Accepted for older projects; has no effect.",
    ),
];

const LLM: &[Field] = &[
    Field::object("provider", PROVIDER, "The backend and its settings."),
    Field::defaulted(
        "models",
        Shape::Map(KeyRule::Role, &Shape::Text),
        "{}",
        "The model of each role: `default`, `triage`, `candidateExtraction`, `curator`, `reconcile`. A role without a model uses `default`, which every backend but `none` needs. `repair` is accepted for older projects and has no effect; `ktx status` says so.",
    ),
    Field::object(
        "promptCaching",
        PROMPT_CACHING,
        "How prompts are cached by the provider. Ignored with `claude-code`: your own local Claude Code session decides on caching itself, and `ktx status` names the fields that have no effect.",
    ),
    Field::object(
        "timeouts",
        TIMEOUTS,
        "How long ktx waits for a provider over HTTP. Ignored with `claude-code`.",
    ),
    Field::defaulted(
        "pricing",
        Shape::Map(KeyRule::Any, &Shape::ClosedObject(super::prices::PRICES)),
        "{}",
        "Your own prices by model id, in USD per million tokens: `input` and `output`, and `cache_read`, `cache_write_5m`, `cache_write_1h` where they differ. Each is a number from 0; any other key is an error. They override the built-in prices.",
    ),
    Field::optional(
        "budget",
        Shape::ClosedObject(BUDGET),
        "The limit for all commands of the project together in a day, from midnight to midnight in your time zone: `usd_per_day`, US dollars at list prices, and `tokens_per_day`, input and output. Each is a number from 0, which allows no call; any other key is an error.",
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
        "Seconds until the first byte of an answer. Raise it for a model that must be loaded first, or that thinks long before it answers.",
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
        "The backend that runs models. An unknown value is an error; ktx never falls back to another backend.",
    ),
    Field::defaulted(
        "environment",
        Shape::Texts,
        "[]",
        "Names of additional variables of your shell that ktx passes to `claude`. None of them may choose its account, provider, address, model or session.",
    ),
    Field::defaulted(
        "isolation",
        Shape::Choice(&["warn", "strict"]),
        r#""warn""#,
        "What ktx does if a hook from the managed settings of this machine runs in a `claude-code` call: `warn`, or with `strict` fail with `llm_isolation`.",
    ),
    endpoint_of_claude(
        "anthropic",
        "The Anthropic API. Without `api_key`, ktx uses `ANTHROPIC_API_KEY`.",
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
        "Whether ktx marks prompts for caching; by default `true`.",
    ),
    Field::optional(
        "cacheSystem",
        Shape::Flag,
        "Whether ktx marks system prompts; by default `true`.",
    ),
    Field::optional(
        "cacheTools",
        Shape::Flag,
        "Whether ktx marks tool lists; by default `true`.",
    ),
    Field::optional(
        "cacheHistory",
        Shape::Flag,
        "Whether ktx marks conversations; by default `true`.",
    ),
    Field::optional(
        "systemTtl",
        TTL,
        "How long system prompts stay cached; by default `1h`.",
    ),
    Field::optional(
        "toolsTtl",
        TTL,
        "How long tool lists stay cached; by default `1h`.",
    ),
    Field::optional(
        "historyTtl",
        TTL,
        "How long conversations stay cached; by default `5m`.",
    ),
    Field::optional(
        "vertexFallbackTo5m",
        Shape::Flag,
        "Whether Vertex uses `5m` where it does not offer `1h`; by default `false`.",
    ),
];

const EMBEDDINGS: &[Field] = &[
    Field::defaulted(
        "backend",
        Shape::Choice(&["none", "openai", "sentence-transformers", "table"]),
        r#""none""#,
        "The backend that computes embeddings, independent of the language-model backend.",
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
            Field::optional("base_url", Shape::Reference, "The URL of the API."),
        ]),
        "The OpenAI embeddings API.",
    ),
    Field::optional(
        "sentenceTransformers",
        Shape::Object(&[
            Field::defaulted("base_url", Shape::Text, r#""""#, "The URL of the server."),
            Field::optional(
                "pathPrefix",
                Shape::Text,
                "The prefix of the server's paths.",
            ),
        ]),
        "A sentence-transformers server.",
    ),
    Field::optional(
        "table",
        Shape::Object(&[
            Field::optional(
                "path",
                Shape::Text,
                "The file: words with their numbers, or safetensors.",
            ),
            Field::optional(
                "tokenizer",
                Shape::Text,
                "The `tokenizer.json` of a safetensors file; the one beside it when absent.",
            ),
        ]),
        "A table of token vectors in a file: search by meaning without a server.",
    ),
    Field::optional("batchSize", POSITIVE, "The number of texts per request."),
];

const INGEST: &[Field] = &[
    Field::defaulted(
        "adapters",
        Shape::Texts,
        "[]",
        "The kinds of context sources that setup chose; the kind of a connection always runs.",
    ),
    Field::object(
        "embeddings",
        EMBEDDINGS,
        "Embeddings for search and ingest.",
    ),
    Field::object(
        "workUnits",
        &[
            Field::defaulted("stepBudget", POSITIVE, "40", "Steps per unit of work."),
            Field::defaulted("maxConcurrency", POSITIVE, "1", "Parallel units of work."),
            Field::defaulted(
                "failureMode",
                Shape::Choice(&["abort", "continue"]),
                r#""continue""#,
                "Whether a failed unit ends the run.",
            ),
        ],
        "How ktx divides and runs the work of an ingest.",
    ),
    Field::object(
        "rateLimit",
        RATE_LIMIT,
        "What ktx does near and at a provider's rate limit.",
    ),
    Field::defaulted(
        "profile",
        Shape::Either(&[Shape::Flag, Shape::Choice(&["json"])]),
        "false",
        "Accepted for older projects; has no effect, and `ktx status` says so.",
    ),
];

const RATE_LIMIT: &[Field] = &[
    Field::defaulted(
        "enabled",
        Shape::Flag,
        "true",
        "Whether ktx holds requests back at all.",
    ),
    Field::defaulted(
        "throttleThreshold",
        Shape::Ratio,
        "0.8",
        "The share of the limit at which ktx sends fewer requests in parallel.",
    ),
    Field::defaulted(
        "minConcurrencyUnderPressure",
        POSITIVE,
        "1",
        "The number of parallel requests even then.",
    ),
    Field::optional(
        "maxWaitMs",
        POSITIVE,
        "The longest wait for a limit, in milliseconds. If a limit lasts longer, the run pauses and reports until when calls are refused. The default is five minutes for a provider over HTTP, and no limit with `claude-code`.",
    ),
    Field::object(
        "retry",
        &[
            Field::defaulted("maxAttempts", POSITIVE, "6", "The total number of tries."),
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
                "The longest delay between tries, in milliseconds.",
            ),
            Field::defaulted(
                "jitter",
                Shape::Flag,
                "true",
                "Whether delays vary at random.",
            ),
        ],
        "How ktx retries a refused request.",
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
        Field::defaulted(
            "max_iterations",
            NATURAL,
            "20",
            "The maximum number of its steps.",
        ),
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
                "Whether ktx describes tables and columns, and how.",
            ),
            Field::optional(
                "embeddings",
                Shape::Object(EMBEDDINGS),
                "Embeddings for scans; by default those of `ingest.embeddings`.",
            ),
        ],
        "What ktx adds to a scanned schema.",
    ),
    Field::object(
        "relationships",
        RELATIONSHIPS,
        "How ktx finds joins that no key declares.",
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
        "The score from which ktx accepts a join.",
    ),
    Field::defaulted(
        "reviewThreshold",
        Shape::Ratio,
        "0.55",
        "The score from which ktx lists a join for review.",
    ),
    Field::defaulted(
        "maxLlmTablesPerBatch",
        POSITIVE,
        "40",
        "Tables per model call.",
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
        "Sampled rows per table.",
    ),
    Field::defaulted(
        "profileConcurrency",
        POSITIVE,
        "4",
        "Tables to profile in parallel.",
    ),
    Field::defaulted(
        "validationConcurrency",
        POSITIVE,
        "4",
        "Joins to check in parallel.",
    ),
    Field::optional(
        "validationBudget",
        Shape::Either(&[Shape::Choice(&["all"]), NATURAL]),
        "The maximum number of queries that check joins.",
    ),
];
