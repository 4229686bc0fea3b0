//! Notion ids.

use serde::{Deserialize, Serialize};

/// 32 hexadecimal digits in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PageId(String);

impl PageId {
    /// Parses an id with or without dashes, or at the end of a page URL.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.split(['?', '#']).next().unwrap_or(text);
        let text = text.trim_end_matches('/');
        let last = text.rsplit('/').next().unwrap_or(text);
        let digits: String = last.chars().filter(|letter| *letter != '-').collect();
        // In a URL, the page title before the id may end in digits.
        let begin = digits.char_indices().rev().nth(31).map(|(at, _)| at)?;
        let id = digits.get(begin..)?;
        let is_alone = begin == 0 || text.contains('/') || last.len() > digits.len();
        let is_id = id.chars().all(|letter| letter.is_ascii_hexdigit());
        (is_id && is_alone).then(|| Self(id.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for PageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for PageId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a Notion id"))
    }
}

impl From<PageId> for String {
    fn from(id: PageId) -> Self {
        id.0
    }
}
