//! A request in provider-independent form.

use ktx_llm_runtime::{Dialect, Message, ReasoningRule, ReasoningWindow};
use serde_json::Value;

use crate::caching::{CacheOverrides, PromptCaching};
use crate::catalogue::{Capability, ModelFacts};
use crate::preset::{PresetRow, Protocol, ToolChoiceValue};
use crate::reasoning::ReasoningPlan;

#[derive(Debug, Clone, Default)]
pub(crate) struct CanonicalRequest {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    /// Sorted by name.
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) output: OutputForm,
    pub(crate) thinking: Thinking,
    /// If accepted.
    pub(crate) temperature: Option<f64>,
    /// If accepted.
    pub(crate) top_p: Option<f64>,
    pub(crate) max_output: Option<u64>,
    pub(crate) limit: OutputLimit,
    pub(crate) delivery: DeliveryMode,
    pub(crate) caching: Option<PromptCaching>,
    pub(crate) history: HistoryForm,
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
    Named(String),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum OutputForm {
    #[default]
    Text,
    Schema {
        schema: Value,
        strictness: Strictness,
    },
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    Strict,
    Loose,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// The model's minimum.
    #[default]
    Off,
    /// The model decides.
    On,
    /// Tokens.
    Budget(u32),
    Effort(String),
}

/// Adapted to what a server refused before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OutputLimit {
    #[default]
    Usual,
    WithReasoning,
    Unnamed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HistoryForm {
    /// Sends the id of a stored answer.
    #[default]
    ById,
    /// Sends the messages, because the provider does not know the id.
    Whole,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum DeliveryMode {
    #[default]
    Stream,
    Whole,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VertexLocation {
    pub(crate) project: String,
    pub(crate) location: String,
}

/// In tokens.
const LONGEST_ANSWER: u64 = 32_000;

/// Anthropic's minimum in tokens.
pub(crate) const LEAST_BUDGET: u64 = 1024;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestTarget<'a> {
    pub(crate) provider: &'a str,
    pub(crate) protocol: Protocol,
    pub(crate) row: &'a PresetRow,
    pub(crate) facts: &'a ModelFacts,
    pub(crate) reasoning: &'a ReasoningPlan,
    pub(crate) vertex: Option<&'a VertexLocation>,
    pub(crate) cache: &'a CacheOverrides,
}

impl RequestTarget<'_> {
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
            transport: self.reasoning.transport,
        }
    }

    pub(crate) fn temperature(&self, request: &CanonicalRequest) -> Option<f64> {
        request.temperature.filter(|_| self.samples(request))
    }

    pub(crate) fn top_p(&self, request: &CanonicalRequest) -> Option<f64> {
        request.top_p.filter(|_| self.samples(request))
    }

    fn samples(&self, request: &CanonicalRequest) -> bool {
        self.facts.can(Capability::Sampling) && !self.thinks(request)
    }

    pub(crate) fn thinks(&self, request: &CanonicalRequest) -> bool {
        self.thinks_always()
            .unwrap_or_else(|| match request.thinking {
                Thinking::Off => false,
                Thinking::Budget(_) => true,
                Thinking::On | Thinking::Effort(_) => self.thinks_by_default(),
            })
    }

    pub(crate) fn thinks_by_default(&self) -> bool {
        self.facts.can(match self.protocol {
            Protocol::Anthropic => Capability::ThinkingAdaptive,
            _ => Capability::Reasoning,
        })
    }

    pub(crate) fn thinks_always(&self) -> Option<bool> {
        let kind = self.claude_thinking()?.get("type")?.as_str()?;
        Some(kind != "disabled")
    }

    fn claude_thinking(&self) -> Option<&Value> {
        let params = self.reasoning.params.as_ref()?;
        params
            .get("thinking")
            .filter(|_| self.protocol == Protocol::Anthropic)
    }

    /// Included in the answer by Anthropic.
    fn thinking_budget(&self, request: &CanonicalRequest) -> Option<u64> {
        match (self.claude_thinking(), &request.thinking) {
            (Some(thinking), _) => thinking.get("budget_tokens")?.as_u64(),
            (None, Thinking::Budget(tokens)) if self.protocol == Protocol::Anthropic => {
                Some(u64::from(*tokens).max(LEAST_BUDGET))
            }
            _ => None,
        }
    }

    /// `None` if the server accepts none.
    pub(crate) fn output_limit(&self, request: &CanonicalRequest) -> Option<u64> {
        if request.limit == OutputLimit::Unnamed {
            return None;
        }
        let most = self.facts.max_output.unwrap_or(u64::MAX);
        let answer = request.max_output.unwrap_or(LONGEST_ANSWER);
        // A short answer gets its whole length after the thoughts.
        let limit = match self.thinking_budget(request) {
            Some(budget) if budget >= answer => budget.saturating_add(answer),
            _ => answer,
        };
        Some(limit.min(most))
    }

    pub(crate) fn forced_tool<'r>(&self, request: &'r CanonicalRequest) -> Option<&'r str> {
        match &request.tool_choice {
            ToolChoice::Named(name) if self.can_force_tools() => Some(name),
            ToolChoice::Named(_) | ToolChoice::Auto => None,
        }
    }

    pub(crate) fn can_force_tools(&self) -> bool {
        self.row.tool_choice.contains(&ToolChoiceValue::Named)
            && self.facts.can(Capability::ForcedTool)
            && self.thinks_always() != Some(true)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EncodedRequest {
    pub(crate) path: String,
    /// Without credentials.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
    /// Bytes of stored conversation, also billed.
    pub(crate) stored: usize,
}

impl EncodedRequest {
    pub(crate) fn bytes(&self) -> usize {
        self.body.to_string().len().saturating_add(self.stored)
    }
}
