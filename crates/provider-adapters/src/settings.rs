//! The settings of the adapter.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use ktx_http::Proxy;
use ktx_llm_runtime::{Governor, GovernorSettings, LlmError, LlmErrorKind, OpenGate, TurnGate};
use ktx_secrets::Secret;
use ktx_vocabulary::{ModelRole, Provider};

use crate::caching::{CacheOverrides, PromptCaching};
use crate::clock::UnixClock;
use crate::credentials::GoogleCredentials;
use crate::preset::{self, Protocol};
use crate::reasoning::ReasoningOverrides;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub first_byte: Duration,
    /// Any byte counts, a keep-alive too.
    pub between_bytes: Duration,
    /// Keep-alives are not content.
    pub idle: Duration,
    /// Counted from the request.
    pub total: Duration,
    pub tool: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            first_byte: Duration::from_mins(2),
            between_bytes: Duration::from_mins(1),
            idle: Duration::from_mins(5),
            total: Duration::from_hours(1),
            tool: Duration::from_mins(10),
        }
    }
}

#[derive(Debug, Clone)]
pub enum RateLimit {
    Own(GovernorSettings),
    Shared(Governor),
}

impl Default for RateLimit {
    fn default() -> Self {
        Self::Own(GovernorSettings::default())
    }
}

#[derive(Debug, Clone)]
pub struct VertexSettings {
    pub project: Option<String>,
    /// Region, `global`, `us` or `eu`.
    pub location: String,
    pub credentials: GoogleCredentials,
}

#[derive(Debug, Clone)]
pub struct HttpSettings {
    pub provider: Provider,
    /// Required by every preset but `vertex` and `openai-compatible`.
    pub api_key: Option<Secret>,
    /// Replaces the preset's; required by `openai-compatible`.
    pub base_url: Option<String>,
    /// Required by `vertex`.
    pub vertex: Option<VertexSettings>,
    /// [`ModelRole::Default`] is required (KTX-04).
    pub models: BTreeMap<ModelRole, String>,
    pub protocol: Option<Protocol>,
    pub reasoning: ReasoningOverrides,
    pub caching: PromptCaching,
    pub cache: CacheOverrides,
    pub rate_limit: RateLimit,
    /// Can refuse a turn before it is billed.
    pub gate: Arc<dyn TurnGate>,
    pub timeouts: Timeouts,
    pub proxy: Proxy,
    pub clock: UnixClock,
    pub ignored_fields: Vec<String>,
}

impl HttpSettings {
    /// One model for every role.
    pub fn new(
        provider: Provider,
        api_key: Option<Secret>,
        default_model: impl Into<String>,
    ) -> Self {
        Self {
            provider,
            api_key,
            base_url: None,
            vertex: None,
            models: BTreeMap::from([(ModelRole::Default, default_model.into())]),
            protocol: None,
            reasoning: ReasoningOverrides::default(),
            caching: PromptCaching::default(),
            cache: CacheOverrides::default(),
            rate_limit: RateLimit::default(),
            gate: Arc::new(OpenGate),
            timeouts: Timeouts::default(),
            proxy: Proxy::default(),
            clock: UnixClock::default(),
            ignored_fields: Vec::new(),
        }
    }

    /// Or the default role's (KTX-04).
    pub(crate) fn model(&self, role: ModelRole) -> Option<&str> {
        self.models
            .get(&role)
            .or_else(|| self.models.get(&ModelRole::Default))
            .map(String::as_str)
    }

    pub(crate) fn checked(&self) -> Result<(), LlmError> {
        let provider = self.provider;
        if !self.models.contains_key(&ModelRole::Default) {
            return Err(LlmError::new(
                LlmErrorKind::InvalidRequest,
                format!("the `{provider}` backend has no model for the role `default`"),
            )
            .hint("set `llm.models.default` in `ktx.yaml`"));
        }
        for (role, model) in &self.models {
            if model.trim().is_empty() || model.chars().any(char::is_control) {
                return Err(LlmError::new(
                    LlmErrorKind::InvalidRequest,
                    format!("the model `{model}` of the role `{role}` is not a model id"),
                )
                .hint("use an alias (`sonnet`, `opus`, `haiku`) or a full model id"));
            }
            if let Some(reason) = preset::row(provider).unsupported.get(model) {
                return Err(LlmError::new(
                    LlmErrorKind::InvalidRequest,
                    format!("the model `{model}` cannot be used: {reason}"),
                )
                .hint(format!("choose another model for the role `{role}`")));
            }
        }
        self.check_access()
    }

    fn check_access(&self) -> Result<(), LlmError> {
        let provider = self.provider;
        let key_is_there = self
            .api_key
            .as_ref()
            .is_some_and(|key| !key.expose().trim().is_empty());
        match provider {
            Provider::Vertex if self.vertex.is_none() => Err(LlmError::new(
                LlmErrorKind::Auth,
                "the `vertex` backend has no location and no credentials",
            )
            .hint(
                "set `llm.provider.vertex.location` in `ktx.yaml` and run \
                 `gcloud auth application-default login`, or set `GOOGLE_APPLICATION_CREDENTIALS`",
            )),
            Provider::OpenAiCompatible if self.base_url.is_none() => Err(LlmError::new(
                LlmErrorKind::InvalidRequest,
                "the `openai-compatible` backend has no address",
            )
            .hint("set `llm.provider.openai-compatible.base_url` in `ktx.yaml`")),
            Provider::Vertex | Provider::OpenAiCompatible => Ok(()),
            _ if key_is_there => Ok(()),
            _ => {
                let variable = provider.key_variable().unwrap_or_default();
                Err(LlmError::new(
                    LlmErrorKind::Auth,
                    format!("the `{provider}` backend has no API key"),
                )
                .hint(format!(
                    "set the environment variable `{variable}`, or \
                     `llm.provider.{provider}.api_key` in `ktx.yaml`"
                )))
            }
        }
    }
}
