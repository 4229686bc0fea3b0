//! A link between two tables, its evidence, and what became of it.

use ktx_vocabulary::TableRef;

use crate::profile::Extent;

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Status {
    /// It is written to the manifest.
    Accepted,
    /// A person should decide.
    Review,
    /// It was turned down.
    Rejected,
    /// It is written to the manifest, and a link over more columns leads there for all rows that were read: rows that
    /// come later may have only this one.
    Implied,
    /// It was left out, because something better covers it.
    Skipped,
}

impl Status {
    /// Whether the manifest has the link.
    pub(crate) const fn is_written(self) -> bool {
        matches!(self, Self::Accepted | Self::Implied)
    }

    /// The spelling in artifacts.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Review => "review",
            Self::Rejected => "rejected",
            Self::Implied => "implied",
            Self::Skipped => "skipped",
        }
    }
}

/// Where a link comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Origin {
    /// The warehouse declares it.
    Formal,
    /// A person decided it.
    Decided,
    /// Names gave the candidate.
    Names,
    /// Values gave the candidate.
    Values,
    /// Past queries gave the candidate.
    Queries,
    /// A context source states it.
    Stated,
    /// A model decided it.
    Model,
}

impl Origin {
    /// The spelling in artifacts.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Formal => "formal_metadata",
            Self::Decided => "review_decision",
            Self::Names => "name_match",
            Self::Values => "value_containment",
            Self::Queries => "query_history",
            Self::Stated => "context_source",
            Self::Model => "llm_adjudication",
        }
    }
}

/// How many rows of one side belong to a row of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cardinality {
    /// Many children of one parent.
    ManyToOne,
    /// One child of one parent.
    OneToOne,
}

impl Cardinality {
    /// The spelling in artifacts, seen from the child.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ManyToOne => "many_to_one",
            Self::OneToOne => "one_to_one",
        }
    }

    /// The spelling seen from the parent.
    pub(crate) const fn inverse_name(self) -> &'static str {
        match self {
            Self::ManyToOne => "one_to_many",
            Self::OneToOne => "one_to_one",
        }
    }
}

/// How a link's values were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Check {
    /// Against all values of the parent, read here.
    Complete,
    /// By a statement in the warehouse.
    Probed,
    /// The child has no rows.
    Empty,
    /// Not at all.
    None,
}

impl Check {
    /// The spelling in artifacts.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete_values",
            Self::Probed => "warehouse_probe",
            Self::Empty => "no_rows",
            Self::None => "unattempted",
        }
    }
}

/// One side of a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Endpoint {
    /// The table.
    pub table: TableRef,
    /// The columns, in the order of the other side.
    pub columns: Vec<String>,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.({})", self.table, self.columns.join(","))
    }
}

/// The rows of the child that shares of rows were measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MeasuredRows {
    /// How many there are with a value.
    pub rows: u64,
    /// Whether these are all of the table.
    pub extent: Extent,
}

/// What was measured of a link.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Evidence {
    /// How well the names fit, 0 to 1.
    pub name: f64,
    /// Share of the child's distinct values that the parent has, as they are written.
    pub coverage: Option<f64>,
    /// Share of the child's rows whose value the parent has, as it is written.
    pub row_coverage: Option<f64>,
    /// The same when case and padding are left out, where that makes a difference.
    pub loose_row_coverage: Option<f64>,
    /// Distinct values compared.
    pub compared: usize,
    /// The rows behind the shares of rows; none where only values were asked about.
    pub measured: Option<MeasuredRows>,
    /// Share of the parent's keys that the child uses.
    pub parent_share: Option<f64>,
    /// Uniqueness of the parent's columns.
    pub uniqueness: Option<f64>,
    /// Share of the child's rows without a value.
    pub null_rate: Option<f64>,
    /// How often past queries joined the two.
    pub queries: u64,
    /// Whether a context source says that the one refers to the other.
    pub stated: bool,
}

impl Evidence {
    /// The share of the child's rows with a value that find one, as far as it was measured.
    pub(crate) fn covered(&self) -> f64 {
        self.row_coverage.or(self.coverage).unwrap_or(1.0)
    }

    /// Whether somebody has joined the two, or says that they belong together.
    pub(crate) const fn is_backed(&self) -> bool {
        self.queries > 0 || self.stated
    }
}

/// A link or what was to become one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    /// The side that refers.
    pub from: Endpoint,
    /// The side that is referred to.
    pub to: Endpoint,
    /// What became of it.
    pub status: Status,
    /// Where it comes from.
    pub origin: Origin,
    /// How many to how many.
    pub cardinality: Cardinality,
    /// How likely the link is, 0 to 1.
    pub score: f64,
    /// How well the parent's columns are a key, 0 to 1.
    pub key_score: f64,
    /// What was measured.
    pub evidence: Evidence,
    /// How the values were checked.
    pub check: Check,
    /// Why, in words for a person.
    pub reasons: Vec<String>,
}

impl Link {
    /// The key of the link: both sides with their columns.
    pub(crate) fn id(&self) -> String {
        link_id(&self.from, &self.to)
    }
}

/// `<from table>:(<columns>)-><to table>:(<columns>)`.
pub(crate) fn link_id(from: &Endpoint, to: &Endpoint) -> String {
    format!(
        "{}:({})->{}:({})",
        from.table,
        from.columns.join(","),
        to.table,
        to.columns.join(",")
    )
}
