//! Providers of agent files.

use crate::{Backend, Provider};

/// A `model.provider` of an agent file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentProvider {
    /// Never `none`.
    Backend(Backend),
    AzureOpenAi,
    /// Speaks the OpenAI protocol.
    Ollama,
}

impl AgentProvider {
    pub fn all() -> impl Iterator<Item = Self> {
        const FIRST: [AgentProvider; 4] = [
            AgentProvider::Backend(Backend::Http(Provider::Anthropic)),
            AgentProvider::Backend(Backend::Http(Provider::OpenAi)),
            AgentProvider::AzureOpenAi,
            AgentProvider::Ollama,
        ];
        let backends = Backend::all().filter(|backend| *backend != Backend::None);
        let later = backends.map(Self::Backend);
        FIRST
            .into_iter()
            .chain(later.filter(|provider| !FIRST.contains(provider)))
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Backend(backend) => backend.as_str(),
            Self::AzureOpenAi => "azure_openai",
            Self::Ollama => "ollama",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|provider| provider.as_str() == text)
    }

    /// The backend that runs its models (C-04).
    pub const fn backend(self, auth: AuthProvider) -> Backend {
        match self {
            Self::Backend(Backend::Http(Provider::Anthropic)) => auth.backend(),
            Self::Backend(backend) => backend,
            Self::AzureOpenAi | Self::Ollama => Backend::Http(Provider::OpenAiCompatible),
        }
    }

    pub const fn has_auth_providers(self) -> bool {
        matches!(self, Self::Backend(Backend::Http(Provider::Anthropic)))
    }

    /// True for Anthropic's models; a `claude` block applies to them.
    pub const fn serves_claude(self) -> bool {
        matches!(
            self,
            Self::Backend(
                Backend::ClaudeCode | Backend::Http(Provider::Anthropic | Provider::Vertex)
            )
        )
    }

    pub const fn gives_embeddings(self) -> bool {
        matches!(
            self,
            Self::AzureOpenAi | Self::Backend(Backend::Http(Provider::OpenAi))
        )
    }

    /// True if each user has an own address, as with Azure.
    pub const fn needs_address(self) -> bool {
        matches!(self, Self::AzureOpenAi)
    }

    /// The address without a setting, if not the provider's own.
    pub const fn usual_address(self) -> Option<&'static str> {
        match self {
            Self::Ollama => Some("http://127.0.0.1:11434/v1"),
            Self::AzureOpenAi | Self::Backend(_) => None,
        }
    }
}

/// A `model.auth_provider` for Anthropic models (HOLO-01).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthProvider {
    #[default]
    ApiKey,
    /// The local Claude Code session.
    OauthToken,
    Vertex,
}

impl AuthProvider {
    pub const ALL: [Self; 3] = [Self::ApiKey, Self::OauthToken, Self::Vertex];

    /// Unsupported values of HoloDeck.
    pub const LATER: [&str; 2] = ["bedrock", "foundry"];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::OauthToken => "oauth_token",
            Self::Vertex => "vertex",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|auth| auth.as_str() == text)
    }

    const fn backend(self) -> Backend {
        match self {
            Self::ApiKey => Backend::Http(Provider::Anthropic),
            Self::OauthToken => Backend::ClaudeCode,
            Self::Vertex => Backend::Http(Provider::Vertex),
        }
    }
}
