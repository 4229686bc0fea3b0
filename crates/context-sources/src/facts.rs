//! What metadata says about tables.

use ktx_secrets::Redactor;
use serde::{Deserialize, Serialize};

/// Who says so: the key under which it stands in a manifest shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Writer {
    /// dbt.
    #[default]
    Dbt,
    /// The semantic models of MetricFlow.
    MetricFlow,
    /// LookML.
    LookMl,
    /// Looker itself.
    Looker,
}

impl Writer {
    /// The key.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Dbt => "dbt",
            Self::MetricFlow => "metricflow",
            Self::LookMl => "lookml",
            Self::Looker => "looker",
        }
    }
}

/// What the metadata of a source says, without a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Who says it.
    pub writer: Writer,
    /// The tables, by name and schema. One of a known schema is there even when nothing is said about it: what
    /// is said about another table of its name is not about it.
    pub tables: Vec<TableFacts>,
    /// What could not be understood, as `file:line:column: what` where the place is known.
    pub warnings: Vec<String>,
    /// Whether every file could be read: what is missing is no longer said then.
    pub is_complete: bool,
}

/// What is said about one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFacts {
    /// The name in the warehouse.
    pub name: String,
    /// The database, where the metadata knows it.
    pub database: Option<String>,
    /// The schema, where the metadata knows it.
    pub schema: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its columns, in their order.
    pub columns: Vec<ColumnFacts>,
}

/// What is said about one column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether the team tests that it has no nulls.
    pub is_not_null: bool,
    /// Whether the team tests that no value occurs twice.
    pub is_unique: bool,
    /// The values that the team tests for.
    pub accepted: Option<Vec<String>>,
    /// The column that has all its values, as the team tests.
    pub references: Option<Reference>,
}

/// A column of another table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reference {
    /// The table.
    pub table: Place,
    /// The column.
    pub column: String,
}

/// Where a table is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The name in the warehouse.
    pub name: String,
    /// The schema, where the metadata knows it.
    pub schema: Option<String>,
    /// The database, where the metadata knows it.
    pub database: Option<String>,
}

impl Facts {
    /// Adds what is said to what was said of the same table before; the first text counts.
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
        for name in differing {
            let told = format!("{path}: `{name}` is described differently before, and that counts");
            self.warnings.push(told);
        }
    }

    /// Puts the tables in order.
    pub(crate) fn sort(&mut self) {
        let place = |table: &TableFacts| {
            let (schema, database) = (table.schema.clone(), table.database.clone());
            (table.name.to_lowercase(), schema, database)
        };
        self.tables.sort_by_key(place);
    }

    /// Tells of something that was left out.
    pub(crate) fn warn(&mut self, place: &str, what: &str) {
        self.is_complete = false;
        self.warnings.push(format!("{place}: {what}"));
    }
}

/// Whether a text holds what looks like a password or key.
pub(crate) fn is_secret(text: &str) -> bool {
    Redactor::new().redact(text) != text
}

/// Takes a text over where there is none; whether no other one was lost.
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

impl TableFacts {
    /// Where it is.
    pub(crate) fn place(&self) -> Place {
        Place {
            name: self.name.clone(),
            schema: self.schema.clone(),
            database: self.database.clone(),
        }
    }

    /// Whether anything is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.description.is_none() && self.columns.is_empty()
    }
}

impl ColumnFacts {
    /// Whether anything is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.description.is_none()
            && !self.is_not_null
            && !self.is_unique
            && self.accepted.is_none()
            && self.references.is_none()
    }
}
