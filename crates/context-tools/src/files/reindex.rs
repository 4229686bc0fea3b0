//! Updates the whole search index and reports the changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_diagnostics::Failure;
use ktx_search::UnitState;

use super::index::{Scope, scope_of};
use super::meaning::Extent;
use super::{FileContext, IndexPlace, Inner, lock};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reindexing {
    Changed,
    /// Removes the index first.
    Everything,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReindexedScope {
    pub scope: Scope,
    pub scanned: usize,
    /// Pages; sources with measures and dimensions; scanned tables with columns.
    pub updated: usize,
    pub deleted: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reindexed {
    pub scopes: Vec<ReindexedScope>,
    /// `None` if the index is in memory.
    pub place: Option<PathBuf>,
    /// New vectors; `None` without a provider.
    pub embedded: Option<usize>,
    pub warnings: Vec<String>,
}

impl FileContext {
    /// Updates or rebuilds the index and reports the changes.
    ///
    /// # Errors
    /// If the index cannot be written, such as while another process writes it.
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
