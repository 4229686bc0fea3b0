//! The whole search index brought up to date at once, with what that changed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_diagnostics::Failure;
use ktx_search::UnitState;

use super::index::{Scope, scope_of};
use super::meaning::Extent;
use super::{FileContext, IndexPlace, Inner, lock};

/// Whether what is indexed already is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reindexing {
    /// Only what has changed.
    Changed,
    /// Everything: the index is removed first, whatever state it is in.
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
    /// Passages that got a vector; `None` if no provider of vectors is configured.
    pub embedded: Option<usize>,
    /// What could not be read and is as it was, each as one line.
    pub warnings: Vec<String>,
}

impl FileContext {
    /// Brings the index up to date. Searches do that too; this reads everything that there is to say
    /// what has changed, or makes the index anew.
    ///
    /// # Errors
    /// When the index cannot be written, such as while another process writes it.
    pub async fn reindex(&self, how: Reindexing) -> Result<Reindexed, Failure> {
        let mut done = self.blocking(move |inner| inner.reindex(how)).await?;
        if self.inner.parts.vectors.is_some() {
            if how == Reindexing::Everything {
                self.forget_refused().await;
            }
            let meaning = self.meaning(&[], Extent::All).await;
            done.embedded = Some(meaning.embedded);
            done.warnings.extend(meaning.warnings);
        }
        Ok(done)
    }
}

impl Inner {
    fn reindex(&self, how: Reindexing) -> Result<Reindexed, Failure> {
        let mut units = self.units()?;
        let scopes = self.scopes(units.all());
        if how == Reindexing::Everything {
            *lock(&self.index) = None;
            self.readers.forget();
            self.discard_index()?;
        }
        let mut notes = Vec::new();
        let mut done = scopes.clone();
        self.with_index(&mut notes, |index, _| {
            done.clone_from(&scopes);
            self.sync(index, &mut units, &mut |unit, updated, deleted| {
                let done = done.entry(scope_of(unit)).or_default();
                done.1 += updated;
                done.2 += deleted;
            })
        })?;
        notes.append(&mut units.warnings);
        let place = match &self.parts.index {
            IndexPlace::File(path) => Some(path.clone()).filter(|path| path.is_file()),
            IndexPlace::Memory => None,
        };
        let scopes = done.into_iter().map(|(scope, done)| ReindexedScope {
            scope,
            scanned: done.0,
            updated: done.1,
            deleted: done.2,
        });
        Ok(Reindexed {
            scopes: scopes.collect(),
            place,
            embedded: None,
            warnings: notes,
        })
    }

    /// How many pages and sources there are, by scope.
    fn scopes<'u>(
        &self,
        states: impl Iterator<Item = &'u UnitState>,
    ) -> BTreeMap<Scope, (usize, usize, usize)> {
        let mut scopes: BTreeMap<Scope, (usize, usize, usize)> = BTreeMap::new();
        for state in states {
            let scope = scope_of(&state.unit);
            let pages = usize::from(!matches!(scope, Scope::Connection(_)));
            scopes.entry(scope).or_default().0 += pages;
        }
        for (scope, done) in &mut scopes {
            // Sources that cannot be read are told of where they are indexed.
            if let Scope::Connection(id) = scope
                && let Ok(id) = ktx_vocabulary::ConnectionId::parse(id)
                && let Ok(catalog) = self.catalog(&id)
            {
                done.0 = catalog.list().len();
            }
        }
        scopes
    }
}
