//! The search index of a project folder, updated before each search.
//!
//! A damaged index is rebuilt, one that another process writes is used as it is, unreadable files
//! are left out; the answer says so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use ktx_diagnostics::{Code, Failure};
use ktx_search::{
    Digest, Document, Index, Kind, Query, QueryVector, SearchError, SearchOutcome, UnitState,
};
use ktx_vocabulary::ConnectionId;

use super::kept::PageUnits;
use super::meaning::Meaning;
use super::{IndexPlace, Inner, lock};
use crate::documents;
use crate::embedding::remove_database;
use crate::scans::Shown;

const DAMAGED: &str = "the search index was damaged; ktx rebuilt it";

const BUSY: &str = "another process is writing the search index: what has changed since the last search may be \
                    missing; search again";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    GlobalPages,
    UserPages(String),
    Connection(String),
}

pub(super) fn scope_of(unit: &str) -> Scope {
    let connection = unit
        .strip_prefix("sources of ")
        .or_else(|| unit.strip_prefix("scan of "));
    let user = unit.strip_prefix("wiki/user/");
    match (connection, user.and_then(|rest| rest.split('/').next())) {
        (Some(id), _) => Scope::Connection(id.to_owned()),
        (None, Some(user)) => Scope::UserPages(user.to_owned()),
        (None, None) => Scope::GlobalPages,
    }
}

pub(super) enum Unit {
    Sources(ConnectionId),
    Scan(ConnectionId),
    /// Unreadable now: the old content stays.
    Unread,
}

#[derive(Default)]
pub(super) struct Units {
    pages: Arc<PageUnits>,
    states: Vec<UnitState>,
    by_name: BTreeMap<String, Unit>,
    pub(super) warnings: Vec<String>,
}

impl Units {
    fn add(&mut self, name: String, stamp: String, unit: Unit) {
        self.states.push(UnitState {
            unit: name.clone(),
            stamp,
        });
        self.by_name.insert(name, unit);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &UnitState> {
        self.pages.states.iter().chain(&self.states)
    }

    pub(super) fn digest(&self) -> Digest {
        Digest::of_both(&self.pages.digest, &Digest::of(&self.states))
    }

    /// A private page shadows a global one.
    pub(super) fn leave_out_shadowed(&self, outcome: &mut SearchOutcome, limit: usize) {
        let shadowed = &self.pages.own;
        outcome.hits.retain(|hit| {
            hit.kind != Kind::Wiki || hit.owner.is_some() || !shadowed.contains(&hit.id)
        });
        outcome.hits.truncate(limit);
    }

    pub(super) fn warn(&mut self, failure: &Failure) {
        if !self.warnings.contains(&failure.message) {
            self.warnings.push(failure.message.clone());
        }
    }
}

impl Inner {
    pub(super) fn search(
        &self,
        queries: &[Query],
        meaning: &Meaning,
    ) -> Result<Vec<SearchOutcome>, Failure> {
        let mut units = self.units()?;
        let mut notes = Vec::new();
        let beside = self.search_beside(queries, &units, meaning);
        let beside = beside.or_else(|| {
            let is_current = self.awaited(&units.digest());
            is_current.then(|| self.search_beside(queries, &units, meaning))?
        });
        let mut outcomes = match beside {
            Some(outcomes) => outcomes,
            None => self.search_alone(queries, &mut units, &mut notes, meaning)?,
        };
        if self.policy().is_some() {
            // Warnings name files, which can be hidden.
            units.warnings.clear();
        }
        for outcome in &mut outcomes {
            let all = notes.iter().chain(&units.warnings).chain(&meaning.warnings);
            outcome.warnings = all.cloned().collect();
        }
        Ok(outcomes)
    }

    fn awaited(&self, digest: &Digest) -> bool {
        let slot = lock(&self.index);
        slot.as_ref()
            .is_some_and(|index| index.holds(digest).unwrap_or_default())
    }

