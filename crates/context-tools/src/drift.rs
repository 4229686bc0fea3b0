//! Finds where the context layer no longer matches the last scan. Asks neither a warehouse nor a
//! model.

mod pages;
mod promises;
mod sources;

use std::sync::Arc;

use ktx_diagnostics::Location;
use ktx_semantic_layer::Catalog;
use ktx_vocabulary::ConnectionId;
use ktx_wiki::Page;

use crate::scans::ScanSnapshot;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriftClass {
    LostTable,
    LostColumn,
    BrokenReference,
    AcceptedValues,
    Constraint,
    BrokenLink,
    /// The subject of a page changed after the page.
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriftFinding {
    /// Relative to the project.
    pub file: String,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub class: DriftClass,
    /// Lower case, no full stop, the object in backticks.
    pub message: String,
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

#[derive(Debug, Clone)]
pub struct DriftConnection {
    pub id: ConnectionId,
    pub catalog: Arc<Catalog>,
    pub snapshot: Option<Arc<ScanSnapshot>>,
    pub role: DriftRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftRole {
    Checked,
    /// Pages can name its tables and sources.
    Named,
}

impl DriftConnection {
    /// `None` unless the snapshot has every table.
    fn whole_scan(&self) -> Option<&ScanSnapshot> {
        self.snapshot
            .as_deref()
            .filter(|scan| scan.unread_tables == 0)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// Ordered by place.
    pub findings: Vec<DriftFinding>,
    pub unchecked: Vec<String>,
}

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
