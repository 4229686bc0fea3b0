//! Opens the index file and synchronizes it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::document::Document;
use crate::error::SearchError;
use crate::filing::Filing;
use crate::hits;
use crate::kept::{self, Unembedded};
use crate::postings::PostingsCache;
use crate::query::{Query, SearchOutcome};
use crate::ranking::Lexicon;
use crate::schema;
use crate::text::Analyzer;
use crate::thesaurus::Thesaurus;
use crate::units::{Digest, UnitState};
use crate::vectors::{Matrix, Meaning, QueryVector, VectorModel};
use crate::write::write_unit;

mod nearest;

pub use nearest::NearDocument;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncReport {
    pub scanned: usize,
    pub read: usize,
    pub updated: usize,
    pub deleted: usize,
}

static IN_MEMORY: AtomicU64 = AtomicU64::new(0);

const STATEMENTS: usize = 128;

/// A search index. Not `Sync`: other threads open it again through [`Index::address`].
#[derive(Debug)]
pub struct Index {
    db: Connection,
    analyzer: Analyzer,
    thesaurus: OnceCell<Thesaurus>,
    address: IndexAddress,
    /// Distinguishes the file from earlier or later ones at the same path.
    birth: String,
    has_vectors: bool,
}

#[derive(Debug, Clone)]
pub struct IndexAddress {
    place: Place,
    matrix: Arc<Mutex<Arc<Matrix>>>,
    postings: Arc<PostingsCache>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    File(PathBuf),
    /// A database of this process, which lasts as long as a connection to it.
    Memory(String),
}

impl IndexAddress {
    fn of(place: Place) -> Self {
        Self {
            place,
            matrix: Arc::default(),
            postings: Arc::default(),
        }
    }

    pub fn open(&self) -> Result<Index, SearchError> {
        Index::at(self.clone())
    }
}

impl Index {
    pub fn open(path: &Path) -> Result<Self, SearchError> {
        Self::at(IndexAddress::of(Place::File(path.to_owned())))
    }

    pub fn in_memory() -> Result<Self, SearchError> {
        let number = IN_MEMORY.fetch_add(1, Ordering::Relaxed);
        let name = format!("file:/ktx-index-{number}?vfs=memdb");
        Self::at(IndexAddress::of(Place::Memory(name)))
    }

    fn at(address: IndexAddress) -> Result<Self, SearchError> {
        let open = || {
            let mut db = match &address.place {
                Place::File(path) => Connection::open(path)?,
                Place::Memory(name) => {
                    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                        | OpenFlags::SQLITE_OPEN_CREATE
                        | OpenFlags::SQLITE_OPEN_URI;
                    Connection::open_with_flags(name, flags)?
                }
            };
            schema::prepare(&mut db)?;
            db.set_prepared_statement_cache_capacity(STATEMENTS);
            let birth = schema::birth(&db)?;
            Ok((db, birth))
        };
        match open() {
            Ok((db, birth)) => Ok(Self {
                db,
                birth,
                analyzer: Analyzer::default(),
                thesaurus: OnceCell::new(),
                address,
                has_vectors: false,
            }),
            Err(source) => Err(match address.place {
                Place::File(path) => SearchError::Open { path, source },
                Place::Memory(_) => source.into(),
            }),
        }
    }

    pub fn address(&self) -> IndexAddress {
        self.address.clone()
    }

    /// Synchronizes the index. `units` lists all existing units; the index removes all others.
    /// `read` returns the documents of a unit and is called only for units with a new stamp. `None`
    /// means that the unit cannot be read now: its documents stay, and the next synchronization
    /// tries again. Reads all units before it locks the file. While another process holds the lock,
    /// the error [is busy](SearchError::is_busy) and the index does not change.
    pub fn sync(
        &mut self,
        units: &[UnitState],
        read: &mut dyn FnMut(&str) -> Option<Vec<Document>>,
    ) -> Result<SyncReport, SearchError> {
        self.sync_noting((units, &Digest::of(units)), read, &mut |_, _, _| {})
    }

