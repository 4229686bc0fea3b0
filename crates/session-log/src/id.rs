//! Session ids, which are also folder names.

use serde::{Deserialize, Serialize};

const LONGEST: usize = 64;

/// Invariant: matches `^[a-z0-9][a-z0-9-]{0,63}$`, which is safe as a folder name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a session id: use at most 64 lower-case letters, digits and `-`; the first is not `-`"
)]
pub struct InvalidSessionId {
    /// The beginning of the text.
    pub text: String,
}

impl SessionId {
    pub fn parse(text: &str) -> Result<Self, InvalidSessionId> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !text.is_empty()
            && text.len() <= LONGEST
            && !text.starts_with('-')
            && text.bytes().all(fits)
        {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidSessionId {
            text: text.chars().take(LONGEST).collect(),
        })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = InvalidSessionId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}
