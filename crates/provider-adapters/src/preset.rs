//! The providers as data: address, protocol and differences.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ktx_llm_runtime::ReasoningWindow;
use ktx_vocabulary::Provider;
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) fn row(provider: Provider) -> &'static PresetRow {
    static EMPTY: LazyLock<PresetRow> = LazyLock::new(PresetRow::default);
    ROWS.get(provider.as_str()).unwrap_or(&EMPTY)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Messages.
    Anthropic,
    /// Chat Completions.
    #[default]
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `generateContent`.
    Gemini,
}

/// How an object is requested, best form first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StructuredForm {
    /// The provider enforces the schema.
    Native,
    /// The model must call one tool whose arguments are the object.
    Tool,
    /// The provider enforces JSON; the prompt contains the schema.
    JsonObject,
    /// The prompt contains the schema.
    Prompt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolChoiceValue {
    Auto,
    None,
    Required,
    Named,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CacheKind {
    /// Automatically, or not at all.
    #[default]
    Auto,
    /// The provider caches where the request has markers.
    Explicit,
}

/// One row of `data/presets.json`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PresetRow {
    pub(crate) protocol: Protocol,
    pub(crate) protocol_by_prefix: BTreeMap<String, Protocol>,
    pub(crate) base_url: Option<String>,
    /// The providers of the model catalogue to search, in order.
    pub(crate) catalogue: Vec<String>,
    pub(crate) max_tokens_field: Option<String>,
    pub(crate) structured: Vec<StructuredForm>,
    pub(crate) tool_choice: Vec<ToolChoiceValue>,
    pub(crate) cache: CacheKind,
    pub(crate) cache_min_tokens: Option<u64>,
    pub(crate) cache_max_ttl: Option<String>,
    /// Whether `reasoning_effort` accepts the catalogue's values.
    pub(crate) effort: bool,
    /// Whether unlisted models accept sampling values; set for families whose newest models refuse
    /// them.
    pub(crate) sampling_when_unlisted: Option<bool>,
    /// Whether the provider can hold tool calls to their schemas.
    pub(crate) strict_tools: bool,
    pub(crate) stream_params: Map<String, Value>,
    pub(crate) unsupported: BTreeMap<String, String>,
    pub(crate) aliases: BTreeMap<String, String>,
    pub(crate) reasoning: ReasoningRow,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReasoningRow {
    /// Response fields; the first one is also written.
    pub(crate) fields: Vec<String>,
    pub(crate) window: WindowName,
    pub(crate) on: Map<String, Value>,
    pub(crate) off: Map<String, Value>,
    /// The values of `reasoning_effort`, weakest first, if the catalogue has none.
    pub(crate) efforts: Vec<String>,
    pub(crate) budget_field: Option<String>,
    pub(crate) variants: Vec<ReasoningVariant>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReasoningVariant {
    pub(crate) prefix: String,
    pub(crate) window: WindowName,
    pub(crate) on: Map<String, Value>,
    pub(crate) off: Map<String, Value>,
    pub(crate) efforts: Vec<String>,
}

/// The spelling of a [`ReasoningWindow`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WindowName {
    All,
    #[default]
    CurrentTurn,
    Strip,
}

impl From<WindowName> for ReasoningWindow {
    fn from(window: WindowName) -> Self {
        match window {
            WindowName::All => Self::All,
            WindowName::CurrentTurn => Self::CurrentTurn,
            WindowName::Strip => Self::Strip,
        }
    }
}

static ROWS: LazyLock<BTreeMap<String, PresetRow>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/presets.json")).unwrap_or_else(|error| {
        tracing::error!(%error, "the built-in presets cannot be read");
        BTreeMap::new()
    })
});

#[cfg(test)]
mod tests;
