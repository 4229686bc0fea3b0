//! Facts about models from `data/models.json`. Unlisted models count as the newest of their family,
//! so that they work on their first day.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use ktx_vocabulary::Provider;
use serde::Deserialize;

use crate::preset::{self, PresetRow};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactsOrigin {
    Listed,
    /// Its facts are guessed from its family.
    Guessed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Capability {
    Tools,
    ForcedTool,
    JsonSchema,
    Reasoning,
    Vision,
    Documents,
    Sampling,
    ThinkingAdaptive,
    ThinkingOff,
    ThinkingBudget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// The provider's id, with aliases resolved.
    pub id: String,
    pub listing: FactsOrigin,
    /// The context window in tokens, if known.
    pub max_input: Option<u64>,
    /// The longest answer in tokens, if known.
    pub max_output: Option<u64>,
    /// The shortest prefix that is cached, in tokens.
    pub cache_min_tokens: u64,
    /// Weakest first.
    pub efforts: Vec<String>,
    capabilities: BTreeSet<Capability>,
}

impl ModelFacts {
    pub(crate) fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// Returns the weakest effort, for calls that need no thinking.
    pub(crate) fn least_effort(&self) -> Option<&str> {
        ["none", "minimal", "low"]
            .into_iter()
            .find(|effort| self.efforts.iter().any(|known| known == effort))
    }
}

#[derive(Debug, Deserialize)]
struct CatalogueFile {
    models: Vec<ModelRow>,
}

#[derive(Debug, Clone, Deserialize)]
struct ModelRow {
    provider: String,
    id: String,
    max_input: Option<f64>,
    max_output: Option<f64>,
    cache_min_tokens: Option<f64>,
    #[serde(default)]
    efforts: Vec<String>,
    #[serde(default)]
    caps: BTreeMap<String, bool>,
}

impl ModelRow {
    /// `None` if the data does not say.
    fn cap(&self, name: &str) -> Option<bool> {
        self.caps.get(name).copied()
    }

    fn reasons(&self) -> bool {
        self.cap("reasoning").unwrap_or(false)
    }

    /// OpenAI's reasoning models and all of Kimi's refuse sampling values, which the data does not
    /// record.
    fn family_takes_sampling(&self) -> bool {
        match self.provider.as_str() {
            "openai" => !self.reasons(),
            "moonshotai" => false,
            _ => true,
        }
    }

    /// OpenAI's reasoning models accept low, medium and high even if the row has no list.
    fn accepted_efforts(&self) -> Vec<String> {
        if self.efforts.is_empty() && self.reasons() && self.provider == "openai" {
            return ["low", "medium", "high"].map(str::to_owned).to_vec();
        }
        self.efforts.clone()
    }
}

static MODELS: LazyLock<BTreeMap<(String, String), ModelRow>> = LazyLock::new(|| {
    let file: Result<CatalogueFile, _> = serde_json::from_str(include_str!("data/models.json"));
    match file {
        Ok(file) => file
            .models
            .into_iter()
            .map(|row| ((row.provider.clone(), row.id.clone()), row))
            .collect(),
        Err(error) => {
            tracing::error!(%error, "the built-in model catalogue cannot be read");
            BTreeMap::new()
        }
    }
});

pub fn model_facts(provider: Provider, model: &str) -> ModelFacts {
    let row = preset::row(provider);
    let id = row
        .aliases
        .get(model)
        .map_or_else(|| model.to_owned(), Clone::clone);
    let listed = row
        .catalogue
        .iter()
        .flat_map(|provider| {
            spellings(&id).map(move |spelling| MODELS.get(&(provider.clone(), spelling)))
        })
        .flatten()
        .next();
    match listed {
        Some(listed) => listed_facts(id, listed, row),
        None => guessed_facts(id, row),
    }
}

/// Returns the aliases that a provider's row accepts, in order.
pub fn aliases(provider: Provider) -> impl Iterator<Item = &'static str> {
    preset::row(provider).aliases.keys().map(String::as_str)
}

/// Unchanged, without the creator, with `-` for `.`, and without Vertex's version.
fn spellings(id: &str) -> impl Iterator<Item = String> {
    let short = bare(id).to_owned();
    let unversioned = short
        .split_once('@')
        .map_or(short.as_str(), |(name, _)| name)
        .to_owned();
    let dashed = unversioned.replace('.', "-");
    [id.to_owned(), short, unversioned, dashed].into_iter()
}

fn bare(id: &str) -> &str {
    id.rsplit_once('/').map_or(id, |(_, name)| name)
}

fn listed_facts(id: String, model: &ModelRow, row: &PresetRow) -> ModelFacts {
    let cap = |name: &str| model.cap(name);
    let sampling = cap("sampling").unwrap_or_else(|| model.family_takes_sampling());
    let tools = cap("tools").unwrap_or(false);
    let named = [
        (Capability::Tools, tools),
        (
            Capability::ForcedTool,
            cap("forced_tool_use").unwrap_or(tools && cap("tool_choice").unwrap_or(false)),
        ),
        (Capability::JsonSchema, cap("json_schema").unwrap_or(false)),
        (Capability::Reasoning, model.reasons()),
        (Capability::Vision, cap("vision").unwrap_or(false)),
        (Capability::Documents, cap("pdf").unwrap_or(false)),
        (Capability::Sampling, sampling),
        (
            Capability::ThinkingAdaptive,
            cap("thinking_adaptive").unwrap_or(false),
        ),
        (
            Capability::ThinkingOff,
            cap("thinking_can_disable").unwrap_or(false),
        ),
        (
            Capability::ThinkingBudget,
            cap("thinking_budget").unwrap_or(false),
        ),
    ];
    ModelFacts {
        id,
        listing: FactsOrigin::Listed,
        max_input: whole(model.max_input),
        max_output: whole(model.max_output),
        cache_min_tokens: whole(model.cache_min_tokens)
            .or(row.cache_min_tokens)
            .unwrap_or(1024),
        efforts: model.accepted_efforts(),
        capabilities: supported(&named),
    }
}

fn guessed_facts(id: String, row: &PresetRow) -> ModelFacts {
    let claude = bare(&id).contains("claude-");
    let newest = [
        (Capability::Tools, true),
        (Capability::ForcedTool, true),
        (
            Capability::JsonSchema,
            claude || row.sampling_when_unlisted.is_some(),
        ),
        (Capability::Reasoning, claude),
        (
            Capability::Vision,
            claude || row.sampling_when_unlisted.is_some(),
        ),
        (Capability::Documents, claude),
        (
            Capability::Sampling,
            !claude && row.sampling_when_unlisted.unwrap_or(true),
        ),
        (Capability::ThinkingAdaptive, claude),
        (Capability::ThinkingOff, claude),
    ];
    ModelFacts {
        id,
        listing: FactsOrigin::Guessed,
        max_input: None,
        max_output: claude.then_some(128_000),
        cache_min_tokens: row.cache_min_tokens.unwrap_or(1024),
        efforts: Vec::new(),
        capabilities: supported(&newest),
    }
}

fn supported(named: &[(Capability, bool)]) -> BTreeSet<Capability> {
    named
        .iter()
        .filter(|(_, held)| *held)
        .map(|(capability, _)| *capability)
        .collect()
}

/// The data has some counts as floats.
fn whole(value: Option<f64>) -> Option<u64> {
    value.and_then(|value| format!("{value:.0}").parse().ok())
}

#[cfg(test)]
mod tests;
