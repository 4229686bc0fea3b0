//! The search index over the folder, brought up to date before each search.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ktx_search::{Document, Index, Kind, Query, SearchError, SearchOutcome, UnitState};
use ktx_vocabulary::ConnectionId;
use ktx_wiki::Scope as PageScope;

use super::pages::PageFile;
use super::{IndexPlace, Inner, lock};
use crate::documents;
use crate::failure::Failure;

/// What units of the index belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The pages for everyone.
    GlobalPages,
    /// The pages of one user.
    UserPages(String),
    /// The sources and the last scan of a connection.
    Connection(String),
}

/// The scope of a unit, by the names that [`Inner::units`] gives.
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

/// What a unit of the index is made of.
pub(super) enum Unit {
    Page(PageFile),
    Sources(ConnectionId),
    Scan(ConnectionId),
}

impl Inner {
    pub(super) fn search(&self, queries: Vec<Query>) -> Result<Vec<SearchOutcome>, Failure> {
        let files = self.all_page_files()?;
        let shadowed: BTreeSet<String> = files
            .iter()
            .filter(
                |file| matches!(&file.path.scope, PageScope::User(user) if *user == self.parts.user),
            )
            .map(|file| file.path.key.to_string())
            .collect();
        let (states, units) = self.units(files)?;
        let mut slot = lock(&self.index);
        let index = match slot.as_mut() {
            Some(index) => index,
            None => slot.insert(self.open_index()?),
        };
        let mut trouble: Option<Failure> = None;
        index.sync(&states, &mut |name| {
            let read = units
                .get(name)
                .map_or(Ok(None), |unit| self.documents(unit));
            read.unwrap_or_else(|failure| {
                trouble.get_or_insert(failure);
                None
            })
        })?;
        if let Some(failure) = trouble {
            return Err(failure);
        }
        let mut outcomes = Vec::with_capacity(queries.len());
        for query in queries {
            outcomes.push(self.search_current(index, query, &shadowed)?);
        }
        Ok(outcomes)
    }

    /// Answers a query from an index that is up to date.
    fn search_current(
        &self,
        index: &Index,
        query: Query,
        shadowed: &BTreeSet<String>,
    ) -> Result<SearchOutcome, Failure> {
        let limit = query.limit;
        // Global pages that a private one shadows are found and left out.
        let widened = Query {
            limit: limit + shadowed.len(),
            ..query
        };
        let mut outcome = index.search(&widened.for_user(self.parts.user.as_str()))?;
        outcome.hits.retain(|hit| {
            hit.kind != Kind::Wiki || hit.owner.is_some() || !shadowed.contains(&hit.id)
        });
        outcome.hits.truncate(limit);
        Ok(outcome)
    }

    pub(super) fn open_index(&self) -> Result<Index, SearchError> {
        match &self.parts.index {
            IndexPlace::Memory => Index::in_memory(),
            IndexPlace::File(path) => match open_file(path) {
                Some(index) => Ok(index),
                None => Index::in_memory(),
            },
        }
    }

    /// The units of the index with their stamps; nothing is read for them.
    pub(super) fn units(
        &self,
        files: Vec<PageFile>,
    ) -> Result<(Vec<UnitState>, BTreeMap<String, Unit>), Failure> {
        let mut states = Vec::new();
        let mut units = BTreeMap::new();
        let mut add = |name: String, stamp: String, unit: Unit| {
            states.push(UnitState {
                unit: name.clone(),
                stamp,
            });
            units.insert(name, unit);
        };
        for file in files {
            add(file.path.to_string(), file.stamp.clone(), Unit::Page(file));
        }
        let mut ids: BTreeSet<ConnectionId> = self.source_folders()?.into_iter().collect();
        ids.extend(
            self.connections()?
                .into_iter()
                .map(|connection| connection.id),
        );
        for id in ids {
            let scan = self.last_scan(&id)?.map(|scan| scan.stamp);
            let sources = self.catalog_stamp(&id)?;
            let both = format!("{sources}\n{}", scan.as_deref().unwrap_or_default());
            add(format!("sources of {id}"), both, Unit::Sources(id.clone()));
            if let Some(scan) = scan {
                add(format!("scan of {id}"), scan, Unit::Scan(id));
            }
        }
        Ok((states, units))
    }

    pub(super) fn documents(&self, unit: &Unit) -> Result<Option<Vec<Document>>, Failure> {
        Ok(match unit {
            Unit::Page(file) => self.page(file)?.map(|page| vec![documents::of_page(&page)]),
            Unit::Sources(id) => {
                let catalog = self.catalog(id)?;
                let snapshot = self.snapshot(id)?;
                Some(documents::of_catalog(id, &catalog, snapshot.as_deref()))
            }
            Unit::Scan(id) => {
                let snapshot = self.snapshot(id)?;
                snapshot.map(|snapshot| documents::of_snapshot(id, &snapshot))
            }
        })
    }
}

/// Opens the index file. A folder that cannot be written to is no reason not to search.
fn open_file(path: &Path) -> Option<Index> {
    let folder = path.parent()?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists()
        && let Err(error) = ktx_project_store::write_atomically(&ignore, b"*\n")
    {
        tracing::debug!(%error, "the search index is kept in memory");
        return None;
    }
    match Index::open(path) {
        Ok(index) => Some(index),
        Err(error) => {
            tracing::debug!(%error, "the search index is kept in memory");
            None
        }
    }
}
