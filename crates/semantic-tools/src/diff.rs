//! Differences between two states of a semantic layer.

mod compare;
mod meaning;
mod render;

pub use render::{diff_json, diff_text};

use ktx_semantic_layer::Catalog;
use ktx_sql::deep::deep;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Source,
    Column,
    Join,
    Measure,
    Segment,
}

impl Subject {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Column => "column",
            Self::Join => "join",
            Self::Measure => "measure",
            Self::Segment => "segment",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Only descriptions or spelling.
    Words,
    /// Other queries become possible or impossible; common queries keep their numbers.
    Queries,
    /// Answers can change or disappear.
    Numbers,
}

impl Effect {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Queries => "queries",
            Self::Numbers => "numbers",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The key in source files; `sql` is a measure's compiled SQL.
    pub field: &'static str,
    pub old: Option<String>,
    pub new: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Added,
    Removed,
    Changed(Vec<FieldChange>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub source: String,
    pub subject: Subject,
    /// A join's target or alias; the source's name for a source.
    pub name: String,
    pub change: Change,
    pub effect: Effect,
}

impl Difference {
    pub fn loses_measure(&self) -> bool {
        let has_lost_sql = |fields: &[FieldChange]| {
            let mut sql = fields.iter().filter(|field| field.field == "sql");
            sql.any(|field| field.old.is_some() && field.new.is_none())
        };
        match (&self.change, self.subject) {
            (Change::Removed, Subject::Measure) => true,
            (Change::Changed(fields), Subject::Measure) => has_lost_sql(fields),
            _ => false,
        }
    }

    /// Includes answers that disappear.
    pub fn can_change_numbers(&self) -> bool {
        self.effect == Effect::Numbers
    }
}

/// Returns all differences, ordered by source, subject and name.
///
/// A measure with the same text but other compiled SQL counts as changed.
pub fn diff(old: &Catalog, new: &Catalog) -> Vec<Difference> {
    let mut all = deep(|| compare::sources(old, new));
    all.sort_by(|left, right| {
        (&left.source, left.subject, &left.name).cmp(&(&right.source, right.subject, &right.name))
    });
    all
}

#[cfg(test)]
mod tests;
