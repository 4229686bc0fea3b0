//! Opens the index file and synchronizes it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Failure, chain};
use rusqlite::{Connection, Error, ErrorCode, TransactionBehavior};

use crate::document::Document;
use crate::hits;
use crate::query::{Query, SearchOutcome};
use crate::schema;
use crate::text::Analyzer;
use crate::thesaurus::Thesaurus;
use crate::write::write_unit;

/// The errors of the index.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The file cannot be opened or is not a SQLite database.
    #[error("could not open the search index `{path}`")]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// A statement failed.
    #[error("could not use the search index")]
    Database {
        /// The error of SQLite.
        #[from]
        source: rusqlite::Error,
    },
}

impl SearchError {
    /// Returns true if the file is damaged and must be deleted and rebuilt.
    pub fn is_damaged(&self) -> bool {
        let (Self::Open { source, .. } | Self::Database { source }) = self;
        match source.sqlite_error_code() {
            Some(code) => matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase),
            // A row does not contain what ktx wrote.
            None => matches!(
                source,
                Error::FromSqlConversionFailure(..)
                    | Error::InvalidColumnType(..)
                    | Error::IntegralValueOutOfRange(..)
                    | Error::Utf8Error(..)
            ),
        }
    }

    /// Returns true if another process is writing the file.
    pub fn is_busy(&self) -> bool {
        let (Self::Open { source, .. } | Self::Database { source }) = self;
        matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        let failure = Self::new(Code::SearchFailed, chain(&error).join(": "));
        if error.is_busy() {
            failure.hint("another process is writing the search index: try again")
        } else {
            failure
        }
    }
}

/// The current state of one unit of content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitState {
    /// The name of the unit, such as a path.
    pub unit: String,
    /// Differs whenever the content may have changed, such as size and modification time.
    pub stamp: String,
}

/// The counts of a synchronization.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Units checked.
    pub scanned: usize,
    /// Units read because their stamp had changed.
    pub read: usize,
    /// Documents written.
    pub updated: usize,
    /// Documents removed.
    pub deleted: usize,
}

/// A search index. Not `Sync`: share it between threads through a lock.
#[derive(Debug)]
pub struct Index {
    db: Connection,
    analyzer: Analyzer,
    /// Made for the first search.
    thesaurus: OnceCell<Thesaurus>,
}

impl Index {
    /// Opens the index file or creates it. Empties a file of another index version.
    pub fn open(path: &Path) -> Result<Self, SearchError> {
        let open = || {
            let mut db = Connection::open(path)?;
            schema::prepare(&mut db)?;
            Ok(Self {
                db,
                analyzer: Analyzer::default(),
                thesaurus: OnceCell::new(),
            })
        };
        open().map_err(|source| SearchError::Open {
            path: path.to_owned(),
            source,
        })
    }

    /// Creates an index in memory.
    pub fn in_memory() -> Result<Self, SearchError> {
        let mut db = Connection::open_in_memory()?;
        schema::prepare(&mut db)?;
        Ok(Self {
            db,
            analyzer: Analyzer::default(),
            thesaurus: OnceCell::new(),
        })
    }

    /// Synchronizes the index. `units` lists all existing units; the index removes all others.
    /// `read` returns the documents of a unit and is called only for units with a new stamp. `None`
    /// means that the unit cannot be read now: its documents stay, and the next synchronization
    /// tries again.
    ///
    /// Writes nothing if no stamp has changed. All units are read before the file is locked. While
    /// another process holds the lock, the error [is busy](SearchError::is_busy) and the index does
    /// not change.
    pub fn sync(
        &mut self,
        units: &[UnitState],
        read: &mut dyn FnMut(&str) -> Option<Vec<Document>>,
    ) -> Result<SyncReport, SearchError> {
        self.sync_noting(units, read, &mut |_, _, _| {})
    }

    /// Like [`Index::sync`], but calls `note` for each unit that was read or removed, with the
    /// number of documents written and removed.
    pub fn sync_noting(
        &mut self,
        units: &[UnitState],
        read: &mut dyn FnMut(&str) -> Option<Vec<Document>>,
        note: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<SyncReport, SearchError> {
        let mut report = SyncReport {
            scanned: units.len(),
            ..SyncReport::default()
        };
        let wanted: BTreeMap<&str, &str> = units
            .iter()
            .map(|unit| (unit.unit.as_str(), unit.stamp.as_str()))
            .collect();
        let known = compare(&self.db, &wanted)?;
        let mut fresh = Vec::new();
        for (unit, stamp) in &wanted {
            if known.unchanged.contains(unit) {
                continue;
            }
            if let Some(documents) = read(unit) {
                report.read += 1;
                fresh.push((*unit, *stamp, documents));
            }
        }
        let is_wanted = |unit: &String| wanted.contains_key(unit.as_str());
        if fresh.is_empty() && known.removed == 0 {
            return Ok(report);
        }
        // What was seen belongs to the words of this transaction only.
        let mut analyzer = Analyzer::default();
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known = stamps(&tx)?;
        for unit in known.keys().filter(|unit| !is_wanted(unit)) {
            let written = write_unit(&tx, unit, Vec::new(), &mut analyzer)?;
            report.deleted += written.deleted;
            note(unit, 0, written.deleted);
            tx.execute("DELETE FROM units WHERE unit = ?1", [unit])?;
        }
        for (unit, stamp, documents) in fresh {
            // Another process may have written the same in the meantime.
            if known.get(unit).is_some_and(|known| known == stamp) {
                continue;
            }
            let written = write_unit(&tx, unit, documents, &mut analyzer)?;
            report.updated += written.updated;
            report.deleted += written.deleted;
            note(unit, written.updated, written.deleted);
            tx.execute(
                "INSERT INTO units(unit, stamp) VALUES (?1, ?2)
                 ON CONFLICT(unit) DO UPDATE SET stamp = excluded.stamp",
                [unit, stamp],
            )?;
        }
        tx.commit()?;
        Ok(report)
    }

    /// Returns true if the index has no content.
    pub fn is_empty(&self) -> Result<bool, SearchError> {
        let units = "SELECT NOT EXISTS (SELECT 1 FROM units)";
        Ok(self.db.query_row(units, [], |row| row.get(0))?)
    }

    /// Finds documents.
    pub fn search(&self, query: &Query) -> Result<SearchOutcome, SearchError> {
        let make = || Thesaurus::new(&self.analyzer);
        let thesaurus = self.thesaurus.get_or_init(make);
        hits::search(&self.db, &self.analyzer, thesaurus, query)
    }
}

/// How the units of the index compare with those that there are.
#[derive(Default)]
struct Comparison<'a> {
    unchanged: HashSet<&'a str>,
    removed: usize,
}

/// Compares the stamps where they lie: a search over many pages makes no copy of them.
fn compare<'a>(
    db: &Connection,
    wanted: &BTreeMap<&'a str, &str>,
) -> Result<Comparison<'a>, rusqlite::Error> {
    let mut comparison = Comparison::default();
    let mut statement = db.prepare_cached("SELECT unit, stamp FROM units")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match wanted.get_key_value(row.get_ref(0)?.as_str()?) {
            Some((unit, stamp)) if row.get_ref(1)?.as_str()? == *stamp => {
                comparison.unchanged.insert(unit);
            }
            Some(_) => {}
            None => comparison.removed += 1,
        }
    }
    Ok(comparison)
}

fn stamps(db: &Connection) -> Result<BTreeMap<String, String>, rusqlite::Error> {
    let mut statement = db.prepare_cached("SELECT unit, stamp FROM units")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

#[cfg(test)]
mod tests;
