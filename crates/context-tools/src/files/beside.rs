//! Searches over an up-to-date index in parallel, each through its own connection.
//!
//! Only one caller at a time updates the index.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use ktx_search::{
    Digest, Index, IndexAddress, Meaning, Query, SearchError, SearchOutcome, VectorModel,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::index::Units;
use super::{Inner, lock, meaning};

/// More searches than processors only wait for one another.
const FEWEST: usize = 2;
const MOST: usize = 16;

pub(super) struct Readers {
    turns: Arc<Semaphore>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    address: Option<IndexAddress>,
    generation: u64,
    idle: Vec<Index>,
}

impl Default for Readers {
    fn default() -> Self {
        let processors = std::thread::available_parallelism();
        let turns = processors.map_or(FEWEST, NonZeroUsize::get);
        Self {
            turns: Arc::new(Semaphore::new(turns.clamp(FEWEST, MOST))),
            open: Mutex::default(),
        }
    }
}

impl Readers {
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }

    pub(super) fn follow(&self, index: &Index) {
        let mut open = lock(&self.open);
        if open.address.is_none() {
            open.address = Some(index.address());
        }
    }

    pub(super) fn forget(&self) {
        let mut open = lock(&self.open);
        open.generation += 1;
        open.address = None;
        open.idle.clear();
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut Index) -> Result<T, SearchError>,
    ) -> Result<Option<T>, SearchError> {
        let (known, address, generation) = {
            let mut open = lock(&self.open);
            let Some(address) = open.address.clone() else {
                return Ok(None);
            };
            (open.idle.pop(), address, open.generation)
        };
        let mut index = match known {
            Some(index) => index,
            None => address.open()?,
        };
        let done = work(&mut index)?;
        let mut open = lock(&self.open);
        if open.generation == generation && open.idle.len() < MOST {
            open.idle.push(index);
        }
        Ok(Some(done))
    }
}

impl Inner {
    /// Returns `None` if the index is outdated or damaged.
    pub(super) fn search_beside(
        &self,
        queries: &[Query],
        units: &Units,
        meaning: &meaning::Meaning,
    ) -> Option<Vec<SearchOutcome>> {
        let digest = units.digest();
        let searched = self
            .readers
            .with(|index| self.search_held(index, (&digest, units), queries, meaning));
        match searched {
            Ok(outcomes) => outcomes.flatten(),
            Err(error) => {
                tracing::debug!(%error, "a search waits for the owner of the index");
                None
            }
        }
    }

    pub(super) fn is_embedded_beside(&self, units: &Units, model: &VectorModel) -> bool {
        let digest = units.digest();
        let looked = self.readers.with(|index| {
            index.attach_vectors(&self.vectors_file())?;
            index.is_embedded(model, &digest)
        });
        looked.ok().flatten().unwrap_or_default()
    }

    fn search_held(
        &self,
        index: &mut Index,
        (digest, units): (&Digest, &Units),
        queries: &[Query],
        meaning: &meaning::Meaning,
    ) -> Result<Option<Vec<SearchOutcome>>, SearchError> {
        if !meaning.queries.is_empty() {
            index.attach_vectors(&self.vectors_file())?;
        }
        let widened = queries.iter().zip(0..).map(|(query, place)| {
            let near = match meaning.queries.get(place) {
                Some(vector) => Meaning::Near(vector),
                None if self.parts.vectors.is_some() => Meaning::Failed,
                None => Meaning::Unconfigured,
            };
            (self.widened(query, units), near)
        });
        let Some(mut outcomes) = index.search_held(digest, widened)? else {
            return Ok(None);
        };
        for (outcome, query) in outcomes.iter_mut().zip(queries) {
            units.leave_out_shadowed(outcome, query.limit);
        }
        Ok(Some(outcomes))
    }
}

#[cfg(test)]
mod tests;
