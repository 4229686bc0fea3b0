//! The model of a role: address, accepted fields, reasoning.

use std::collections::BTreeMap;

use ktx_llm_runtime::{LlmError, LlmErrorKind, ReasoningWindow};
use ktx_vocabulary::{ModelRole, Provider};

use crate::caching::CacheOverrides;
use crate::catalogue::{ModelFacts, model_facts};
use crate::http::address::{self, ApiKeyUse, BaseAddress};
use crate::preset::{self, PresetRow, Protocol};
use crate::reasoning::{AnswerStorage, ReasoningPlan};
use crate::settings::{HttpSettings, VertexSettings};
use crate::wire::request::{RequestTarget, VertexLocation};
use crate::wire::{anthropic, gemini, responses};

#[derive(Debug, Clone)]
pub(crate) struct RoleModel {
    pub(crate) base: BaseAddress,
    pub(crate) facts: ModelFacts,
    row: &'static PresetRow,
    protocol: Protocol,
    provider: &'static str,
    reasoning: ReasoningPlan,
    vertex: Option<VertexLocation>,
    cache: CacheOverrides,
    role: ModelRole,
}

impl RoleModel {
    pub(crate) fn target(&self) -> RequestTarget<'_> {
        RequestTarget {
            provider: self.provider,
            protocol: self.protocol,
            row: self.row,
            facts: &self.facts,
            reasoning: &self.reasoning,
            vertex: self.vertex.as_ref(),
            cache: &self.cache,
        }
    }

    pub(crate) fn stores(&self) -> bool {
        self.reasoning.store == AnswerStorage::On
    }

    pub(crate) fn has_strict_tools(&self) -> bool {
        self.row.strict_tools && self.protocol == Protocol::OpenAiChat
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.vertex.as_ref().map(|place| place.location.as_str())
    }

    /// True if no earlier role has the same model.
    pub(crate) fn has_own_model(&self, role_models: &BTreeMap<ModelRole, Self>) -> bool {
        role_models
            .range(..self.role)
            .all(|(_, other)| other.facts.id != self.facts.id)
    }
}

pub(crate) fn all(settings: &HttpSettings) -> Result<BTreeMap<ModelRole, RoleModel>, LlmError> {
    ModelRole::ALL
        .into_iter()
        .filter_map(|role| settings.model(role).map(|model| (role, model)))
        .map(|(role, model)| Ok((role, role_model(settings, role, model)?)))
        .collect()
}

fn role_model(
    settings: &HttpSettings,
    role: ModelRole,
    model: &str,
) -> Result<RoleModel, LlmError> {
    let provider = settings.provider;
    let row = preset::row(provider);
    let facts = model_facts(provider, model);
    let by_prefix = row
        .protocol_by_prefix
        .iter()
        .find(|(prefix, _)| facts.id.starts_with(prefix.as_str()))
        .map(|(_, protocol)| *protocol);
    let protocol = by_prefix.or(settings.protocol).unwrap_or(row.protocol);
    let vertex = settings
        .vertex
        .as_ref()
        .filter(|_| provider == Provider::Vertex)
        .map(vertex_place)
        .transpose()?;
    let key = match &settings.api_key {
        Some(key) if !key.expose().trim().is_empty() => ApiKeyUse::Sent,
        _ => ApiKeyUse::None,
    };
    let base = match (&settings.base_url, &vertex, &row.base_url) {
        (Some(base), _, _) => address::normalized(base, protocol, key)?,
        (None, Some(place), _) => address::vertex(&place.location),
        (None, None, Some(base)) => address::normalized(base, protocol, key)?,
        (None, None, None) => BaseAddress::default(),
    };
    let provider = match protocol {
        Protocol::Anthropic => anthropic::PROVIDER,
        Protocol::OpenAiResponses => responses::PROVIDER,
        Protocol::Gemini => gemini::PROVIDER,
        Protocol::OpenAiChat if provider == Provider::OpenAi => "openai-chat",
        Protocol::OpenAiChat => provider.as_str(),
    };
    let mut reasoning = ReasoningPlan::new(row, &facts, protocol, &settings.reasoning);
    if provider == "openai-chat" {
        // OpenAI's Chat Completions takes no reasoning back.
        reasoning.window = Some(ReasoningWindow::Strip);
    }
    Ok(RoleModel {
        base,
        facts,
        row,
        protocol,
        provider,
        reasoning,
        vertex,
        cache: settings.cache.clone(),
        role,
    })
}

fn vertex_place(vertex: &VertexSettings) -> Result<VertexLocation, LlmError> {
    let wrong = |what: &str, key: &str| {
        LlmError::new(LlmErrorKind::InvalidRequest, what.to_owned())
            .hint(format!("set `llm.provider.vertex.{key}` in `ktx.yaml`"))
    };
    let plain = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    let project = vertex
        .project
        .as_deref()
        .or_else(|| vertex.credentials.project())
        .filter(|project| plain(project))
        .ok_or_else(|| {
            wrong(
                "the `vertex` backend has no Google Cloud project",
                "project",
            )
        })?;
    if !plain(&vertex.location) {
        return Err(wrong(
            "the `vertex` backend has no usable location",
            "location",
        ));
    }
    Ok(VertexLocation {
        project: project.to_owned(),
        location: vertex.location.clone(),
    })
}
