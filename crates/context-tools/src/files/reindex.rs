//! The whole search index brought up to date at once, with what that changed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_search::UnitState;

use super::index::{Scope, scope_of};
use super::{FileContext, IndexPlace, Inner, lock};
use crate::failure::Failure;

/// Whether what is indexed already is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reindexing {
    /// Only what has changed.
    Changed,
    /// Everything: the index is emptied first.
    Everything,
}

/// What of one scope was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReindexedScope {
    /// Which pages or sources.
    pub scope: Scope,
    /// Pages that there are; for a connection, its semantic sources.
    pub scanned: usize,
    /// Entries that were written: pages; sources with their measures and dimensions; scanned tables
    /// with their columns.
    pub updated: usize,
    /// Entries that were removed because nothing stands behind them any more.
    pub deleted: usize,
}

/// What was done in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reindexed {
    /// The scopes: pages first, then connections.
    pub scopes: Vec<ReindexedScope>,
    /// Where the index lies; `None` when it cannot be kept.
    pub place: Option<PathBuf>,
}

impl FileContext {
    /// Brings the index up to date. Searches do that too; this reads everything that there is to say
    /// what has changed, or makes the index anew.
    ///
    /// # Errors
    /// What a search would say about files that cannot be read.
    pub async fn reindex(&self, how: Reindexing) -> Result<Reindexed, Failure> {
        self.blocking(move |inner| inner.reindex(how)).await
    }
}

impl Inner {
    fn reindex(&self, how: Reindexing) -> Result<Reindexed, Failure> {
        let (states, units) = self.units(self.all_page_files()?)?;
        let mut scopes = self.scopes(&states)?;
        let mut slot = lock(&self.index);
        let index = match slot.as_mut() {
            Some(index) => index,
            None => slot.insert(self.open_index()?),
        };
        if how == Reindexing::Everything {
            index.sync(&[], &mut |_| None)?;
        }
        let mut trouble: Option<Failure> = None;
        index.sync_noting(
            &states,
            &mut |name| {
                let read = units
                    .get(name)
                    .map_or(Ok(None), |unit| self.documents(unit));
                read.unwrap_or_else(|failure| {
                    trouble.get_or_insert(failure);
                    None
                })
            },
            &mut |unit, updated, deleted| {
                let done = scopes.entry(scope_of(unit)).or_default();
                done.1 += updated;
                done.2 += deleted;
            },
        )?;
        if let Some(failure) = trouble {
            return Err(failure);
        }
        let place = match &self.parts.index {
            IndexPlace::File(path) => Some(path.clone()).filter(|path| path.is_file()),
            IndexPlace::Memory => None,
        };
        let scopes = scopes.into_iter().map(|(scope, done)| ReindexedScope {
            scope,
            scanned: done.0,
            updated: done.1,
            deleted: done.2,
        });
        Ok(Reindexed {
            scopes: scopes.collect(),
            place,
        })
    }

    /// How many pages and sources there are, by scope.
    fn scopes(
        &self,
        states: &[UnitState],
    ) -> Result<BTreeMap<Scope, (usize, usize, usize)>, Failure> {
        let mut scopes: BTreeMap<Scope, (usize, usize, usize)> = BTreeMap::new();
        for state in states {
            let scope = scope_of(&state.unit);
            let pages = usize::from(!matches!(scope, Scope::Connection(_)));
            scopes.entry(scope).or_default().0 += pages;
        }
        for (scope, done) in &mut scopes {
            if let Scope::Connection(id) = scope
                && let Ok(id) = ktx_vocabulary::ConnectionId::parse(id)
            {
                done.0 = self.catalog(&id)?.list().len();
            }
        }
        Ok(scopes)
    }
}