    /// Returns true if the index has exactly the units of this state.
    pub fn holds(&self, digest: &Digest) -> Result<bool, SearchError> {
        Ok(held(&self.db)?.is_some_and(|held| held == *digest))
    }

    /// Calls `note` for each unit that was read or removed, with the number of documents written
    /// and removed.
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
        let mut filing = Filing::default();
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known = stamps(&tx)?;
        for unit in known.keys().filter(|unit| !is_wanted(unit)) {
            let written = write_unit(&tx, unit, Vec::new(), &mut filing)?;
            report.deleted += written.deleted;
            note(unit, 0, written.deleted);
            tx.execute("DELETE FROM units WHERE unit = ?1", [unit])?;
        }
        for (unit, stamp, documents) in fresh {
            // Another process may have written the same content in the meantime.
            if known.get(unit).is_some_and(|known| known == stamp) {
                continue;
            }
            let written = write_unit(&tx, unit, documents, &mut filing)?;
            report.updated += written.updated;
            report.deleted += written.deleted;
            note(unit, written.updated, written.deleted);
            let mut stamped = tx.prepare_cached("UPDATE units SET stamp = ?2 WHERE unit = ?1")?;
            if stamped.execute([unit, stamp])? == 0 {
                tx.prepare_cached("INSERT INTO units(unit, stamp) VALUES (?1, ?2)")?
                    .execute([unit, stamp])?;
            }
        }
        filing.write(&tx)?;
        hold(&tx, &wanted, digest)?;
        tx.commit()?;
        Ok(report)
    }

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

    pub fn is_empty(&self) -> Result<bool, SearchError> {
        let units = "SELECT NOT EXISTS (SELECT 1 FROM units)";
        Ok(self.db.query_row(units, [], |row| row.get(0))?)
    }

    pub fn search(&self, query: &Query) -> Result<SearchOutcome, SearchError> {
        self.search_by(query, Meaning::Unconfigured)
    }

    /// Compares meanings, too, if there is a vector. Answers from one snapshot.
    pub fn search_by(
        &self,
        query: &Query,
        meaning: Meaning<'_>,
    ) -> Result<SearchOutcome, SearchError> {
        let reading = self.db.unchecked_transaction()?;
        let outcome = self.search_now(query, meaning)?;
        reading.finish()?;
        Ok(outcome)
    }

    fn search_now(
        &self,
        query: &Query,
        meaning: Meaning<'_>,
    ) -> Result<SearchOutcome, SearchError> {
        let matrix;
        let semantic = match meaning {
            Meaning::Unconfigured => hits::Semantic::Skipped("embedding_unconfigured"),
            Meaning::Failed => hits::Semantic::Skipped("embedding_failed"),
            Meaning::Near(vector) => {
                matrix = self.matrix(vector).map_err(SearchError::vectors)?;
                hits::Semantic::Near(&matrix, &vector.numbers)
            }
        };
        let held = held(&self.db)?.map(|held| format!("{} {}", self.birth, held.as_str()));
        let lexicon = Lexicon {
            db: &self.db,
            thesaurus: self.thesaurus.get_or_init(Thesaurus::new),
            postings: &self.address.postings.of(held),
        };
        hits::search(lexicon, &self.analyzer, query, semantic)
    }

    /// Answers from one snapshot if the index holds exactly the units of this state; otherwise
    /// returns `None`. Vectors to compare must be attached.
    pub fn search_held<'q>(
        &self,
        digest: &Digest,
        queries: impl Iterator<Item = (Query, Meaning<'q>)>,
    ) -> Result<Option<Vec<SearchOutcome>>, SearchError> {
        let reading = self.db.unchecked_transaction()?;
        let answers = if self.holds(digest)? {
            let answers = queries.map(|(query, meaning)| self.search_now(&query, meaning));
            Some(answers.collect::<Result<_, _>>()?)
        } else {
            None
        };
        reading.finish()?;
        Ok(answers)
    }

    fn matrix(&self, vector: &QueryVector) -> Result<Arc<Matrix>, rusqlite::Error> {
        let held = held(&self.db)?.unwrap_or_default();
        let dimensions = vector.numbers.len();
        let key = format!(
            "{} {dimensions} {} {} {}",
            vector.model,
            self.birth,
            held.as_str(),
            kept::versions(&self.db)?,
        );
        let mut known = self.known_matrix();
        if known.key != key || held == Digest::default() {
            let empty = Matrix::new(key, dimensions);
            *known = Arc::new(kept::matrix(&self.db, &vector.model, empty, dimensions)?);
        }
        Ok(Arc::clone(&known))
    }

    fn known_matrix(&self) -> std::sync::MutexGuard<'_, Arc<Matrix>> {
        // A poisoned lock is harmless: the value is replaced as a whole.
        let matrix = self.address.matrix.lock();
        matrix.unwrap_or_else(PoisonError::into_inner)
    }

    pub fn attach_vectors(&mut self, path: &Path) -> Result<(), SearchError> {
        if !self.has_vectors {
            let beside = match self.address.place {
                Place::File(_) => kept::Beside::File,
                Place::Memory(_) => kept::Beside::Memory,
            };
            kept::attach(&self.db, path, beside).map_err(SearchError::vectors)?;
            self.has_vectors = true;
        }
        Ok(())
    }

    pub const fn has_vectors(&self) -> bool {
        self.has_vectors
    }

    pub fn detach_vectors(&mut self) -> Result<(), SearchError> {
        if self.has_vectors {
            self.has_vectors = false;
            *self.known_matrix() = Arc::default();
            kept::detach(&self.db).map_err(SearchError::vectors)?;
        }
        Ok(())
    }

    /// Returns some passages without a vector, in an order that a later call continues. The vectors
    /// must be attached.
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

    /// The vectors must be attached.
    pub fn is_embedded(&self, model: &VectorModel, digest: &Digest) -> Result<bool, SearchError> {
        if *digest == Digest::default() || !self.holds(digest)? {
            return Ok(false);
        }
        let noted = kept::noted(&self.db, &model.name).map_err(SearchError::vectors)?;
        Ok(noted.is_some_and(|(known, units)| {
            let dimensions = model.dimensions.or(known.dimensions);
            dimensions == known.dimensions && units == digest.as_str()
        }))
    }

    /// The vectors must be attached.
    pub fn count_unembedded(&self, model: &VectorModel) -> Result<usize, SearchError> {
        kept::count_unembedded(&self.db, model).map_err(SearchError::vectors)
    }

    /// Stores vectors in the order of the passages.
    pub fn keep_vectors(
        &mut self,
        model: &str,
        passages: &[Unembedded],
        vectors: &[Vec<f32>],
    ) -> Result<(), SearchError> {
        let vectors = vectors.iter().map(Vec::as_slice);
        let pairs = passages.iter().zip(vectors);
        kept::keep(&mut self.db, model, pairs).map_err(SearchError::vectors)
    }

    /// Refused passages are not listed again.
    pub fn keep_refused(
        &mut self,
        model: &str,
        passages: &[Unembedded],
    ) -> Result<(), SearchError> {
        let none: &[f32] = &[];
        let pairs = passages.iter().map(|passage| (passage, none));
        kept::keep(&mut self.db, model, pairs).map_err(SearchError::vectors)
    }

    pub fn forget_refused(&mut self, model: &str) -> Result<(), SearchError> {
        kept::forget_refused(&self.db, model).map_err(SearchError::vectors)
    }
}

fn held(db: &Connection) -> Result<Option<Digest>, rusqlite::Error> {
    Ok(schema::noted(db, "units")?.map(Digest::stored))
}

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
    schema::note(tx, "units", digest.as_str())
}

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
