//! What a run would ask of a model: the units with their lengths, before anything is asked.

use std::collections::BTreeSet;

use ktx_context_sources::Source;

use crate::error::IngestError;
use crate::ledger::{Entry, folder};
use crate::prompts;
use crate::run_store::RunStore;
use crate::work_item::unit_item;

/// Characters of a token, on average.
const LETTERS_OF_TOKEN: usize = 4;

/// A unit of a run that has not begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedUnit {
    pub key: String,
    pub label: Option<String>,
    pub need: UnitNeed,
}

/// Whether a model has to read a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitNeed {
    /// No: this input is known, here or in the ledger.
    Known,
    /// Yes: about this many tokens at once, with every turn.
    Asked { tokens: u64 },
}

/// Returns the units of a source as a run would treat them now.
///
/// # Errors
///
/// If the local state or git cannot be read.
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
