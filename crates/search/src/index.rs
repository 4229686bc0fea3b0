//! Opens the index file and synchronizes it.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Failure, chain};
use rusqlite::{
    Connection, Error, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior,
};

use crate::document::Document;
use crate::hits;
use crate::kept::{self, Unembedded};
use crate::query::{Query, SearchOutcome};
use crate::schema;
use crate::text::Analyzer;
use crate::thesaurus::Thesaurus;
use crate::units::{Digest, UnitState};
use crate::vectors::{Matrix, Meaning, QueryVector, VectorModel};
use crate::write::write_unit;

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The file cannot be opened or is not a SQLite database.
    #[error("could not open the search index `{path}`")]
    Open {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("could not use the search index")]
    Database {
        #[from]
        source: rusqlite::Error,
    },
    /// The file with the vectors, or what belongs to them in the index.
    #[error("could not use the vectors of passages")]
    Vectors {
        #[source]
        source: rusqlite::Error,
    },
    /// There can be no file with vectors.
    #[error("could not use the vectors of passages: {reason}")]
    NoVectors { reason: String },
}

impl SearchError {
    fn vectors(source: rusqlite::Error) -> Self {
        Self::Vectors { source }
    }

    const fn source_in_sqlite(&self) -> Option<&rusqlite::Error> {
        match self {
            Self::Open { source, .. } | Self::Database { source } | Self::Vectors { source } => {
                Some(source)
            }
            Self::NoVectors { .. } => None,
        }
    }

    /// Returns true if texts can be searched all the same.
    pub const fn is_of_vectors(&self) -> bool {
        matches!(self, Self::Vectors { .. } | Self::NoVectors { .. })
    }

    /// Returns true if the file is damaged and must be deleted and rebuilt.
    pub fn is_damaged(&self) -> bool {
        let Some(source) = self.source_in_sqlite() else {
            return false;
        };
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
        let code = self
            .source_in_sqlite()
            .and_then(rusqlite::Error::sqlite_error_code);
        matches!(
            code,
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Units checked.
    pub scanned: usize,
    /// Units read because their stamp had changed.
    pub read: usize,
    pub updated: usize,
    pub deleted: usize,
}

/// A search index. Not `Sync`: share it between threads through a lock.
#[derive(Debug)]
pub struct Index {
    db: Connection,
    analyzer: Analyzer,
    /// Built for the first search.
    thesaurus: OnceCell<Thesaurus>,
    /// The vectors of the last search that compared some.
    matrix: RefCell<Matrix>,
    /// Number of times that vectors were kept by this process, which `data_version` leaves out.
    kept_vectors: usize,
    has_vectors: bool,
}

impl Index {
    /// Opens the index file or creates it. Empties a file of another index version.
    pub fn open(path: &Path) -> Result<Self, SearchError> {
        let open = || {
            let mut db = Connection::open(path)?;
            schema::prepare(&mut db)?;
            Ok(Self::of(db))
        };
        open().map_err(|source| SearchError::Open {
            path: path.to_owned(),
            source,
        })
    }

    pub fn in_memory() -> Result<Self, SearchError> {
        let mut db = Connection::open_in_memory()?;
        schema::prepare(&mut db)?;
        Ok(Self::of(db))
    }

    fn of(db: Connection) -> Self {
        Self {
            db,
            analyzer: Analyzer::default(),
            thesaurus: OnceCell::new(),
            matrix: RefCell::default(),
            kept_vectors: 0,
            has_vectors: false,
        }
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
        self.sync_noting((units, &Digest::of(units)), read, &mut |_, _, _| {})
    }

    /// Returns true if the last synchronization read all units of this state, and nothing else.
    pub fn holds(&self, digest: &Digest) -> Result<bool, SearchError> {
        Ok(held(&self.db)?.is_some_and(|held| held == *digest))
    }

    /// Like [`Index::sync`], but calls `note` for each unit that was read or removed, with the
    /// number of documents written and removed. The digest stands for all units.
    pub fn sync_noting(
        &mut self,
        (units, digest): (&[UnitState], &Digest),
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
            if known.unchanged.len() == wanted.len() && !self.holds(digest)? {
                self.keep_digest(&wanted, digest)?;
            }
            return Ok(report);
        }
        // The cache is only valid for the words of this transaction.
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
            // Another process may have written the same content in the meantime.
            if known.get(unit).is_some_and(|known| known == stamp) {
                continue;
            }
            let written = write_unit(&tx, unit, documents, &mut analyzer)?;
            report.updated += written.updated;
            report.deleted += written.deleted;
            note(unit, written.updated, written.deleted);
            let mut stamped = tx.prepare_cached("UPDATE units SET stamp = ?2 WHERE unit = ?1")?;
            if stamped.execute([unit, stamp])? == 0 {
                tx.prepare_cached("INSERT INTO units(unit, stamp) VALUES (?1, ?2)")?
                    .execute([unit, stamp])?;
            }
        }
        hold(&tx, &wanted, digest)?;
        tx.commit()?;
        Ok(report)
    }

