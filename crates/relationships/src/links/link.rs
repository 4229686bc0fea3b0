//! A link between two tables, its evidence and its status.

use ktx_vocabulary::TableRef;

use crate::profile::Extent;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Accepted,
    /// A person should decide.
    Review,
    Rejected,
    /// A link over more columns covers all rows read, but later rows can have only this one.
    Implied,
    /// Something better covers it.
    Skipped,
}

impl Status {
    pub const fn is_written(self) -> bool {
        matches!(self, Self::Accepted | Self::Implied)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Review => "review",
            Self::Rejected => "rejected",
            Self::Implied => "implied",
            Self::Skipped => "skipped",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    Formal,
    Decided,
    Names,
    Values,
    Queries,
    Stated,
    Model,
}

impl Origin {
    pub const fn name(self) -> &'static str {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cardinality {
    ManyToOne,
    OneToOne,
}

impl Cardinality {
    pub const fn name(self) -> &'static str {
        match self {
            Self::ManyToOne => "many_to_one",
            Self::OneToOne => "one_to_one",
        }
    }

    pub const fn inverse_name(self) -> &'static str {
        match self {
            Self::ManyToOne => "one_to_many",
            Self::OneToOne => "one_to_one",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    Complete,
    Probed,
    Empty,
    None,
}

impl Check {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete_values",
            Self::Probed => "warehouse_probe",
            Self::Empty => "no_rows",
            Self::None => "unattempted",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub table: TableRef,
    /// In the other side's order.
    pub columns: Vec<String>,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.({})", self.table, self.columns.join(","))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredRows {
    pub rows: u64,
    pub extent: Extent,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    pub name: f64,
    /// Share of the child's distinct values, compared exactly.
    pub coverage: Option<f64>,
    /// Share of the child's rows, compared exactly. The loose share ignores case and padding; set
    /// only if it differs.
    pub row_coverage: Option<f64>,
    pub loose_row_coverage: Option<f64>,
    pub compared: usize,
    /// `None` if only values were checked.
    pub measured: Option<MeasuredRows>,
    pub parent_share: Option<f64>,
    pub uniqueness: Option<f64>,
    pub null_rate: Option<f64>,
    pub queries: u64,
    pub stated: bool,
}

impl Evidence {
    /// Returns the measured share of the child's non-null rows.
    pub fn covered(&self) -> f64 {
        self.row_coverage.or(self.coverage).unwrap_or(1.0)
    }

    /// Returns whether past queries join the two or a context source states the link.
    pub const fn is_backed(&self) -> bool {
        self.queries > 0 || self.stated
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub from: Endpoint,
    pub to: Endpoint,
    pub status: Status,
    pub origin: Origin,
    pub cardinality: Cardinality,
    /// The likelihood, 0 to 1.
    pub score: f64,
    /// Fit as a key, 0 to 1.
    pub key_score: f64,
    pub evidence: Evidence,
    pub check: Check,
    pub reasons: Vec<String>,
}

impl Link {
    pub fn id(&self) -> String {
        link_id(&self.from, &self.to)
    }
}

/// Returns `<from table>:(<columns>)-><to table>:(<columns>)`.
pub fn link_id(from: &Endpoint, to: &Endpoint) -> String {
    format!(
        "{}:({})->{}:({})",
        from.table,
        from.columns.join(","),
        to.table,
        to.columns.join(",")
    )
}
