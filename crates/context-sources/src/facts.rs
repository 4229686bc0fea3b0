//! Facts: what metadata says about tables.

use ktx_secrets::Redactor;
use serde::{Deserialize, Serialize};

/// The tool of the facts; determines their key in a shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Writer {
    #[default]
    Dbt,
    MetricFlow,
    LookMl,
    Looker,
    Metabase,
    Cube,
}

impl Writer {
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
    pub writer: Writer,
    /// Includes tables with a known schema but no facts, so that facts about another table of that
    /// name are not applied to them.
    pub tables: Vec<TableFacts>,
    /// `file:line:column: what` if the position is known.
    pub warnings: Vec<String>,
    /// True if every file could be read. Only then does a missing fact mean removal.
    pub is_complete: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFacts {
    pub name: String,
    pub database: Option<String>,
    pub schema: Option<String>,
    #[serde(default)]
    pub origin: SchemaOrigin,
    pub description: Option<String>,
    pub columns: Vec<ColumnFacts>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub owners: Vec<String>,
    #[serde(default)]
    pub freshness: Option<Freshness>,
    #[serde(default)]
    pub exposures: Vec<Exposure>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SchemaOrigin {
    /// The source names the schema, or names none.
    #[default]
    Named,
    /// The schema of one run of the tool: another run may have built the table in another schema.
    Target,
}

/// The allowed age of a table's rows, as the source writes it: `12 hours`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    pub warn_after: Option<Age>,
    pub error_after: Option<Age>,
    pub loaded_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Age {
    pub count: u32,
    /// Minute, hour or day.
    pub period: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Exposure {
    pub name: String,
    pub kind: Option<String>,
    pub url: Option<String>,
    pub owner: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnFacts {
    pub name: String,
    pub description: Option<String>,
    pub is_not_null: bool,
    pub is_unique: bool,
    pub accepted: Option<Vec<String>>,
    /// The column that a test requires to contain all its values.
    pub references: Option<Reference>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reference {
    pub table: TableLocation,
    pub column: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableLocation {
    pub name: String,
    pub schema: Option<String>,
    pub database: Option<String>,
    #[serde(default)]
    pub origin: SchemaOrigin,
}

impl Facts {
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

    pub(crate) fn warn(&mut self, place: &str, what: &str) {
        self.is_complete = false;
        self.warnings.push(format!("{place}: {what}"));
    }
}

pub(crate) fn is_secret(text: &str) -> bool {
    Redactor::new().redact(text) != text
}

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

pub(crate) fn unite<T: Ord>(list: &mut Vec<T>) {
    list.sort();
    list.dedup();
}

impl TableLocation {
    /// Returns the location without the schema if that may differ between runs of the tool; `None`
    /// if it may not.
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
