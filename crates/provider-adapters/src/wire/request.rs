//! A request in provider-independent form.

use ktx_llm_runtime::{Dialect, Message, ReasoningRule, ReasoningWindow};
use serde_json::{Map, Value};

use crate::caching::{CacheOverrides, PromptCaching};
use crate::catalogue::{Capability, ModelFacts};
use crate::preset::{PresetRow, Protocol, ToolChoiceValue};

#[derive(Debug, Clone, Default)]
pub(crate) struct CanonicalRequest {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    /// Sorted by name.
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) output: OutputForm,
    pub(crate) thinking: Thinking,
    /// Sent only to models that accept it.
    pub(crate) temperature: Option<f64>,
    pub(crate) max_output: Option<u64>,
    pub(crate) limit: OutputLimit,
    pub(crate) delivery: Delivery,
    pub(crate) caching: Option<PromptCaching>,
    /// The id of the reply that this call continues; OpenAI Responses only.
    pub(crate) previous_response: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSpec {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    #[default]
    Auto,
    /// Exactly this one.
    Named(String),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum OutputForm {
    #[default]
    Text,
    /// An object of this schema, enforced by the provider.
    Schema {
        schema: Value,
        strictness: Strictness,
    },
    Json,
}

/// Whether a schema obeys the provider's strict rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    Strict,
    Loose,
}

/// Whether the model should think before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// As little as the model allows.
    #[default]
    Off,
    /// As the model decides.
    On,
}

/// How the output limit is sent, adapted to what a server refused before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OutputLimit {
    /// In the usual field of provider and model.
    #[default]
    Usual,
    /// In the field of Chat Completions that includes reasoning.
    WithReasoning,
    /// Not sent.
    Unnamed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Delivery {
    #[default]
    Stream,
    Whole,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VertexPlace {
    pub(crate) project: String,
    pub(crate) location: String,
}

/// How reasoning is requested, read and returned, for one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReasoningPlan {
    pub(crate) on: Map<String, Value>,
    pub(crate) off: Map<String, Value>,
    /// The response fields; the first one is written.
    pub(crate) fields: Vec<String>,
    pub(crate) window: Option<ReasoningWindow>,
}

/// The default output limit in tokens.
const LONGEST_ANSWER: u64 = 32_000;

/// The provider and model that a request is encoded for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The name written into `meta.provider`.
    pub(crate) provider: &'a str,
    pub(crate) protocol: Protocol,
    pub(crate) row: &'a PresetRow,
    pub(crate) facts: &'a ModelFacts,
    pub(crate) reasoning: &'a ReasoningPlan,
    pub(crate) vertex: Option<&'a VertexPlace>,
    pub(crate) cache: &'a CacheOverrides,
}

impl Target<'_> {
    pub(crate) fn dialect(&self) -> Dialect {
        Dialect {
            provider: self.provider.to_owned(),
            reasoning: match self.protocol {
                Protocol::OpenAiChat => ReasoningRule::Any,
                Protocol::Anthropic | Protocol::OpenAiResponses | Protocol::Gemini => {
                    ReasoningRule::OwnOnly
                }
            },
            window: self.reasoning.window.unwrap_or(ReasoningWindow::All),
        }
    }

    pub(crate) fn temperature(&self, request: &CanonicalRequest) -> Option<f64> {
        let thinks = request.thinking == Thinking::On && self.facts.can(Capability::Reasoning);
        request
            .temperature
            .filter(|_| self.facts.can(Capability::Sampling) && !thinks)
    }

    /// Returns the output limit in tokens; `None` for a server that accepts none.
    pub(crate) fn output_limit(&self, request: &CanonicalRequest) -> Option<u64> {
        if request.limit == OutputLimit::Unnamed {
            return None;
        }
        let most = self.facts.max_output.unwrap_or(u64::MAX);
        Some(request.max_output.unwrap_or(LONGEST_ANSWER).min(most))
    }

    /// Returns the forced tool, if the provider and the model accept one.
    pub(crate) fn forced_tool<'r>(&self, request: &'r CanonicalRequest) -> Option<&'r str> {
        match &request.tool_choice {
            ToolChoice::Named(name) if self.can_force_tools() => Some(name),
            ToolChoice::Named(_) | ToolChoice::Auto => None,
        }
    }

    pub(crate) fn can_force_tools(&self) -> bool {
        self.row.tool_choice.contains(&ToolChoiceValue::Named)
            && self.facts.can(Capability::ForcedTool)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Encoded {
    /// The path below the base address, with its query.
    pub(crate) path: String,
    /// Headers of the protocol, without credentials.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
}
