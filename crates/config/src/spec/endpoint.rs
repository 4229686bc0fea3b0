//! The keys of HTTP model backends.

use super::{Field, Shape};

/// For Chat Completions.
pub(super) const fn endpoint(name: &'static str, meaning: &'static str) -> Field {
    Field::optional(name, Shape::Object(ENDPOINT), meaning)
}

pub(super) const fn endpoint_of_claude(name: &'static str, meaning: &'static str) -> Field {
    Field::optional(name, Shape::Object(ENDPOINT_OF_CLAUDE), meaning)
}

pub(super) const fn endpoint_of_gemini(name: &'static str, meaning: &'static str) -> Field {
    Field::optional(name, Shape::Object(ENDPOINT_OF_GEMINI), meaning)
}

pub(super) const fn endpoint_of_two(name: &'static str, meaning: &'static str) -> Field {
    Field::optional(name, Shape::Object(ENDPOINT_OF_TWO), meaning)
}

const ENDPOINT: &[Field] = &[
    API_KEY,
    BASE_URL,
    reasoning(&[FIELD_NAME, REQUEST_PARAMS, HISTORY_POLICY, STRIP, TRANSPORT]),
    CACHE,
];

const ENDPOINT_OF_TWO: &[Field] = &[
    API_KEY,
    BASE_URL,
    PROTOCOL,
    reasoning(&[
        FIELD_NAME,
        REQUEST_PARAMS,
        HISTORY_POLICY,
        STRIP,
        TRANSPORT,
        STORE,
    ]),
    CACHE,
];

const ENDPOINT_OF_CLAUDE: &[Field] = &[API_KEY, BASE_URL, REASONING_OF_CLAUDE, CACHE];

const ENDPOINT_OF_GEMINI: &[Field] = &[
    API_KEY,
    BASE_URL,
    reasoning(&[REQUEST_PARAMS, HISTORY_POLICY, STRIP, TRANSPORT]),
    CACHE,
];

const API_KEY: Field = Field::optional("api_key", Shape::Secret, "The key.");

const BASE_URL: Field = Field::optional(
    "base_url",
    Shape::Reference,
    "The URL of the API if it is not the provider's own: `https://`, or `http://` for this machine or without a key. With it, `api_key` must name the key.",
);

const PROTOCOL: Field = Field::optional(
    "protocol",
    Shape::Choice(&["chat", "responses"]),
    "Which of OpenAI's protocols to speak: `chat` (Chat Completions) or `responses`. When absent, `openai` speaks `responses`, the others `chat`. Claude models of a gateway always use their own protocol.",
);

const fn reasoning(fields: &'static [Field]) -> Field {
    Field::optional(
        "reasoning",
        Shape::ClosedObject(fields),
        "How to request, read and return the provider's reasoning, where its preset does not fit. Any other key is an error.",
    )
}

const REASONING_OF_CLAUDE: Field = reasoning(&[
    REQUEST_PARAMS,
    Field::optional(
        "historyPolicy",
        Shape::Choice(&["current_turn", "all"]),
        "Which thoughts ktx sends back to the model: those since the last question, or all; by default `all`. Claude refuses to continue a tool call without the thoughts that led to it.",
    )
    .or(&["history_policy"]),
    TRANSPORT,
]);

const FIELD_NAME: Field = Field::optional(
    "fieldName",
    Shape::Choice(&["reasoning_content", "reasoning", "reasoning_details"]),
    "The field of Chat Completions for thoughts that have no field of their own.",
)
.or(&["field_name"]);

const REQUEST_PARAMS: Field = Field::optional(
    "requestParams",
    Shape::AnyObject,
    "Fields of every request, such as `thinking`, `reasoning`, `reasoning_effort` or `generationConfig.thinkingConfig`, in the provider's own spelling. They win over what ktx sends about thinking; other objects are merged. Fields with the conversation, the tools or the model are refused.",
)
.or(&["request_params"]);

const HISTORY_POLICY: Field = Field::optional(
    "historyPolicy",
    Shape::Choice(&["strip", "current_turn", "all"]),
    "Which thoughts ktx sends back to the model: none, those since the last question, or all. Claude models of a gateway always get those since the last question.",
)
.or(&["history_policy"]);

const STRIP: Field = Field::optional(
    "stripFromHistory",
    Shape::Flag,
    "`true` means the same as `historyPolicy: strip`.",
)
.or(&["strip_from_history"]);

const TRANSPORT: Field = Field::optional(
    "transport",
    Shape::Choice(&["provider", "text", "omit"]),
    "How ktx sends thoughts back: in the provider's own fields, as `<think>` text before the answer, or not at all; by default `provider`. Thoughts in a provider's field are lost when another provider continues; text is not.",
);

const STORE: Field = Field::optional(
    "store",
    Shape::Flag,
    "Whether the provider stores each answer, so that the next question names it instead of repeating the conversation. Needs the protocol `responses`; by default `false`.",
);

const CACHE: Field = Field::optional(
    "cache",
    Shape::AnyObject,
    "How the provider caches prompts, where its preset does not fit: `breakpoints` (0 to 4 markers per request), `defaultTtl` (`5m` or `1h`, for parts that `llm.promptCaching` says nothing about), `beta.extendedCacheTtl` (`false`: never an hour), `requestParams` (fields of every request, such as `prompt_cache_key`).",
);

pub(super) const VERTEX: &[Field] = &[
    Field::optional(
        "project",
        Shape::Reference,
        "The Google Cloud project; `GOOGLE_VERTEX_PROJECT` or that of the credentials when absent.",
    ),
    Field::required(
        "location",
        Shape::Reference,
        "The region, such as `global` or `us-east5`.",
    ),
    REASONING_OF_CLAUDE,
];
