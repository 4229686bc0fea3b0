//! Finding a model's row by its id.

use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;

use crate::table::{Model, PriceTable};

/// A condition on a model id.
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

/// How well a condition holds: exact ids first, then patterns, then the longest prefix, then parts.
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

/// A pattern of the table: literal text, `\.`, `\d`, `\d{n}`, `[…]` classes, `?`, `*`, `+`, `|` and
/// groups, anchored or not. Compiled when it is first asked for, then kept.
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
    fn matches(&self, id: &str) -> bool {
        // A pattern that cannot be compiled matches nothing; the table's own test vectors would show it.
        self.compiled
            .get_or_init(|| Regex::new(&self.text).ok())
            .as_ref()
            .is_some_and(|pattern| pattern.is_match(id))
    }
}

impl PriceTable {
    /// The row of a model; a provider's fall-back providers are asked after it.
    pub(crate) fn model(&self, provider: &str, id: &str) -> Option<&Model> {
        let entry = self
            .providers
            .iter()
            .find(|candidate| candidate.id == provider)?;
        for candidate in spellings(id) {
            let mut best: Option<(Strength, &Model)> = None;
            for model in &entry.models {
                if let Some(strength) = model.matching.strength(&candidate)
                    && best.is_none_or(|(held, _)| strength > held)
                {
                    best = Some((strength, model));
                }
            }
            if let Some((_, model)) = best {
                return Some(model);
            }
        }
        entry.fallback.iter().find_map(|next| self.model(next, id))
    }
}

/// The spellings under which an id is looked up, as it is first: without the vendor of gateways,
/// without `[1m]`, without Vertex's `@default` and `@date`, and with `-` for `.` between digits in
/// Claude ids.
fn spellings(id: &str) -> Vec<String> {
    let id = id.trim().to_lowercase();
    let id = id.rsplit_once('/').map_or(id.as_str(), |(_, rest)| rest);
    let id = id.strip_suffix("[1m]").unwrap_or(id);
    let id = id.strip_suffix("@default").unwrap_or(id);
    let mut found = vec![id.to_owned()];
    if let Some((plain, date)) = id.split_once('@')
        && date.bytes().all(|byte| byte.is_ascii_digit())
    {
        found.push(plain.to_owned());
    }
    if id.starts_with("claude") && id.contains('.') {
        found.extend(found.clone().iter().map(|id| id.replace('.', "-")));
    }
    found
}
