//! What differs between two states of a semantic layer, and whether numbers can change by it.

mod compare;
mod meaning;
mod render;

pub use render::{diff_json, diff_text};

use crate::catalog::Catalog;
use crate::deep::deep;

/// What a difference is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The source itself.
    Source,
    /// One of its columns.
    Column,
    /// One of its joins.
    Join,
    /// One of its measures.
    Measure,
    /// One of its segments.
    Segment,
}

impl Subject {
    /// The name in answers.
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

/// The most that a difference can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Only texts for people, or the spelling of the same thing.
    Words,
    /// What can be asked changes; what both states can answer has the same numbers.
    Queries,
    /// Answers can have other numbers, or none any more.
    Numbers,
}

impl Effect {
    /// The name in answers.
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
    /// The key in source files; `sql` stands for what a measure compiles to.
    pub field: &'static str,
    /// The value before; absent when there was none.
    pub old: Option<String>,
    /// The value after; absent when there is none.
    pub new: Option<String>,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Some properties differ.
    Changed(Vec<FieldChange>),
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The source that it belongs to.
    pub source: String,
    /// What it is about.
    pub subject: Subject,
    /// The name of the column, measure or segment; of a join its target or alias; of a source its own.
    pub name: String,
    /// What has happened.
    pub change: Change,
    /// The most that it can do.
    pub effect: Effect,
}

impl Difference {
    /// Whether a measure is gone, or can no longer be computed.
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

    /// Whether answers can have other numbers by it, or none any more.
    pub fn can_change_numbers(&self) -> bool {
        self.effect == Effect::Numbers
    }
}

/// All differences, ordered by source, then by subject and name.
///
/// A measure that is spelled as before and compiles to other SQL, because of a column, segment,
/// join or measure behind it, is a difference of that measure as well.
pub fn diff(old: &Catalog, new: &Catalog) -> Vec<Difference> {
    let mut all = deep(|| compare::sources(old, new));
    all.sort_by(|left, right| {
        (&left.source, left.subject, &left.name).cmp(&(&right.source, right.subject, &right.name))
    });
    all
}

#[cfg(test)]
mod tests;
