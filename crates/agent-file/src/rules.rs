//! Rules that involve several keys or the project.

mod capabilities;
mod cases;
mod formats;
mod keys;
mod references;

use std::path::Path;

use ktx_config::yaml::YamlPositions;
use ktx_diagnostics::{Code, Diagnostic};
use ktx_vocabulary::{AgentProvider, Backend};
use serde_json::Value;

use crate::check::{NamedPath, at_path};
use crate::folder::FileRoots;

pub(crate) use cases::{CaseRules, check_cases, check_paths};

/// Facts of the project. `None` and [`Embedding::Unknown`] disable the rules that need them.
#[derive(Debug, Clone, Default)]
pub struct ProjectFacts {
    pub tools: Option<Vec<String>>,
    pub connections: Option<Vec<String>>,
    pub backend: Option<Backend>,
    pub embedding: Embedding,
    pub capabilities: Capabilities,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Embedding {
    #[default]
    Unknown,
    Configured,
    Absent,
}

/// How to treat an agent that needs capabilities that ktx agents do not have (C-02).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Capabilities {
    #[default]
    Refused,
    /// A warning; the agent runs without them.
    Ignored,
}

pub(crate) struct Rules<'a> {
    pub(crate) root: &'a Value,
    pub(crate) places: &'a YamlPositions,
    pub(crate) paths: &'a [NamedPath],
    pub(crate) file: &'a Path,
    pub(crate) disk: &'a FileRoots,
    pub(crate) around: &'a ProjectFacts,
    pub(crate) found: Vec<Diagnostic>,
}

impl Rules<'_> {
    /// In the order of HOLO-20 to HOLO-23 and C-02.
    pub(crate) fn check(mut self) -> Vec<Diagnostic> {
        self.keys();
        self.references();
        self.response_format();
        self.embeddings();
        self.filtering();
        self.foreign_claude();
        self.collision();
        self.capabilities();
        self.abilities();
        self.found
    }

    fn at(&self, path: &[&str]) -> Option<&Value> {
        let found = path.iter().try_fold(self.root, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => value.get(key),
        });
        found.filter(|value| !value.is_null())
    }

    fn text(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.as_str()
    }

    fn items(&self, path: &[&str]) -> impl Iterator<Item = (String, &Value)> {
        let items = self
            .at(path)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        items
            .enumerate()
            .map(|(index, item)| (index.to_string(), item))
    }

    fn error(&mut self, path: &[&str], code: Code, message: &str) -> &mut Diagnostic {
        let owned: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        let fault = Diagnostic::error(code, at_path(&owned, message));
        self.push(fault.at(self.places.value(path)))
    }

    fn warn(&mut self, path: &[&str], message: &str) {
        let warning = Diagnostic::warning(Code::IgnoredKey, message);
        self.push(warning.at(self.places.key(path)));
    }

    fn push(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        let index = self.found.len();
        self.found.push(diagnostic);
        &mut self.found[index]
    }

    /// Returns the provider of the agent or project; `None` if unknown or without models.
    pub(crate) fn provider(&self) -> Option<AgentProvider> {
        match self.text(&["model", "provider"]) {
            // An unknown provider has been reported.
            Some(text) => AgentProvider::parse(text),
            None => AgentProvider::parse(self.around.backend?.as_str()),
        }
    }

    /// Returns the provider if it certainly does not serve Anthropic models.
    pub(crate) fn other_provider(&self) -> Option<AgentProvider> {
        self.provider().filter(|provider| !provider.serves_claude())
    }
}
