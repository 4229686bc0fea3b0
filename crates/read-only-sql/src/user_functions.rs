//! Functions that the gate does not know.

use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamePart {
    pub(crate) text: String,
    pub(crate) quoted: bool,
}

/// The name as a statement writes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionName {
    parts: Vec<NamePart>,
}

impl FunctionName {
    pub(crate) fn new(parts: Vec<NamePart>) -> Self {
        Self { parts }
    }

    /// For servers that convert unquoted names to lower case.
    pub fn lower_case_parts(&self) -> Vec<String> {
        self.parts
            .iter()
            .map(|part| {
                if part.quoted {
                    part.text.clone()
                } else {
                    part.text.to_lowercase()
                }
            })
            .collect()
    }

    /// Takes `name` or `schema.name`; ignores the case of an unquoted name.
    fn is(&self, entry: &str) -> bool {
        let mut entry = entry.split('.');
        self.texts().all(|(text, quoted)| {
            entry.next().is_some_and(|entry| {
                entry == text || !quoted && entry.to_lowercase() == text.to_lowercase()
            })
        }) && entry.next().is_none()
    }

    /// Splits quoted paths such as BigQuery's `` `project.dataset.name` ``.
    fn texts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.parts
            .iter()
            .flat_map(|part| part.text.split('.').map(|text| (text, part.quoted)))
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{}", part.text)?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedFunctions {
    entries: Arc<[String]>,
    found: Vec<FunctionName>,
}

impl AllowedFunctions {
    /// Takes `name` or `schema.name`.
    pub fn new(entries: Vec<String>) -> Self {
        Self {
            entries: entries.into(),
            found: Vec::new(),
        }
    }

    #[must_use]
    pub fn with(mut self, names: impl IntoIterator<Item = FunctionName>) -> Self {
        self.found.extend(names);
        self
    }

    pub(crate) fn allows(&self, name: &FunctionName) -> bool {
        self.found.contains(name) || self.is_listed(name)
    }

    pub(crate) fn is_listed(&self, name: &FunctionName) -> bool {
        self.entries.iter().any(|entry| name.is(entry))
    }
}
