//! The keys of HTTP model backends (a pure table).

use super::{Field, Shape};

/// The block of an HTTP backend.
pub(super) const fn endpoint(name: &'static str, meaning: &'static str) -> Field {
    Field::optional(name, Shape::Object(ENDPOINT), meaning)
}

/// The block of an HTTP backend with more than one protocol.
pub(super) const fn endpoint_of_two(name: &'static str, meaning: &'static str) -> Field {
    Field::optional(name, Shape::Object(ENDPOINT_OF_TWO), meaning)
}

const ENDPOINT: &[Field] = &[API_KEY, BASE_URL, REASONING, CACHE];

const ENDPOINT_OF_TWO: &[Field] = &[API_KEY, BASE_URL, PROTOCOL, REASONING, CACHE];

const API_KEY: Field = Field::optional("api_key", Shape::Secret, "The key.");

const BASE_URL: Field = Field::optional(
    "base_url",
    Shape::Reference,
    "Where the API is, when not at its usual place: `https://`, or `http://` for this machine \
     or without a key. \
     With it the key has to be named in `api_key`.",
);

const PROTOCOL: Field = Field::optional(
    "protocol",
    Shape::Choice(&["chat", "responses"]),
    "Which of OpenAI's protocols is spoken: `chat` (Chat Completions) or `responses`. When absent, `openai` is asked with `responses`, the others with `chat`. Claude models of a gateway are always asked with their own.",
);

const REASONING: Field = Field::optional(
    "reasoning",
    Shape::AnyObject,
    "How the provider's reasoning is asked for and read, where its preset does not fit.",
);

const CACHE: Field = Field::optional(
    "cache",
    Shape::AnyObject,
    "How the provider caches prompts, where its preset does not fit: `breakpoints` (0 to 4 markers a request), `defaultTtl` (`5m` or `1h`, for parts that `llm.promptCaching` says nothing about), `beta.extendedCacheTtl` (`false`: never an hour), `requestParams` (fields of every request, such as `prompt_cache_key`).",
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
];
