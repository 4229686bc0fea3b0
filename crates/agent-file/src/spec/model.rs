//! The keys of a model block (a pure table).

use super::{Field, POSITIVE, TEXT, ValueShape};
use crate::form::TextForm;

const TEMPERATURE: ValueShape = ValueShape::Number {
    min: 0.0,
    max: Some(2.0),
};

pub(super) const MODEL: &[Field] = &[
    Field::optional(
        "provider",
        ValueShape::Form(TextForm::Provider),
        "Who runs the model: `anthropic`, `openai`, `azure_openai`, `ollama` or any backend of ktx. When absent, `llm.provider.backend` of the project.",
    ),
    Field::optional(
        "name",
        TEXT,
        "The model. When absent, the project's model of the role `default`.",
    ),
    Field::optional(
        "temperature",
        TEMPERATURE,
        "Sent only if it is written and the model accepts it.",
    ),
    Field::optional(
        "top_p",
        super::RATIO,
        "Sent only if it is written and the model accepts it.",
    ),
    Field::optional(
        "max_tokens",
        POSITIVE,
        "Maximum tokens of one message of the model.",
    ),
    Field::optional(
        "endpoint",
        ValueShape::Form(TextForm::Address),
        "The address of the API. `azure_openai` needs one; `ollama` uses `http://127.0.0.1:11434/v1` when absent.",
    ),
    Field::optional(
        "api_version",
        TEXT,
        "Not sent, with a warning: give an `endpoint` that needs none.",
    ),
    Field::optional(
        "api_key",
        ValueShape::Form(TextForm::Secret),
        "A reference to the key: `env:NAME` or `file:PATH`; `${NAME}` means `env:NAME`.",
    ),
    Field::optional(
        "auth_provider",
        ValueShape::Form(TextForm::AuthProvider),
        "How ktx reaches Anthropic models: `api_key` (the default) is the backend `anthropic`, `oauth_token` is `claude-code`, `vertex` is `vertex`.",
    ),
];
