//! The providers as data: where they are, which protocol they speak and where they differ.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ktx_llm_runtime::{ReasoningWindow, SourceSystem};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A provider, by its value of `llm.provider.backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// The Anthropic API.
    Anthropic,
    /// Claude on Vertex AI.
    Vertex,
    /// The Vercel AI Gateway.
    Gateway,
    /// The OpenAI API.
    OpenAi,
    /// The Gemini API.
    Gemini,
    /// The DeepSeek API.
    DeepSeek,
    /// The Qwen API.
    Qwen,
    /// The GLM API.
    Glm,
    /// The MiniMax API.
    MiniMax,
    /// The Kimi API.
    Kimi,
    /// The Groq API.
    Groq,
    /// The Cerebras API.
    Cerebras,
    /// Any server that speaks the OpenAI protocol.
    OpenAiCompatible,
}

impl Preset {
    /// All presets, in the order in which they are listed to people.
    pub const ALL: [Self; 13] = [
        Self::Anthropic,
        Self::Vertex,
        Self::Gateway,
        Self::OpenAi,
        Self::Gemini,
        Self::DeepSeek,
        Self::Qwen,
        Self::Glm,
        Self::MiniMax,
        Self::Kimi,
        Self::Groq,
        Self::Cerebras,
        Self::OpenAiCompatible,
    ];

    /// The spelling in `ktx.yaml`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Vertex => "vertex",
            Self::Gateway => "gateway",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::DeepSeek => "deepseek",
            Self::Qwen => "qwen",
            Self::Glm => "glm",
            Self::MiniMax => "minimax",
            Self::Kimi => "kimi",
            Self::Groq => "groq",
            Self::Cerebras => "cerebras",
            Self::OpenAiCompatible => "openai-compatible",
        }
    }

    /// The provider as the `OpenTelemetry` conventions for generative AI (1.41.0) name it; those that
    /// have no name there keep ours.
    pub const fn trace_name(self) -> &'static str {
        match self {
            Self::Vertex => "gcp.vertex_ai",
            Self::Gemini => "gcp.gemini",
            Self::Kimi => "moonshot_ai",
            other => other.as_str(),
        }
    }

    /// Finds the preset with this spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == text)
    }

    /// The environment variable that holds the key when `ktx.yaml` names none; `None` where there
    /// is no usual one.
    pub fn env_key(self) -> Option<&'static str> {
        let key = self.row().env_key.as_str();
        (!key.is_empty()).then_some(key)
    }

    /// The name of the provider for people.
    pub fn title(self) -> &'static str {
        &self.row().title
    }

    /// Who counts the tokens.
    pub const fn source_system(self) -> SourceSystem {
        match self {
            Self::Anthropic => SourceSystem::AnthropicApi,
            Self::Vertex => SourceSystem::Vertex,
            Self::Gateway => SourceSystem::Gateway,
            Self::OpenAi => SourceSystem::OpenAi,
            Self::Gemini => SourceSystem::Gemini,
            Self::DeepSeek => SourceSystem::DeepSeek,
            Self::Qwen => SourceSystem::Qwen,
            Self::Glm => SourceSystem::Glm,
            Self::MiniMax => SourceSystem::MiniMax,
            Self::Kimi => SourceSystem::Kimi,
            Self::Groq => SourceSystem::Groq,
            Self::Cerebras => SourceSystem::Cerebras,
            Self::OpenAiCompatible => SourceSystem::OpenAiCompatible,
        }
    }

    pub(crate) fn row(self) -> &'static PresetRow {
        static EMPTY: LazyLock<PresetRow> = LazyLock::new(PresetRow::default);
        ROWS.get(self.as_str()).unwrap_or(&EMPTY)
    }
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A wire protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    #[default]
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Gemini `generateContent`.
    Gemini,
}

/// How an object is asked for, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StructuredForm {
    /// The provider holds the model to the schema.
    Native,
    /// The model must call one tool whose arguments are the object.
    Tool,
    /// The provider holds the model to JSON; the schema stands in the prompt.
    JsonObject,
    /// The schema stands in the prompt.
    Prompt,
}

/// Which values of `tool_choice` a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolChoiceValue {
    Auto,
    None,
    Required,
    Named,
}

/// How a provider caches prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CacheKind {
    /// By itself, or not at all.
    #[default]
    Auto,
    /// Where the request has markers.
    Explicit,
}

/// One row of `data/presets.json`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PresetRow {
    pub(crate) title: String,
    pub(crate) protocol: Protocol,
    pub(crate) protocol_by_prefix: BTreeMap<String, Protocol>,
    pub(crate) base_url: Option<String>,
    pub(crate) env_key: String,
    /// The providers of the model catalogue that are asked, in this order.
    pub(crate) catalogue: Vec<String>,
    pub(crate) max_tokens_field: Option<String>,
    pub(crate) structured: Vec<StructuredForm>,
    pub(crate) tool_choice: Vec<ToolChoiceValue>,
    pub(crate) cache: CacheKind,
    pub(crate) cache_min_tokens: Option<u64>,
    pub(crate) cache_max_ttl: Option<String>,
    /// Whether `reasoning_effort` takes the catalogue's values.
    pub(crate) effort: bool,
    /// Whether models that the catalogue does not list take sampling values; set for the families
    /// whose newest models refuse them.
    pub(crate) sampling_when_unlisted: Option<bool>,
    pub(crate) stream_params: Map<String, Value>,
    /// Models that cannot be used through this preset, with the reason.
    pub(crate) unsupported: BTreeMap<String, String>,
    pub(crate) aliases: BTreeMap<String, String>,
    pub(crate) reasoning: ReasoningRow,
}

/// How reasoning is asked for, read and given back.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReasoningRow {
    /// The response fields, the first one also being the field that is written.
    pub(crate) fields: Vec<String>,
    pub(crate) window: Window,
    pub(crate) on: Map<String, Value>,
    pub(crate) off: Map<String, Value>,
    pub(crate) variants: Vec<ReasoningVariant>,
}

/// What differs for the models whose id begins with `prefix`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReasoningVariant {
    pub(crate) prefix: String,
    pub(crate) window: Window,
    pub(crate) on: Map<String, Value>,
    pub(crate) off: Map<String, Value>,
}

/// The spelling of a [`ReasoningWindow`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Window {
    All,
    #[default]
    CurrentTurn,
    Strip,
}

impl From<Window> for ReasoningWindow {
    fn from(window: Window) -> Self {
        match window {
            Window::All => Self::All,
            Window::CurrentTurn => Self::CurrentTurn,
            Window::Strip => Self::Strip,
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
