//! Partial catalogs: reads only the sources that an answer needs, through an index that is valid
//! while all stamps are the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ktx_diagnostics::Failure;
use ktx_semantic_layer::{Catalog, CatalogIndex, SourceFile, compile};
use ktx_vocabulary::ConnectionId;
use sha2::{Digest as _, Sha256};

use super::{IndexPlace, Inner, lock};
use crate::context::Need;
use crate::layers::WithheldParts;

/// Changes with the form or content of indexes.
const FORMAT: u32 = 3;

/// Fewer files are faster to read than an index.
const FEWEST: usize = 64;

const ROUNDS: usize = 12;

const MOST_READ: usize = 256;

impl Inner {
    pub(super) fn catalog_for(
        &self,
        id: &ConnectionId,
        need: &Need,
    ) -> Result<Arc<Catalog>, Failure> {
        // The index has all sources: a client with a policy can see only some.
        if self.policy().is_some() {
            return self.catalog(id);
        }
        let files = self.source_files(id)?;
        let is_whole = self.parts.withheld == WithheldParts::default() && files.left_out.is_empty();
        let place = self
            .index_file(id)
            .filter(|_| is_whole && files.entries.len() >= FEWEST);
        let Some(place) = place else {
            return self.catalog(id);
        };
        let stamp = self.stamp_of(id, &files)?;
        let is_known = |known: &super::Cached<Arc<Catalog>>| known.stamp == stamp;
        if lock(&self.catalogs).get(id).is_some_and(is_known) {
            return self.catalog(id);
        }
        let dialect = self.dialect(id)?;
        if let Some(index) = read(&place, &stamp) {
            let part = self.partly_read(id, index.catalog(dialect), need);
            if let Some(part) = part {
                return Ok(Arc::new(part));
            }
            return self.catalog(id);
        }
        let catalog = self.catalog(id)?;
        if let Some(index) = catalog.index()
            && let Err(reason) = write(&place, &stamp, &index)
        {
            tracing::debug!(%reason, "the index of sources is not kept");
        }
        Ok(catalog)
    }

    fn partly_read(&self, id: &ConnectionId, mut catalog: Catalog, need: &Need) -> Option<Catalog> {
        let mut wanted = match need {
            Need::Query(query) => catalog.known(query.mentioned()),
            Need::Text(_) if catalog.reaches_far() => return None,
            Need::Text(name) => catalog.known(BTreeSet::from([name.clone()])),
        };
        for _ in 0..ROUNDS {
            if wanted.is_empty() || wanted.len() > MOST_READ {
                return None;
            }
            let pieces = self.read_pieces(id, &catalog, &wanted)?;
            catalog = catalog.with_read(&wanted, pieces)?;
            let is_answered = match need {
                Need::Query(query) => compile(&catalog, query, catalog.dialect()).is_ok(),
                Need::Text(name) => catalog.read(name).is_ok(),
            };
            let unread = catalog.unread();
            if unread.all {
                return None;
            }
            if unread.sources.is_subset(&wanted) {
                // A refusal names members of other sources.
                return is_answered.then_some(catalog);
            }
            wanted.extend(unread.sources);
        }
        None
    }

    fn read_pieces(
        &self,
        id: &ConnectionId,
        catalog: &Catalog,
        wanted: &BTreeSet<String>,
    ) -> Option<Vec<SourceFile>> {
        let folder = self.layout.sources(id);
        let mut last: Option<(String, Vec<u8>)> = None;
        let mut files = Vec::new();
        for piece in catalog.pieces(wanted) {
            if last.as_ref().is_none_or(|(file, _)| *file != piece.file) {
                let bytes = fs::read(folder.join(&piece.file)).ok()?;
                last = Some((piece.file.clone(), bytes));
            }
            let (_, bytes) = last.as_ref()?;
            files.push(piece.cut(bytes)?);
        }
        Some(files)
    }

    fn index_file(&self, id: &ConnectionId) -> Option<PathBuf> {
        match &self.parts.index {
            IndexPlace::File(index) => {
                let folder = index.parent()?.join("listings");
                Some(folder.join(format!("{id}.index.json")))
            }
            IndexPlace::Memory => None,
        }
    }
}

fn head(stamp: &str, index: &[u8]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let digest = Sha256::digest(index);
    let sum = digest.iter().map(|byte| format!("{byte:02x}"));
    let sum = sum.collect::<Vec<_>>().concat();
    format!(
        "ktx index {FORMAT} {version} {sum} {}\n{stamp}\n",
        stamp.len()
    )
}

fn read(place: &Path, stamp: &str) -> Option<CatalogIndex> {
    let bytes = fs::read(place).ok()?;
    let length = head(stamp, b"").len();
    let (own, index) = bytes.split_at_checked(length)?;
    (own == head(stamp, index).as_bytes()).then_some(())?;
    serde_json::from_slice(index).ok()
}

fn write(place: &Path, stamp: &str, index: &CatalogIndex) -> Result<(), String> {
    let index = serde_json::to_vec(index).map_err(|error| error.to_string())?;
    let mut bytes = head(stamp, &index).into_bytes();
    bytes.extend(index);
    ktx_project_store::write_atomically(place, &bytes)
        .map(|_| ())
        .map_err(|error| error.to_string())
}
