//! Where the context layer no longer says what is: names that the warehouse has lost, promises that
//! its values break, links that lead nowhere.
//!
//! Everything is compared with the last scan. ktx asks neither a warehouse nor a model.

mod pages;
mod promises;
mod sources;

use std::sync::Arc;

use ktx_diagnostics::Location;
use ktx_semantic_layer::Catalog;
use ktx_vocabulary::ConnectionId;
use ktx_wiki::Page;

use crate::scans::ScanSnapshot;

/// What kind of drift a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriftClass {
    /// A source or a page names a table that the last scan does not have.
    LostTable,
    /// A source names a column that its table does not have.
    LostColumn,
    /// A measure, a segment, a join or a page refers to something that is gone.
    BrokenReference,
    /// A column holds values that are not among the accepted ones.
    AcceptedValues,
    /// A column breaks its `unique` or `not_null`.
    Constraint,
    /// A link of a page leads to no page.
    BrokenLink,
    /// What a page is about has changed after the page.
    StalePage,
}

impl DriftClass {
    pub const ALL: [Self; 7] = [
        Self::LostTable,
        Self::LostColumn,
        Self::BrokenReference,
        Self::AcceptedValues,
        Self::Constraint,
        Self::BrokenLink,
        Self::StalePage,
    ];

    /// The spelling in results and arguments.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LostTable => "lost_table",
            Self::LostColumn => "lost_column",
            Self::BrokenReference => "broken_reference",
            Self::AcceptedValues => "accepted_values",
            Self::Constraint => "constraint",
            Self::BrokenLink => "broken_link",
            Self::StalePage => "stale_page",
        }
    }
}

/// One place where the context layer has drifted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriftFinding {
    /// The file inside the project, with the position if it is known.
    pub file: String,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub class: DriftClass,
    /// Lower case, no full stop, the object in backticks.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl DriftFinding {
    pub(crate) fn at(
        location: Location,
        class: DriftClass,
        message: String,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            file: location.file,
            line: location.position.map(|position| position.line),
            column: location.position.map(|position| position.column),
            class,
            message,
            hint: hint.into(),
        }
    }
}

/// A warehouse as its files describe it, and as the last scan found it.
#[derive(Debug, Clone)]
pub struct DriftConnection {
    pub id: ConnectionId,
    pub catalog: Arc<Catalog>,
    pub snapshot: Option<Arc<ScanSnapshot>>,
    pub role: DriftRole,
}

/// What a warehouse is for in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftRole {
    /// Its sources are compared with its scan.
    Checked,
    /// Pages may name its tables and sources.
    Named,
}

impl DriftConnection {
    /// The snapshot, if it tells of every table.
    fn whole_scan(&self) -> Option<&ScanSnapshot> {
        self.snapshot
            .as_deref()
            .filter(|scan| scan.unread_tables == 0)
    }
}

/// What was found, and what could not be looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// Ordered by place.
    pub findings: Vec<DriftFinding>,
    /// What was not checked, each as one line with its reason.
    pub unchecked: Vec<String>,
}

/// Compares sources and pages with the last scans.
pub fn find_drift(connections: &[DriftConnection], pages: &[Arc<Page>]) -> Drift {
    let mut drift = Drift::default();
    let is_checked = |connection: &&DriftConnection| connection.role == DriftRole::Checked;
    for connection in connections.iter().filter(is_checked) {
        let id = &connection.id;
        match &connection.snapshot {
            None => drift.unchecked.push(format!(
                "`{id}` was never scanned: tables, columns and values are not checked; run `ktx scan {id}`"
            )),
            Some(scan) if scan.unread_tables > 0 => drift.unchecked.push(format!(
                "{} of the last scan of `{id}` cannot be read: tables and columns are not checked; \
                 run `ktx scan {id}`",
                ktx_diagnostics::counted(scan.unread_tables, "table")
            )),
            Some(scan) => {
                if scan.profile.is_none() {
                    drift.unchecked.push(format!(
                        "the last scan of `{id}` read no values: accepted values, `unique` and `not_null` are not \
                         checked; run `ktx scan {id}`"
                    ));
                }
                sources::check(connection, scan, &mut drift.findings);
                promises::check(connection, scan, &mut drift.findings);
            }
        }
        sources::check_references(connection, &mut drift.findings);
    }
    pages::check(connections, pages, &mut drift.findings);
    drift.findings.sort();
    drift.findings.dedup();
    drift
}
