//! Functions that the gate does not know: their names, and which of them a connection allows.

use std::fmt;
use std::sync::Arc;

/// One part of a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamePart {
    /// The part without its quotes.
    pub(crate) text: String,
    /// Whether the statement quotes it.
    pub(crate) quoted: bool,
}

/// The name of a function as a statement writes it, with its schema where one is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionName {
    parts: Vec<NamePart>,
}

impl FunctionName {
    /// A name from its parts, its own one last.
    pub(crate) fn new(parts: Vec<NamePart>) -> Self {
        Self { parts }
    }

    /// The parts as a server reads them that turns unquoted names into lower case.
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

    /// Whether an entry of a list, `name` or `schema.name`, means this name. An unquoted name has no case.
    fn is(&self, entry: &str) -> bool {
        let mut entry = entry.split('.');
        self.texts().all(|(text, quoted)| {
            entry.next().is_some_and(|entry| {
                entry == text || !quoted && entry.to_lowercase() == text.to_lowercase()
            })
        }) && entry.next().is_none()
    }

    /// The parts, those of a quoted path such as BigQuery's `` `project.dataset.name` `` one by one.
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

/// The functions that a connection allows in addition to those that the gate knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedFunctions {
    entries: Arc<[String]>,
    found: Vec<FunctionName>,
}

impl AllowedFunctions {
    /// The entries of `allowed_functions`: `name`, or `schema.name`, as statements write them.
    pub fn listed(entries: Vec<String>) -> Self {
        Self {
            entries: entries.into(),
            found: Vec::new(),
        }
    }

    /// The same and these names, of which the warehouse says that they only read.
    #[must_use]
    pub fn with(mut self, names: impl IntoIterator<Item = FunctionName>) -> Self {
        self.found.extend(names);
        self
    }

    /// Whether a statement may call the function.
    pub(crate) fn allows(&self, name: &FunctionName) -> bool {
        self.found.contains(name) || self.is_listed(name)
    }

    /// Whether `allowed_functions` names the function.
    pub(crate) fn is_listed(&self, name: &FunctionName) -> bool {
        self.entries.iter().any(|entry| name.is(entry))
    }
}

/// What the catalog of a warehouse says about the functions of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionVerdict {
    /// Each function that the name may mean only reads.
    Reads,
    /// One of them may write, or runs with the rights of its owner.
    MayWrite {
        /// Which one and why, such as `` `public.tax(numeric)` is VOLATILE ``.
        because: String,
    },
    /// The catalog shows no such function to the login.
    NotFound,
    /// The warehouse does not record what its functions do.
    NotRecorded,
}
