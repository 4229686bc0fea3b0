//! Who answers calls of a language model: the one list of providers and backends.

/// The names that one provider goes by.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    /// In `ktx.yaml`: the value of `llm.provider.backend` and the key of its block.
    config: &'static str,
    /// For people, inside a sentence.
    title: &'static str,
    /// In traces: the OpenTelemetry conventions for generative AI (1.41.0), else our own.
    trace: &'static str,
    /// In the ledger, as the system that counted the tokens (COG-13).
    ledger: &'static str,
    /// The environment variable that usually holds the key.
    key_variable: Option<&'static str>,
    /// Whose rows of the price table hold, in order; a gateway's depend on the model.
    prices: &'static [&'static str],
}

/// Makes the enum, its list and its table from one row for each provider.
macro_rules! providers {
    ($($(#[$doc:meta])+ $name:ident { $($field:ident: $value:expr),+ $(,)? })+) => {
        /// A provider of language models that is reached over HTTP.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Provider {
            $($(#[$doc])+ $name,)+
        }

        impl Provider {
            /// All providers, in the order in which people see them.
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            const fn names(self) -> &'static Names {
                match self {
                    $(Self::$name => &Names { $($field: $value),+ },)+
                }
            }
        }
    };
}

providers! {
    /// The Anthropic API.
    Anthropic {
        config: "anthropic",
        title: "the Anthropic API",
        trace: "anthropic",
        ledger: "anthropic_api",
        key_variable: Some("ANTHROPIC_API_KEY"),
        prices: &["anthropic"],
    }
    /// Claude on Google Vertex AI.
    Vertex {
        config: "vertex",
        title: "Claude on Vertex AI",
        trace: "gcp.vertex_ai",
        ledger: "vertex",
        key_variable: Some("GOOGLE_APPLICATION_CREDENTIALS"),
        prices: &["google"],
    }
    /// The Vercel AI Gateway.
    Gateway {
        config: "gateway",
        title: "the Vercel AI Gateway",
        trace: "gateway",
        ledger: "gateway",
        key_variable: Some("AI_GATEWAY_API_KEY"),
        prices: &[],
    }
    /// The OpenAI API.
    OpenAi {
        config: "openai",
        title: "the OpenAI API",
        trace: "openai",
        ledger: "openai",
        key_variable: Some("OPENAI_API_KEY"),
        prices: &["openai"],
    }
    /// The Gemini API.
    Gemini {
        config: "gemini",
        title: "the Gemini API",
        trace: "gcp.gemini",
        ledger: "gemini",
        key_variable: Some("GEMINI_API_KEY"),
        prices: &["google"],
    }
    /// The DeepSeek API.
    DeepSeek {
        config: "deepseek",
        title: "the DeepSeek API",
        trace: "deepseek",
        ledger: "deepseek",
        key_variable: Some("DEEPSEEK_API_KEY"),
        prices: &["deepseek"],
    }
    /// The Qwen API.
    Qwen {
        config: "qwen",
        title: "the Qwen API",
        trace: "qwen",
        ledger: "qwen",
        key_variable: Some("DASHSCOPE_API_KEY"),
        prices: &["qwen"],
    }
    /// The GLM API, on either of the company's two platforms: some models are on one of them only.
    Glm {
        config: "glm",
        title: "the GLM API",
        trace: "glm",
        ledger: "glm",
        key_variable: Some("ZAI_API_KEY"),
        prices: &["zai", "zhipuai"],
    }
    /// The MiniMax API.
    MiniMax {
        config: "minimax",
        title: "the MiniMax API",
        trace: "minimax",
        ledger: "minimax",
        key_variable: Some("MINIMAX_API_KEY"),
        prices: &["minimax"],
    }
    /// The Kimi API.
    Kimi {
        config: "kimi",
        title: "the Kimi API",
        trace: "moonshot_ai",
        ledger: "kimi",
        key_variable: Some("MOONSHOT_API_KEY"),
        prices: &["moonshotai"],
    }
    /// The Groq API.
    Groq {
        config: "groq",
        title: "the Groq API",
        trace: "groq",
        ledger: "groq",
        key_variable: Some("GROQ_API_KEY"),
        prices: &["groq"],
    }
    /// The Cerebras API.
    Cerebras {
        config: "cerebras",
        title: "the Cerebras API",
        trace: "cerebras",
        ledger: "cerebras",
        key_variable: Some("CEREBRAS_API_KEY"),
        prices: &["cerebras"],
    }
    /// Any server that speaks the OpenAI protocol. Only a price table of the project has rows for
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
    /// The spelling in `ktx.yaml`.
    pub const fn as_str(self) -> &'static str {
        self.names().config
    }

    /// The name for people, which fits into a sentence: `the OpenAI API`.
    pub const fn title(self) -> &'static str {
        self.names().title
    }

    /// The name in traces.
    pub const fn trace_name(self) -> &'static str {
        self.names().trace
    }

    /// The name in the ledger.
    pub const fn ledger_name(self) -> &'static str {
        self.names().ledger
    }

    /// The environment variable that holds the key when `ktx.yaml` names none.
    pub const fn key_variable(self) -> Option<&'static str> {
        self.names().key_variable
    }

    /// The providers of the price table whose rows hold, in order; empty where they depend on the
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
    /// The user's own local Claude Code session.
    ClaudeCode,
    /// A provider over HTTP.
    Http(Provider),
}

impl Backend {
    /// All backends: the five that KTX 0.12 lists, in its order, then the other providers.
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

    /// The spelling in `ktx.yaml`, of the backend and of its block under `llm.provider`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClaudeCode => "claude-code",
            Self::Http(provider) => provider.as_str(),
        }
    }

    /// Finds the backend with this spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|backend| backend.as_str() == text)
    }
}

impl Backend {
    /// Whether temperature, `top_p` and a limit of the answer can be sent to any of its models.
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
