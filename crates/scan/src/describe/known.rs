//! The descriptions of earlier scans.
//!
//! A description is valid while its table's state is the same. The committed state excludes
//! samples, because samples of large tables differ with every read.

use std::collections::{BTreeMap, BTreeSet};

use ktx_relationships::profile::TableProfile;
use ktx_relationships::settings::Switch;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, Table};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::wire::{DESCRIPTIONS, DescribedTable, WHOLE_DESCRIPTIONS};
use super::{TableDescription, VERSION};
use crate::profile::read::is_alike;
use crate::request::{Reuse, ScanError, ScanRequest};
use crate::stage_rows::{StageRows, digest, table_unit};
use crate::structural::hash::structure_hash;
use crate::structural::sync::Previous;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Samples {
    None,
    Masked,
    Shown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescribedFrom {
    /// Excludes the size.
    pub(crate) structure_hash: String,
    #[serde(default)]
    pub(crate) estimated_rows: Option<u64>,
    pub(crate) samples: Samples,
    pub(crate) model: String,
    pub(crate) prompt_version: String,
}

impl DescribedFrom {
    pub(super) fn now(
        request: &ScanRequest,
        table: &Table,
        profile: Option<&TableProfile>,
    ) -> Self {
        let samples = match (profile, request.settings.hide_personal_values) {
            (None, _) => Samples::None,
            (Some(_), Switch::On) => Samples::Masked,
            (Some(_), Switch::Off) => Samples::Shown,
        };
        Self {
            structure_hash: structure_hash(table),
            estimated_rows: table.estimated_rows,
            samples,
            model: request.model.clone(),
            prompt_version: VERSION.to_owned(),
        }
    }

    /// Sizes can differ up to a threshold.
    pub(super) fn holds_for(&self, now: &Self) -> bool {
        let shows_as_much = self.samples == now.samples || now.samples == Samples::None;
        let same = Self {
            estimated_rows: now.estimated_rows,
            samples: now.samples,
            ..self.clone()
        };
        same == *now && shows_as_much && is_alike(self.estimated_rows, now.estimated_rows)
    }
}

#[derive(Debug, Default)]
pub(crate) struct KnownDescriptions {
    tables: BTreeMap<TableRef, TableDescription>,
    /// True if everything is described again; committed descriptions then only fill gaps.
    anew: bool,
    pub(crate) warnings: Vec<ScanWarning>,
}

impl KnownDescriptions {
    pub(crate) fn read(request: &ScanRequest, previous: &Previous) -> Result<Self, ScanError> {
        let lost = "its descriptions count as missing";
        let kinds = (WHOLE_DESCRIPTIONS, DESCRIPTIONS);
        let found = previous.artifacts(request.files.as_ref(), kinds, lost)?;
        let mut known = Self {
            anew: request.reuse == Reuse::Nothing,
            warnings: found.warnings,
            ..Self::default()
        };
        for (_, artifact) in &found.values {
            known.tables.extend(described(artifact));
        }
        Ok(known)
    }

    /// Excludes the tables in `again`.
    pub(crate) fn rest(
        self,
        tables: &[Table],
        again: &BTreeMap<TableRef, TableDescription>,
    ) -> BTreeMap<TableRef, TableDescription> {
        let mut rest = self.tables;
        let present: BTreeSet<&TableRef> = tables.iter().map(|table| &table.table).collect();
        rest.retain(|table, _| present.contains(table) && !again.contains_key(table));
        rest
    }

    pub(super) fn about(&self, table: &Table, now: &DescribedFrom) -> Option<TableDescription> {
        let known = self.tables.get(&table.table)?;
        if self.anew || !known.from.as_ref()?.holds_for(now) {
            return None;
        }
        let mut known = known.clone();
        let has = |name: &String| table.columns.iter().any(|column| column.name == *name);
        known.columns.retain(|name, _| has(name));
        Some(known)
    }
}

fn described(artifact: &Value) -> BTreeMap<TableRef, TableDescription> {
    let listed = artifact.get("tables").and_then(Value::as_array);
    listed
        .into_iter()
        .flatten()
        .filter_map(|table| DescribedTable::deserialize(table).ok())
        .filter(|table| table.described_from.is_some())
        .map(|table| (table.table.clone(), TableDescription::from(table)))
        .collect()
}

/// Per model, so that a project can switch back without paying again.
pub(super) struct Rows<'r> {
    store: &'r StageRows,
    unit: String,
    /// The key of earlier versions.
    shared: String,
    input: String,
}

impl<'r> Rows<'r> {
    const WHOLE: &'static str = "description";
    const PART: &'static str = "description_part";

    pub(super) fn new(store: &'r StageRows, table: &Table, model: &str, input: String) -> Self {
        let shared = table_unit(&table.table);
        Self {
            store,
            unit: format!("{shared}@{}", digest(["model-1", model])),
            shared,
            input,
        }
    }

    pub(super) fn whole(&self) -> Result<Option<TableDescription>, ScanError> {
        self.get(Self::WHOLE)
    }

    pub(super) fn part(&self) -> Result<Option<TableDescription>, ScanError> {
        self.get(Self::PART)
    }

    fn get(&self, stage: &str) -> Result<Option<TableDescription>, ScanError> {
        match self.store.get(stage, &self.unit, &self.input)? {
            Some(found) => Ok(Some(found)),
            None => self.store.get(stage, &self.shared, &self.input),
        }
    }

    pub(super) fn put_whole(&self, whole: &TableDescription) -> Result<(), ScanError> {
        self.store.put(Self::WHOLE, &self.unit, &self.input, whole)
    }

    pub(super) fn put_part(&self, part: &TableDescription) -> Result<(), ScanError> {
        self.store.put(Self::PART, &self.unit, &self.input, part)
    }
}