    fn search_alone(
        &self,
        queries: &[Query],
        units: &mut Units,
        notes: &mut Vec<String>,
        meaning: &Meaning,
    ) -> Result<Vec<SearchOutcome>, Failure> {
        let outcomes = self.with_index(notes, |index, is_kept| {
            let synced = self.sync(index, units, &mut |_, _, _| {});
            let is_busy = match synced {
                Ok(()) => false,
                Err(error) if error.is_busy() => true,
                Err(error) => return Err(error),
            };
            if is_busy && is_kept && index.is_empty()? {
                let mut whole = Index::in_memory()?;
                self.sync(&mut whole, units, &mut |_, _, _| {})?;
                return self.answers(&mut whole, queries, units, &Meaning::default());
            }
            if is_busy {
                units.warn(&Failure::new(Code::SearchBusy, BUSY));
            } else if is_kept {
                self.readers.follow(index);
            }
            self.answers(index, queries, units, meaning)
        })?;
        Ok(outcomes)
    }

    /// Discards a damaged index and repeats the work once. `work` learns whether the index is on
    /// disk.
    pub(super) fn with_index<T>(
        &self,
        notes: &mut Vec<String>,
        mut work: impl FnMut(&mut Index, bool) -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        let mut slot = lock(&self.index);
        let mut attempt = |slot: &mut Option<Index>| {
            let opened = match slot.take() {
                Some(index) => Ok(index),
                None => self.open_index(),
            };
            match opened {
                Ok(index) => work(slot.insert(index), true),
                Err(error) if error.is_busy() => work(&mut Index::in_memory()?, false),
                Err(error) => Err(error),
            }
        };
        match attempt(&mut slot) {
            Err(error) if error.is_damaged() => {}
            done => return done,
        }
        *slot = None;
        self.readers.forget();
        match self.discard_index() {
            Ok(()) => notes.push(DAMAGED.to_owned()),
            Err(failure) => {
                notes.push(format!(
                    "the search index is damaged and stays so: {}",
                    failure.message
                ));
                *slot = Some(Index::in_memory()?);
            }
        }
        attempt(&mut slot)
    }

    pub(super) fn discard_index(&self) -> Result<(), Failure> {
        let IndexPlace::File(path) = &self.parts.index else {
            return Ok(());
        };
        remove_database(path)
    }

