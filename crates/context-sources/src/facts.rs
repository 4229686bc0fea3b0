//! Facts: what metadata says about tables, without a model.

use ktx_secrets::Redactor;
use serde::{Deserialize, Serialize};

/// The tool that the facts come from; determines their key in a manifest shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Writer {
    #[default]
    Dbt,
    /// The semantic models of MetricFlow.
    MetricFlow,
    LookMl,
    Looker,
    Metabase,
    Cube,
}

impl Writer {
    /// Returns the key in a manifest shard.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Dbt => "dbt",
            Self::MetricFlow => "metricflow",
            Self::LookMl => "lookml",
            Self::Looker => "looker",
            Self::Metabase => "metabase",
            Self::Cube => "cube",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The tool that they come from.
    pub writer: Writer,
    /// The tables, by name and schema. Includes tables with a known schema but no facts, so that
    /// facts about another table of that name are not applied to them.
    pub tables: Vec<TableFacts>,
    /// Problems, as `file:line:column: what` if the position is known.
    pub warnings: Vec<String>,
    /// Whether every file could be read. Only then does a missing fact mean that the source no
    /// longer states it.
    pub is_complete: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFacts {
    /// The name in the warehouse.
    pub name: String,
    /// The database, if the metadata names it.
    pub database: Option<String>,
    /// The schema, if the metadata names it.
    pub schema: Option<String>,
    /// What the schema is worth.
    #[serde(default)]
    pub origin: SchemaOrigin,
    /// What the table contains.
    pub description: Option<String>,
    /// The columns, in source order.
    pub columns: Vec<ColumnFacts>,
    /// The words by which the source groups it.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The people or teams that answer for it.
    #[serde(default)]
    pub owners: Vec<String>,
    /// How old its rows may be.
    #[serde(default)]
    pub freshness: Option<Freshness>,
    /// What is built on it outside of the warehouse.
    #[serde(default)]
    pub exposures: Vec<Exposure>,
}

/// Where the schema of a table is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SchemaOrigin {
    /// The source names it, or names none.
    #[default]
    Named,
    /// It is that of one run of the tool: another run may have built the table in another schema.
    Target,
}

/// How old the rows of a table may be, as the source writes it: `12 hours`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    /// The age at which it warns.
    pub warn_after: Option<Age>,
    /// The age at which it fails.
    pub error_after: Option<Age>,
    /// The column that says when a row was loaded.
    pub loaded_at: Option<String>,
}

/// A number of units of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Age {
    pub count: u32,
    /// The unit: minute, hour or day.
    pub period: String,
}

/// A dashboard, notebook or application that uses a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Exposure {
    pub name: String,
    /// What it is, such as `dashboard`.
    pub kind: Option<String>,
    pub url: Option<String>,
    pub owner: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnFacts {
    /// The name in the warehouse.
    pub name: String,
    /// What the column contains.
    pub description: Option<String>,
    /// Whether a test ensures that it has no nulls.
    pub is_not_null: bool,
    /// Whether a test ensures that its values are unique.
    pub is_unique: bool,
    /// The only values that a test allows.
    pub accepted: Option<Vec<String>>,
    /// The column that a test requires to contain all its values.
    pub references: Option<Reference>,
}

/// A column of another table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reference {
    pub table: TableLocation,
    pub column: String,
}

/// The location of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableLocation {
    /// The name in the warehouse.
    pub name: String,
    /// The schema, if the metadata names it.
    pub schema: Option<String>,
    /// The database, if the metadata names it.
    pub database: Option<String>,
    /// What the schema is worth.
    #[serde(default)]
    pub origin: SchemaOrigin,
}

