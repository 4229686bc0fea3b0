//! Finds the row of a model by its id.

use crate::matching::MatchStrength;
use crate::table::{Model, PriceTable, PriceTableError};

impl PriceTable {
    /// Patterns that do not compile would silently match nothing.
    pub(crate) fn check_patterns(&self) -> Result<(), PriceTableError> {
        let mut models = self.providers.iter().flat_map(|provider| &provider.models);
        match models.find(|model| !model.matching.can_be_used()) {
            None => Ok(()),
            Some(model) => Err(PriceTableError::Pattern {
                model: model.id.clone(),
            }),
        }
    }

    /// Prefers earlier spellings; fallback providers come last.
    pub(crate) fn model(&self, provider: &str, id: &str) -> Option<&Model> {
        let entry = self
            .providers
            .iter()
            .find(|candidate| candidate.id == provider)?;
        let mut best: Option<(MatchStrength, &Model)> = None;
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
    /// True for Claude from 4.5 on at Vertex AI. Without a version it counts as new.
    pub(crate) fn has_regional_surcharge(&self) -> bool {
        if !self.id.starts_with("claude") {
            return false;
        }
        // A longer number is a date.
        let mut version = self
            .id
            .split(['-', '.', '@'])
            .filter(|part| part.len() <= 2)
            .filter_map(|part| part.parse::<u32>().ok()); // only numbers are versions
        match (version.next(), version.next()) {
            (Some(major), minor) => (major, minor.unwrap_or(0)) >= (4, 5),
            (None, _) => true,
        }
    }
}

/// In lookup order: unchanged, without gateway vendors, without `[1m]`, without Vertex's `@default`
/// and `@date`, with `-` for `.` in Claude ids.
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