    /// Notes what the index holds already, unless another process is writing.
    fn keep_digest(
        &mut self,
        wanted: &BTreeMap<&str, &str>,
        digest: &Digest,
    ) -> Result<(), SearchError> {
        let behavior = TransactionBehavior::Immediate;
        match self.db.transaction_with_behavior(behavior) {
            Ok(tx) => {
                hold(&tx, wanted, digest)?;
                Ok(tx.commit()?)
            }
            Err(error) => {
                let error = SearchError::from(error);
                if error.is_busy() { Ok(()) } else { Err(error) }
            }
        }
    }

    /// Returns true if the index has no content.
    pub fn is_empty(&self) -> Result<bool, SearchError> {
        let units = "SELECT NOT EXISTS (SELECT 1 FROM units)";
        Ok(self.db.query_row(units, [], |row| row.get(0))?)
    }

    /// Searches texts only.
    pub fn search(&self, query: &Query) -> Result<SearchOutcome, SearchError> {
        self.search_by(query, Meaning::Unconfigured)
    }

    /// Searches texts and compares meanings, too, if there is a vector.
    pub fn search_by(
        &self,
        query: &Query,
        meaning: Meaning<'_>,
    ) -> Result<SearchOutcome, SearchError> {
        let thesaurus = self.thesaurus.get_or_init(Thesaurus::new);
        let mut matrix = self.matrix.borrow_mut();
        let semantic = match meaning {
            Meaning::Unconfigured => hits::Semantic::Skipped("embedding_unconfigured"),
            Meaning::Failed => hits::Semantic::Skipped("embedding_failed"),
            Meaning::Near(vector) => {
                self.read_matrix(&mut matrix, vector)
                    .map_err(SearchError::vectors)?;
                hits::Semantic::Near(&matrix, &vector.numbers)
            }
        };
        hits::search(&self.db, &self.analyzer, thesaurus, query, semantic)
    }

    fn read_matrix(
        &self,
        matrix: &mut Matrix,
        vector: &QueryVector,
    ) -> Result<(), rusqlite::Error> {
        let held = held(&self.db)?.unwrap_or_default();
        let dimensions = vector.numbers.len();
        let key = format!(
            "{} {dimensions} {} {} {}",
            vector.model,
            held.as_str(),
            kept::versions(&self.db)?,
            self.kept_vectors,
        );
        if matrix.key != key || held == Digest::default() {
            let empty = Matrix::new(key, dimensions);
            *matrix = kept::matrix(&self.db, &vector.model, empty, dimensions)?;
        }
        Ok(())
    }

    /// Opens the file with the vectors of passages, if that is not done yet.
    pub fn attach_vectors(&mut self, path: &Path) -> Result<(), SearchError> {
        if !self.has_vectors {
            kept::attach(&self.db, path).map_err(SearchError::vectors)?;
            self.has_vectors = true;
        }
        Ok(())
    }

    /// Whether the vectors are attached.
    pub const fn has_vectors(&self) -> bool {
        self.has_vectors
    }

    /// Closes the file with the vectors.
    pub fn detach_vectors(&mut self) -> Result<(), SearchError> {
        if self.has_vectors {
            self.has_vectors = false;
            self.matrix = RefCell::default();
            kept::detach(&self.db).map_err(SearchError::vectors)?;
        }
        Ok(())
    }

