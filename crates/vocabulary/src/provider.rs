//! Providers and backends of language models.

#[derive(Debug, PartialEq, Eq)]
struct ProviderNames {
    /// The value of `llm.provider.backend` in `ktx.yaml` and the key of its block.
    config: &'static str,
    /// The name for display, inside a sentence.
    title: &'static str,
    /// The name in traces: the OpenTelemetry conventions for generative AI (1.41.0), else our own.
    trace: &'static str,
    /// The name in the ledger, as the system that counted the tokens (COG-13).
    ledger: &'static str,
    /// The environment variable that usually holds the key.
    key_variable: Option<&'static str>,
    /// The providers in the price table whose rows apply, in order; a gateway's depend on the
    /// model.
    prices: &'static [&'static str],
}

/// Makes the enum, its list and its table, one row per provider.
macro_rules! providers {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $value:expr),+ $(,)? })+) => {
        /// A provider of language models over HTTP.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Provider {
            $($(#[$doc])* $name,)+
        }

        impl Provider {
            /// All providers, in display order.
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            const fn names(self) -> &'static ProviderNames {
                match self {
                    $(Self::$name => &ProviderNames { $($field: $value),+ },)+
                }
            }
        }
    };
}

providers! {
    Anthropic {
        config: "anthropic",
        title: "the Anthropic API",
        trace: "anthropic",
        ledger: "anthropic_api",
        key_variable: Some("ANTHROPIC_API_KEY"),
        prices: &["anthropic"],
    }
    Vertex {
        config: "vertex",
        title: "Claude on Vertex AI",
        trace: "gcp.vertex_ai",
        ledger: "vertex",
        key_variable: Some("GOOGLE_APPLICATION_CREDENTIALS"),
        prices: &["google"],
    }
    Gateway {
        config: "gateway",
        title: "the Vercel AI Gateway",
        trace: "gateway",
        ledger: "gateway",
        key_variable: Some("AI_GATEWAY_API_KEY"),
        prices: &[],
    }
    OpenAi {
        config: "openai",
        title: "the OpenAI API",
        trace: "openai",
        ledger: "openai",
        key_variable: Some("OPENAI_API_KEY"),
        prices: &["openai"],
    }
    Gemini {
        config: "gemini",
        title: "the Gemini API",
        trace: "gcp.gemini",
        ledger: "gemini",
        key_variable: Some("GEMINI_API_KEY"),
        prices: &["google"],
    }
    DeepSeek {
        config: "deepseek",
        title: "the DeepSeek API",
        trace: "deepseek",
        ledger: "deepseek",
        key_variable: Some("DEEPSEEK_API_KEY"),
        prices: &["deepseek"],
    }
    Qwen {
        config: "qwen",
        title: "the Qwen API",
        trace: "qwen",
        ledger: "qwen",
        key_variable: Some("DASHSCOPE_API_KEY"),
        prices: &["qwen"],
    }
    /// Either of the company's two platforms: some models are on only one of them.
    Glm {
        config: "glm",
        title: "the GLM API",
        trace: "glm",
        ledger: "glm",
        key_variable: Some("ZAI_API_KEY"),
        prices: &["zai", "zhipuai"],
    }
    MiniMax {
        config: "minimax",
        title: "the MiniMax API",
        trace: "minimax",
        ledger: "minimax",
        key_variable: Some("MINIMAX_API_KEY"),
        prices: &["minimax"],
    }
    Kimi {
        config: "kimi",
        title: "the Kimi API",
        trace: "moonshot_ai",
        ledger: "kimi",
        key_variable: Some("MOONSHOT_API_KEY"),
        prices: &["moonshotai"],
    }
    Groq {
        config: "groq",
        title: "the Groq API",
        trace: "groq",
        ledger: "groq",
        key_variable: Some("GROQ_API_KEY"),
        prices: &["groq"],
    }
    Cerebras {
        config: "cerebras",
        title: "the Cerebras API",
        trace: "cerebras",
        ledger: "cerebras",
        key_variable: Some("CEREBRAS_API_KEY"),
        prices: &["cerebras"],
    }
    /// Any server that speaks the OpenAI protocol. Only a project's own price table has rows for
    /// it: the server may be free.
    OpenAiCompatible {
        config: "openai-compatible",
        title: "an OpenAI-compatible server",
        trace: "openai-compatible",
        ledger: "openai_compatible",
        key_variable: None,
        prices: &["openai-compatible"],
    }
}

impl Provider {
    pub const fn as_str(self) -> &'static str {
        self.names().config
    }

    /// The display name inside a sentence: `the OpenAI API`.
    pub const fn title(self) -> &'static str {
        self.names().title
    }

    pub const fn trace_name(self) -> &'static str {
        self.names().trace
    }

    pub const fn ledger_name(self) -> &'static str {
        self.names().ledger
    }

    /// The environment variable that holds the key when `ktx.yaml` names none.
    pub const fn key_variable(self) -> Option<&'static str> {
        self.names().key_variable
    }

    /// The providers in the price table whose rows apply, in order; empty if they depend on the
    /// model.
    pub const fn price_rows(self) -> &'static [&'static str] {
        self.names().prices
    }
}

impl std::fmt::Display for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A value of `llm.provider.backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// No model is used.
    None,
    /// The user's local Claude Code session.
    ClaudeCode,
    Http(Provider),
}

impl Backend {
    /// The five that KTX 0.12 lists, in its order, then the other providers.
    pub fn all() -> impl Iterator<Item = Self> {
        const FIRST: [Backend; 5] = [
            Backend::None,
            Backend::Http(Provider::Anthropic),
            Backend::Http(Provider::Vertex),
            Backend::Http(Provider::Gateway),
            Backend::ClaudeCode,
        ];
        let later = Provider::ALL.into_iter().map(Self::Http);
        FIRST
            .into_iter()
            .chain(later.filter(|backend| !FIRST.contains(backend)))
    }

    /// The spelling in `ktx.yaml`: the value of `backend` and the key of its block under
    /// `llm.provider`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClaudeCode => "claude-code",
            Self::Http(provider) => provider.as_str(),
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|backend| backend.as_str() == text)
    }
}

impl Backend {
    /// Whether all its models take temperature, `top_p` and an output limit.
    pub const fn takes_sampling(self) -> bool {
        !matches!(self, Self::None | Self::ClaudeCode)
    }
}

impl From<Provider> for Backend {
    fn from(provider: Provider) -> Self {
        Self::Http(provider)
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