    pub(super) fn sync(
        &self,
        index: &mut Index,
        units: &mut Units,
        note: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<(), SearchError> {
        let digest = units.digest();
        if index.holds(&digest)? {
            return Ok(());
        }
        let states: Vec<UnitState> = units.all().cloned().collect();
        let mut troubles: Vec<Failure> = Vec::new();
        let done = index.sync_noting(
            (&states, &digest),
            &mut |name| {
                self.documents(units, name).unwrap_or_else(|failure| {
                    troubles.push(failure);
                    None
                })
            },
            note,
        );
        for failure in &troubles {
            units.warn(failure);
        }
        done.map(drop)
    }

    fn answers(
        &self,
        index: &mut Index,
        queries: &[Query],
        units: &mut Units,
        meaning: &Meaning,
    ) -> Result<Vec<SearchOutcome>, SearchError> {
        let mut outcomes = Vec::with_capacity(queries.len());
        for (query, place) in queries.iter().zip(0..) {
            let near = meaning.queries.get(place);
            outcomes.push(self.answer(index, query, units, near)?);
        }
        Ok(outcomes)
    }

    fn answer(
        &self,
        index: &mut Index,
        query: &Query,
        units: &mut Units,
        near: Option<&QueryVector>,
    ) -> Result<SearchOutcome, SearchError> {
        let own = self.widened(query, units);
        let mut outcome = match near {
            Some(vector) => self.answer_near(index, &own, vector, &mut units.warnings)?,
            None if self.parts.vectors.is_some() => {
                index.search_by(&own, ktx_search::Meaning::Failed)?
            }
            None => index.search(&own)?,
        };
        units.leave_out_shadowed(&mut outcome, query.limit);
        Ok(outcome)
    }

    pub(super) fn widened(&self, query: &Query, units: &Units) -> Query {
        let widened = Query {
            limit: query.limit.saturating_add(units.pages.own.len()),
            ..query.clone()
        };
        widened.for_user(self.parts.user.as_str())
    }

    /// Falls back to memory. Fails if the index is damaged or busy.
    fn open_index(&self) -> Result<Index, SearchError> {
        let IndexPlace::File(path) = &self.parts.index else {
            return Index::in_memory();
        };
        if !has_folder(path) {
            return Index::in_memory();
        }
        match Index::open(path) {
            Err(error) if !error.is_damaged() && !error.is_busy() => {
                tracing::debug!(%error, "the search index is kept in memory");
                Index::in_memory()
            }
            opened => opened,
        }
    }

    /// Reads no files, only stamps.
    pub(super) fn units(&self) -> Result<Units, Failure> {
        let mut units = Units::default();
        let connections = self.connections()?;
        units.pages = self.page_units();
        let pages = Arc::clone(&units.pages);
        for failure in &pages.failures {
            units.warn(failure);
        }
        let mut ids: BTreeSet<ConnectionId> = connections.into_iter().map(|one| one.id).collect();
        match self.source_folders() {
            Ok(folders) => ids.extend(folders),
            Err(failure) => units.warn(&failure),
        }
        for id in ids {
            self.add_connection(id, &mut units);
        }
        Ok(units)
    }

    fn add_connection(&self, id: ConnectionId, units: &mut Units) {
        let names = [format!("sources of {id}"), format!("scan of {id}")];
        let stamps = self.source_files(&id).and_then(|files| {
            let sources = self.stamp_of(&id, &files)?;
            Ok((sources, self.last_scan(&id)?, files))
        });
        let [sources, scan] = names;
        match stamps {
            Ok((stamp, last, files)) => {
                for entry in &files.left_out {
                    units.warn(&self.left_out(entry));
                }
                let last = last.as_ref().as_ref().map(|scan| scan.digest.clone());
                // Sources decide what is hidden, the scan holds what can be hidden.
                let both = format!("{stamp}\n{}", last.as_deref().unwrap_or_default());
                units.add(sources, both.clone(), Unit::Sources(id.clone()));
                if last.is_some() {
                    units.add(scan, both, Unit::Scan(id));
                }
            }
            Err(failure) => {
                units.warn(&failure);
                units.add(sources, String::new(), Unit::Unread);
                units.add(scan, String::new(), Unit::Unread);
            }
        }
    }

    fn documents(&self, units: &Units, name: &str) -> Result<Option<Vec<Document>>, Failure> {
        if let Some(file) = units.pages.files.get(name) {
            let page = self.page(file)?;
            return Ok(page.map(|page| vec![documents::of_page(&page)]));
        }
        let Some(unit) = units.by_name.get(name) else {
            return Ok(None);
        };
        Ok(match unit {
            Unit::Sources(id) => {
                let catalog = self.catalog(id)?;
                let snapshot = self.snapshot(id)?;
                let scan = snapshot.as_deref().map(|scan| Shown::of(&catalog, scan));
                Some(documents::of_catalog(id, &catalog, scan.as_ref()))
            }
            Unit::Scan(id) => {
                let catalog = self.catalog(id)?;
                let snapshot = self.snapshot(id)?;
                snapshot.map(|scan| documents::of_scan(id, &Shown::of(&catalog, &scan)))
            }
            Unit::Unread => None,
        })
    }
}

/// Also adds a `.gitignore`. A read-only folder does not prevent searches.
pub(super) fn has_folder(path: &Path) -> bool {
    let Some(ignore) = path.parent().map(|folder| folder.join(".gitignore")) else {
        return false;
    };
    if ignore.exists() {
        return true;
    }
    match ktx_project_store::write_atomically(&ignore, b"*\n") {
        Ok(_) => true,
        Err(error) => {
            tracing::debug!(%error, "the search index is kept in memory");
            false
        }
    }
}
