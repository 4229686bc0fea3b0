//! Prompt cache lifetimes.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CacheTtl {
    #[serde(rename = "5m")]
    FiveMinutes,
    #[serde(rename = "1h")]
    OneHour,
}

impl CacheTtl {
    /// The spelling in `ktx.yaml` and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::OneHour => "1h",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::FiveMinutes, Self::OneHour]
            .into_iter()
            .find(|ttl| ttl.as_str() == text)
    }
}
