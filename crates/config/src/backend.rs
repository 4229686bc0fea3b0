//! The values of `llm.provider.backend`.

/// Who runs language models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// Nobody.
    None,
    /// The Anthropic API.
    Anthropic,
    /// Anthropic models on Google Vertex AI.
    Vertex,
    /// An AI gateway.
    Gateway,
    /// The user's own local Claude Code session.
    ClaudeCode,
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

impl Backend {
    /// All backends, in the order in which they are listed to people.
    pub const ALL: [Self; 15] = [
        Self::None,
        Self::Anthropic,
        Self::Vertex,
        Self::Gateway,
        Self::ClaudeCode,
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

    /// The spelling in `ktx.yaml`, of the backend and of its block under `llm.provider`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Anthropic => "anthropic",
            Self::Vertex => "vertex",
            Self::Gateway => "gateway",
            Self::ClaudeCode => "claude-code",
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

    /// Finds the backend with this spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|backend| backend.as_str() == text)
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
