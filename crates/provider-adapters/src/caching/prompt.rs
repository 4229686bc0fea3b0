//! Which parts of a prompt are cached, and how long.

use ktx_vocabulary::CacheTtl;

/// `None`: unmarked (KTX-80).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptCaching {
    pub system: Option<CacheTtl>,
    pub tools: Option<CacheTtl>,
    pub history: Option<CacheTtl>,
}

impl PromptCaching {
    pub const OFF: Self = Self {
        system: None,
        tools: None,
        history: None,
    };

    /// Setting `vertexFallbackTo5m`.
    #[must_use]
    pub fn at_most_five_minutes(self) -> Self {
        let short = |part: Option<CacheTtl>| part.map(|_| CacheTtl::FiveMinutes);
        Self {
            system: short(self.system),
            tools: short(self.tools),
            history: short(self.history),
        }
    }
}

impl Default for PromptCaching {
    fn default() -> Self {
        Self {
            system: Some(CacheTtl::OneHour),
            tools: Some(CacheTtl::OneHour),
            history: Some(CacheTtl::FiveMinutes),
        }
    }
}