impl Facts {
    /// Merges facts about a table into earlier ones; the first text wins.
    pub(crate) fn add(&mut self, table: TableFacts, path: &str) {
        let same = |known: &&mut TableFacts| {
            (&known.schema, &known.database) == (&table.schema, &table.database)
                && known.name.eq_ignore_ascii_case(&table.name)
        };
        let Some(known) = self.tables.iter_mut().find(same) else {
            self.tables.push(table);
            return;
        };
        let mut differing = Vec::new();
        if !agrees(&mut known.description, table.description) {
            differing.push(known.name.clone());
        }
        for column in table.columns {
            let same = |known: &&mut ColumnFacts| known.name.eq_ignore_ascii_case(&column.name);
            match known.columns.iter_mut().find(same) {
                None => known.columns.push(column),
                Some(own) => {
                    own.is_not_null |= column.is_not_null;
                    own.is_unique |= column.is_unique;
                    if !agrees(&mut own.accepted, column.accepted) {
                        differing.push(format!("{}.{}", known.name, own.name));
                    }
                    if !agrees(&mut own.references, column.references) {
                        differing.push(format!("{}.{}", known.name, own.name));
                    }
                    if !agrees(&mut own.description, column.description) {
                        differing.push(format!("{}.{}", known.name, own.name));
                    }
                }
            }
        }
        for (known, more) in [
            (&mut known.tags, table.tags),
            (&mut known.owners, table.owners),
        ] {
            known.extend(more);
            unite(known);
        }
        known.exposures.extend(table.exposures);
        unite(&mut known.exposures);
        if !agrees(&mut known.freshness, table.freshness) {
            differing.push(known.name.clone());
        }
        for name in differing {
            let told = format!("{path}: `{name}` is described differently before, and that counts");
            self.warnings.push(told);
        }
    }

    pub(crate) fn sort(&mut self) {
        let place = |table: &TableFacts| {
            let (schema, database) = (table.schema.clone(), table.database.clone());
            (table.name.to_lowercase(), schema, database)
        };
        self.tables.sort_by_key(place);
    }

    /// Reports a fact that was skipped, and marks the facts incomplete.
    pub(crate) fn warn(&mut self, place: &str, what: &str) {
        self.is_complete = false;
        self.warnings.push(format!("{place}: {what}"));
    }
}

/// Returns whether a text contains something like a password or key.
pub(crate) fn is_secret(text: &str) -> bool {
    Redactor::new().redact(text) != text
}

/// Sets a missing value. Returns false if a different value was dropped.
fn agrees<T: PartialEq>(known: &mut Option<T>, text: Option<T>) -> bool {
    match (&known, text) {
        (_, None) => true,
        (None, text) => {
            *known = text;
            true
        }
        (Some(known), Some(text)) => *known == text,
    }
}

/// Sorts a list and removes what it has twice.
pub(crate) fn unite<T: Ord>(list: &mut Vec<T>) {
    list.sort();
    list.dedup();
}

impl TableLocation {
    /// Returns the place without what may differ between the runs of a tool; `None` if nothing may.
    pub fn loosened(&self) -> Option<Self> {
        (self.origin == SchemaOrigin::Target && self.schema.is_some()).then(|| Self {
            name: self.name.clone(),
            ..Self::default()
        })
    }
}

impl TableFacts {
    pub(crate) fn at(place: TableLocation) -> Self {
        Self {
            name: place.name,
            database: place.database,
            schema: place.schema,
            origin: place.origin,
            ..Self::default()
        }
    }

    pub(crate) fn place(&self) -> TableLocation {
        TableLocation {
            name: self.name.clone(),
            schema: self.schema.clone(),
            database: self.database.clone(),
            origin: self.origin,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.description.is_none()
            && self.columns.is_empty()
            && self.tags.is_empty()
            && self.owners.is_empty()
            && self.freshness.is_none()
            && self.exposures.is_empty()
    }
}

impl ColumnFacts {
    pub(crate) fn is_empty(&self) -> bool {
        self.description.is_none()
            && !self.is_not_null
            && !self.is_unique
            && self.accepted.is_none()
            && self.references.is_none()
    }
}
