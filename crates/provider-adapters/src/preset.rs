//! The providers as data (`data/presets.json`).

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
    Anthropic,
    #[default]
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `generateContent`
    Gemini,
}

/// Best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StructuredForm {
    Native,
    /// Arguments of a forced tool call.
    Tool,
    /// With the schema in the prompt.
    JsonObject,
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
    #[default]
    Auto,
    Explicit,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PresetRow {
    pub(crate) protocol: Protocol,
    pub(crate) protocol_by_prefix: BTreeMap<String, Protocol>,
    pub(crate) base_url: Option<String>,
    pub(crate) catalogue: Vec<String>,
    pub(crate) max_tokens_field: Option<String>,
    pub(crate) structured: Vec<StructuredForm>,
    pub(crate) tool_choice: Vec<ToolChoiceValue>,
    pub(crate) cache: CacheKind,
    pub(crate) cache_min_tokens: Option<u64>,
    pub(crate) cache_max_ttl: Option<String>,
    /// `reasoning_effort` with the catalogue's values.
    pub(crate) effort: bool,
    /// False for families whose newest models refuse sampling values.
    pub(crate) sampling_when_unlisted: Option<bool>,
    pub(crate) strict_tools: bool,
    pub(crate) stream_params: Map<String, Value>,
    pub(crate) unsupported: BTreeMap<String, String>,
    pub(crate) aliases: BTreeMap<String, String>,
    pub(crate) reasoning: ReasoningRow,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReasoningRow {
    /// The first one is also written.
    pub(crate) fields: Vec<String>,
    pub(crate) window: WindowName,
    pub(crate) on: Map<String, Value>,
    pub(crate) off: Map<String, Value>,
    /// Weakest first, unless in the catalogue.
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