    /// Returns some passages that have no vector of this model, in an order that a later call
    /// continues. The vectors must be attached.
    pub fn unembedded(
        &mut self,
        model: &VectorModel,
        after: Option<&Unembedded>,
        limit: usize,
    ) -> Result<Vec<Unembedded>, SearchError> {
        let noted = kept::noted(&self.db, &model.name).map_err(SearchError::vectors)?;
        let units = held(&self.db)?.unwrap_or_default();
        let mut model = model.clone();
        if let Some((known, embedded)) = noted {
            model.dimensions = model.dimensions.or(known.dimensions);
            if model == known && embedded == units.as_str() && units != Digest::default() {
                return Ok(Vec::new());
            }
        }
        if after.is_none() {
            kept::note_passages(&mut self.db)?;
        }
        let found = kept::unembedded(&self.db, &model, after, limit);
        let found = found.map_err(SearchError::vectors)?;
        if found.is_empty() && after.is_none() && units != Digest::default() {
            kept::note(&self.db, &model, units.as_str()).map_err(SearchError::vectors)?;
        }
        Ok(found)
    }

    /// Returns how many texts have no vector of this model. The vectors must be attached.
    pub fn count_unembedded(&self, model: &VectorModel) -> Result<usize, SearchError> {
        kept::count_unembedded(&self.db, model).map_err(SearchError::vectors)
    }

    /// Keeps the vectors of passages, in the order of both.
    pub fn keep_vectors(
        &mut self,
        model: &str,
        passages: &[Unembedded],
        vectors: &[Vec<f32>],
    ) -> Result<(), SearchError> {
        self.kept_vectors += 1;
        let vectors = vectors.iter().map(Vec::as_slice);
        let pairs = passages.iter().zip(vectors);
        kept::keep(&mut self.db, model, pairs).map_err(SearchError::vectors)
    }

    /// Notes passages that the model refuses: they are not listed any more.
    pub fn keep_refused(
        &mut self,
        model: &str,
        passages: &[Unembedded],
    ) -> Result<(), SearchError> {
        let none: &[f32] = &[];
        let pairs = passages.iter().map(|passage| (passage, none));
        kept::keep(&mut self.db, model, pairs).map_err(SearchError::vectors)
    }

    /// Lets the passages that the model refused be listed again.
    pub fn forget_refused(&mut self, model: &str) -> Result<(), SearchError> {
        kept::forget_refused(&self.db, model).map_err(SearchError::vectors)
    }
}

/// The digest of the units that the index holds.
fn held(db: &Connection) -> Result<Option<Digest>, rusqlite::Error> {
    Ok(noted(db, "units")?.map(Digest::stored))
}

fn noted(db: &Connection, key: &str) -> Result<Option<String>, rusqlite::Error> {
    let mut statement = db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    statement.query_row([key], |row| row.get(0)).optional()
}

fn note(db: &Connection, key: &str, value: &str) -> Result<(), rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "INSERT INTO meta(key, value) VALUES (?1, ?2)
         ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    )?;
    statement.execute([key, value]).map(drop)
}

/// Notes the digest if the index holds all units; otherwise removes the old one.
fn hold(
    tx: &Transaction<'_>,
    wanted: &BTreeMap<&str, &str>,
    digest: &Digest,
) -> Result<(), rusqlite::Error> {
    let now = compare(tx, wanted)?;
    if now.removed > 0 || now.unchanged.len() < wanted.len() {
        tx.execute("DELETE FROM meta WHERE key = 'units'", [])?;
        return Ok(());
    }
    note(tx, "units", digest.as_str())
}

/// The differences between the existing units and the index.
#[derive(Default)]
struct UnitChanges<'a> {
    unchanged: HashSet<&'a str>,
    removed: usize,
}

/// Compares stamps in place: copying them would make a search over many pages slow.
fn compare<'a>(
    db: &Connection,
    wanted: &BTreeMap<&'a str, &str>,
) -> Result<UnitChanges<'a>, rusqlite::Error> {
    let mut comparison = UnitChanges::default();
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
