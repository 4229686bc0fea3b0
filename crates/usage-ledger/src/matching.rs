//! Patterns of a price table, and how specific a match is.

use std::sync::OnceLock;

use fancy_regex::Regex;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelMatch {
    Equals(String),
    Regex(Pattern),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Or(Vec<Self>),
    And(Vec<Self>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchStrength {
    Part,
    Prefix(usize),
    Pattern,
    Exact,
}

impl ModelMatch {
    pub(crate) fn strength(&self, id: &str) -> Option<MatchStrength> {
        match self {
            Self::Equals(text) => (id == text).then_some(MatchStrength::Exact),
            Self::Regex(pattern) => pattern.matches(id).then_some(MatchStrength::Pattern),
            Self::StartsWith(text) => id
                .starts_with(text.as_str())
                .then_some(MatchStrength::Prefix(text.len())),
            Self::EndsWith(text) => id.ends_with(text.as_str()).then_some(MatchStrength::Part),
            Self::Contains(text) => id.contains(text.as_str()).then_some(MatchStrength::Part),
            Self::Or(any) => any.iter().filter_map(|one| one.strength(id)).max(),
            Self::And(all) => {
                let found: Option<Vec<MatchStrength>> =
                    all.iter().map(|one| one.strength(id)).collect();
                found.and_then(|found| found.into_iter().min())
            }
        }
    }
}

/// A pattern with look-around, compiled on first use.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
        }
    }
}

impl Pattern {
    fn compiled(&self) -> Option<&Regex> {
        // `PriceTable::check_patterns` has refused patterns that do not compile.
        self.compiled
            .get_or_init(|| Regex::new(&self.text).ok())
            .as_ref()
    }

    fn matches(&self, id: &str) -> bool {
        // A pattern that exceeds its limits does not match.
        self.compiled()
            .is_some_and(|pattern| pattern.is_match(id).unwrap_or(false))
    }
}

impl ModelMatch {
    pub(crate) fn can_be_used(&self) -> bool {
        match self {
            Self::Regex(pattern) => pattern.compiled().is_some(),
            Self::Or(parts) | Self::And(parts) => parts.iter().all(Self::can_be_used),
            Self::Equals(_) | Self::StartsWith(_) | Self::EndsWith(_) | Self::Contains(_) => true,
        }
    }
}
