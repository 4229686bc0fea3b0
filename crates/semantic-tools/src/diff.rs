//! Differences between two states of a semantic layer, and whether they can change numbers.

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

/// The largest possible effect of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Only descriptions, or another spelling of the same thing.
    Words,
    /// Other queries become possible or impossible; queries that both states can answer keep their
    /// numbers.
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

/// One property with its two values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The key in source files; `sql` means the compiled SQL of a measure.
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
    /// The name of the column, measure or segment; the target or alias of a join; the source's name
    /// for a source.
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

/// Returns all differences, ordered by source, then by subject and name.
///
/// A measure with the same text but other compiled SQL, because a column, segment, join or measure
/// it uses changed, counts as changed, too.
pub fn diff(old: &Catalog, new: &Catalog) -> Vec<Difference> {
    let mut all = deep(|| compare::sources(old, new));
    all.sort_by(|left, right| {
        (&left.source, left.subject, &left.name).cmp(&(&right.source, right.subject, &right.name))
    });
    all
}

#[cfg(test)]
mod tests;
