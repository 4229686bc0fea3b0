//! Estimates what a run would ask of a model.

use std::collections::BTreeSet;

use ktx_context_sources::Source;

use crate::error::IngestError;
use crate::ledger::{Entry, folder};
use crate::prompts;
use crate::run_store::RunStore;
use crate::work_item::unit_item;

/// Average characters of a token.
const LETTERS_OF_TOKEN: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedUnit {
    pub key: String,
    pub label: Option<String>,
    pub need: UnitNeed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitNeed {
    /// The journal or the ledger knows this input.
    Known,
    /// Approximate tokens of the input, which each turn sends.
    Asked { tokens: u64 },
}

pub fn planned_units(
    source: &Source,
    run_store: &RunStore,
) -> Result<Vec<PlannedUnit>, IngestError> {
    let base = run_store.begin()?;
    let committed = run_store.committed(&base, &folder(&source.id)?)?;
    let entries = committed
        .values()
        .filter_map(|bytes| Entry::parse(bytes).ok());
    let entries: Vec<Entry> = entries.filter(|entry| entry.outcome.is_final()).collect();
    let keys: BTreeSet<&str> = source.units.iter().map(|unit| unit.key.as_str()).collect();
    let mut units = Vec::new();
    for unit in &source.units {
        let item = unit_item(source, unit);
        let is_listed = entries.iter().any(|entry| {
            let is_same =
                entry.unit == unit.key && item.inputs().any(|input| *input == entry.input);
            let has_moved = !keys.contains(entry.unit.as_str()) && entry.content == item.content;
            is_same || has_moved
        });
        let is_known = is_listed || run_store.find_committed(&item)?.is_some();
        let files = unit
            .files
            .iter()
            .filter_map(|path| source.snapshot.files.get(path));
        let letters: usize = files.map(|text| text.chars().count()).sum();
        let tokens = (letters + prompts::UNIT.chars().count()) / LETTERS_OF_TOKEN;
        units.push(PlannedUnit {
            key: unit.key.clone(),
            label: unit.label.clone(),
            need: if is_known {
                UnitNeed::Known
            } else {
                UnitNeed::Asked {
                    tokens: tokens.try_into().unwrap_or(u64::MAX),
                }
            },
        });
    }
    Ok(units)
}
