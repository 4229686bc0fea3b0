//! How reasoning is requested, read and returned.

use ktx_llm_runtime::{LlmError, LlmErrorKind, ReasoningWindow, Transport};
use ktx_vocabulary::Provider;
use serde_json::{Map, Value};

use crate::catalogue::{Capability, ModelFacts};
use crate::preset::{PresetRow, Protocol};

/// The user's parameters never replace these.
const OWN_FIELDS: [&str; 12] = [
    "anthropic_version",
    "contents",
    "input",
    "instructions",
    "messages",
    "model",
    "previous_response_id",
    "stream",
    "system",
    "systemInstruction",
    "tool_choice",
    "tools",
];

/// Replaced as a whole: their members depend on each other.
const INDIVISIBLE: [&str; 3] = ["thinking", "reasoning", "thinkingConfig"];

/// KODE-12.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReasoningOverrides {
    /// Chat Completions only.
    pub field_name: Option<String>,
    /// Spelled as by the provider.
    pub request_params: Option<Map<String, Value>>,
    /// `historyPolicy` or `stripFromHistory`.
    pub window: Option<ReasoningWindow>,
    pub transport: Option<Transport>,
    pub store: Option<AnswerStorage>,
}

/// The next request can name a stored answer by its id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerStorage {
    #[default]
    Off,
    On,
}

impl ReasoningOverrides {
    pub fn parse(provider: Provider, written: &Map<String, Value>) -> Result<Self, LlmError> {
        let wrong = |key: &str, wanted: &str| {
            LlmError::new(
                LlmErrorKind::InvalidRequest,
                format!("`llm.provider.{provider}.reasoning.{key}` is not {wanted}"),
            )
            .hint("correct it in `ktx.yaml`")
        };
        let mut read = Self::default();
        for (key, value) in written.iter().filter(|(_, value)| !value.is_null()) {
            let text = value.as_str();
            let flag = value.as_bool();
            match key.as_str() {
                "fieldName" | "field_name" => {
                    let name = text.ok_or_else(|| wrong(key, "text"))?;
                    read.field_name = Some(name.to_owned());
                }
                "requestParams" | "request_params" => {
                    let params = value.as_object().ok_or_else(|| wrong(key, "an object"))?;
                    if let Some(own) = params
                        .keys()
                        .find(|name| OWN_FIELDS.contains(&name.as_str()))
                    {
                        let key = format!("{key}.{own}");
                        return Err(wrong(&key, "a parameter: ktx sets this field itself"));
                    }
                    read.request_params = Some(params.clone());
                }
                "stripFromHistory" | "strip_from_history" => {
                    let strips = flag.ok_or_else(|| wrong(key, "`true` or `false`"))?;
                    if strips {
                        read.window = Some(ReasoningWindow::Strip);
                    }
                }
                "historyPolicy" | "history_policy" => {
                    let window = text.and_then(window);
                    read.window =
                        Some(window.ok_or_else(|| wrong(key, "`strip`, `current_turn` or `all`"))?);
                }
                "transport" => {
                    let transport = text.and_then(transport);
                    read.transport =
                        Some(transport.ok_or_else(|| wrong(key, "`provider`, `text` or `omit`"))?);
                }
                "store" => {
                    let stores = flag.ok_or_else(|| wrong(key, "`true` or `false`"))?;
                    read.store = Some(if stores {
                        AnswerStorage::On
                    } else {
                        AnswerStorage::Off
                    });
                }
                other => return Err(wrong(other, "a known key")),
            }
        }
        Ok(read)
    }
}

fn window(name: &str) -> Option<ReasoningWindow> {
    match name {
        "strip" => Some(ReasoningWindow::Strip),
        "current_turn" => Some(ReasoningWindow::CurrentTurn),
        "all" => Some(ReasoningWindow::All),
        _ => None,
    }
}

fn transport(name: &str) -> Option<Transport> {
    match name {
        "provider" => Some(Transport::Provider),
        "text" => Some(Transport::Text),
        "omit" => Some(Transport::Omit),
        _ => None,
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReasoningPlan {
    pub(crate) on: Map<String, Value>,
    pub(crate) off: Map<String, Value>,
    pub(crate) params: Option<Map<String, Value>>,
    /// The first one is also written.
    pub(crate) fields: Vec<String>,
    pub(crate) window: Option<ReasoningWindow>,
    /// Chat Completions only; the catalogue overrides them.
    pub(crate) efforts: Vec<String>,
    /// Chat Completions only: the field for a number of tokens.
    pub(crate) budget_field: Option<String>,
    pub(crate) transport: Transport,
    /// Off if the protocol stores no answers.
    pub(crate) store: AnswerStorage,
}

impl ReasoningPlan {
    pub(crate) fn new(
        row: &PresetRow,
        facts: &ModelFacts,
        protocol: Protocol,
        overrides: &ReasoningOverrides,
    ) -> Self {
        let base = &row.reasoning;
        let variant = base
            .variants
            .iter()
            .find(|variant| facts.id.starts_with(&variant.prefix));
        let mut plan = Self {
            fields: base.fields.clone(),
            window: Some(base.window.into()),
            ..Self::default()
        };
        if let Some(variant) = variant {
            plan.window = Some(variant.window.into());
            plan.on.clone_from(&variant.on);
            plan.off.clone_from(&variant.off);
            plan.efforts.clone_from(&variant.efforts);
        } else if facts.can(Capability::Reasoning) {
            plan.on.clone_from(&base.on);
            plan.off.clone_from(&base.off);
            plan.efforts.clone_from(&base.efforts);
            plan.budget_field.clone_from(&base.budget_field);
        }
        if let Some(field) = &overrides.field_name {
            plan.fields.retain(|known| known != field);
            plan.fields.insert(0, field.clone());
        }
        plan.params.clone_from(&overrides.request_params);
        plan.transport = overrides.transport.unwrap_or_default();
        if protocol == Protocol::OpenAiResponses {
            plan.store = overrides.store.unwrap_or_default();
        }
        match overrides.window {
            // Claude refuses to continue a tool call without its thoughts.
            Some(ReasoningWindow::Strip) if protocol == Protocol::Anthropic => {
                plan.window = Some(ReasoningWindow::CurrentTurn);
            }
            Some(window) => plan.window = Some(window),
            None => {}
        }
        plan
    }

    pub(crate) fn is_fixed(&self, protocol: Protocol) -> bool {
        let Some(params) = &self.params else {
            return false;
        };
        let has = |key: &str| params.contains_key(key);
        let inner =
            |key: &str, name: &str| params.get(key).is_some_and(|it| it.get(name).is_some());
        match protocol {
            Protocol::Anthropic => has("thinking") || inner("output_config", "effort"),
            Protocol::OpenAiResponses => has("reasoning"),
            Protocol::Gemini => inner("generationConfig", "thinkingConfig"),
            Protocol::OpenAiChat => true,
        }
    }

    /// Merges only objects.
    pub(crate) fn complete(&self, body: &mut Map<String, Value>) {
        if let Some(params) = &self.params {
            merge(body, params);
        }
    }
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(from))
                if !INDIVISIBLE.contains(&key.as_str()) =>
            {
                merge(into, from);
            }
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}
