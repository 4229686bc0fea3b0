//! Finds a model's row by its id.

use std::sync::OnceLock;

use fancy_regex::Regex;
use serde::Deserialize;

use crate::table::{Model, PriceTable, PriceTableError};

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Match {
    Equals(String),
    Regex(Pattern),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Or(Vec<Self>),
    And(Vec<Self>),
}

/// How specific a match is: exact ids first, then patterns, then the longest prefix, then
/// substrings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Part,
    Prefix(usize),
    Pattern,
    Exact,
}

impl Match {
    fn strength(&self, id: &str) -> Option<Strength> {
        match self {
            Self::Equals(text) => (id == text).then_some(Strength::Exact),
            Self::Regex(pattern) => pattern.matches(id).then_some(Strength::Pattern),
            Self::StartsWith(text) => id
                .starts_with(text.as_str())
                .then_some(Strength::Prefix(text.len())),
            Self::EndsWith(text) => id.ends_with(text.as_str()).then_some(Strength::Part),
            Self::Contains(text) => id.contains(text.as_str()).then_some(Strength::Part),
            Self::Or(any) => any.iter().filter_map(|one| one.strength(id)).max(),
            Self::And(all) => {
                let found: Option<Vec<Strength>> = all.iter().map(|one| one.strength(id)).collect();
                found.and_then(|found| found.into_iter().min())
            }
        }
    }
}

/// A pattern of the table, with look-around, in the spelling of its source. Compiled on first use,
/// then cached.
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
        // `PriceTable::check_patterns` refuses a table with a pattern that cannot be compiled.
        self.compiled
            .get_or_init(|| Regex::new(&self.text).ok())
            .as_ref()
    }

    fn matches(&self, id: &str) -> bool {
        // A pattern that exceeds its limits on an id does not match.
        self.compiled()
            .is_some_and(|pattern| pattern.is_match(id).unwrap_or(false))
    }
}

impl Match {
    fn can_be_used(&self) -> bool {
        match self {
            Self::Regex(pattern) => pattern.compiled().is_some(),
            Self::Or(parts) | Self::And(parts) => parts.iter().all(Self::can_be_used),
            Self::Equals(_) | Self::StartsWith(_) | Self::EndsWith(_) | Self::Contains(_) => true,
        }
    }
}

impl PriceTable {
    /// Refuses patterns that cannot be compiled, because they would silently match nothing.
    pub(crate) fn check_patterns(&self) -> Result<(), PriceTableError> {
        let mut models = self.providers.iter().flat_map(|provider| &provider.models);
        match models.find(|model| !model.matching.can_be_used()) {
            None => Ok(()),
            Some(model) => Err(PriceTableError::Pattern {
                model: model.id.clone(),
            }),
        }
    }

    /// Returns the row of a model: the best match for any spelling of the id, earlier spellings
    /// first. A provider's fallback providers come after it.
    pub(crate) fn model(&self, provider: &str, id: &str) -> Option<&Model> {
        let entry = self
            .providers
            .iter()
            .find(|candidate| candidate.id == provider)?;
        let mut best: Option<(Strength, &Model)> = None;
        for spelling in spellings(id) {
            for model in &entry.models {
                if let Some(strength) = model.matching.strength(&spelling)
                    && best.is_none_or(|(held, _)| strength > held)
                {
                    best = Some((strength, model));
                }
            }
        }
        best.map(|(_, model)| model)
            .or_else(|| entry.fallback.iter().find_map(|next| self.model(next, id)))
    }
}

impl Model {
    /// Returns whether a regional endpoint of Vertex AI costs more for it: Claude from 4.5 on. A
    /// Claude without a version in its id counts as new.
    pub(crate) fn costs_more_in_a_region(&self) -> bool {
        if !self.id.starts_with("claude") {
            return false;
        }
        // A part with more digits is a date.
        let mut version = self
            .id
            .split(['-', '.', '@'])
            .filter(|part| part.len() <= 2)
            .filter_map(|part| part.parse::<u32>().ok()); // a word is no version
        match (version.next(), version.next()) {
            (Some(major), minor) => (major, minor.unwrap_or(0)) >= (4, 5),
            (None, _) => true,
        }
    }
}

/// Returns the spellings of an id, in lookup order: unchanged, without the vendors of gateways,
/// without `[1m]`, without Vertex's `@default` and `@date`, and with `-` for `.` in Claude ids.
pub(crate) fn spellings(id: &str) -> Vec<String> {
    let id = id.trim();
    let mut found = vec![id.to_owned()];
    let lower = id.to_lowercase();
    let mut rest = Some(lower.trim_end_matches("[1m]").trim_end_matches("@default"));
    while let Some(name) = rest {
        let mut names = vec![name.to_owned()];
        if let Some((plain, date)) = name.split_once('@')
            && date.bytes().all(|byte| byte.is_ascii_digit())
        {
            names.push(plain.to_owned());
        }
        if name.contains("claude") && name.contains('.') {
            names.extend(names.clone().iter().map(|name| name.replace('.', "-")));
        }
        found.extend(names);
        rest = name.split_once('/').map(|(_, rest)| rest);
    }
    found
}
