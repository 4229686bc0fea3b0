//! `semantic-layer/<connection>/`: the sources of each connection.

use std::fs;
use std::sync::Arc;

use ktx_diagnostics::Failure;
use ktx_project_store::OmittedFile;
use ktx_semantic_layer::{Catalog, SourceFile};
use ktx_vocabulary::ConnectionId;

use crate::layers::{LayerPart, WithheldParts};

use super::stamp::{FileEntry, digest_of, is_absent, unreadable};
use super::{Cached, Inner, lock};

#[derive(Debug, Default)]
pub(super) struct SourceFiles {
    /// Ordered by path.
    pub(super) entries: Vec<FileEntry>,
    pub(super) left_out: Vec<OmittedFile>,
    pub(super) digest: String,
}

impl Inner {
    /// Includes folders that `ktx.yaml` does not name, and linked ones.
    pub(super) fn source_folders(&self) -> Result<Vec<ConnectionId>, Failure> {
        if self.parts.withheld.contains(LayerPart::Semantic) {
            return Ok(Vec::new());
        }
        let found = self.folders(&self.layout.semantic_layer())?;
        let links = found
            .left_out
            .iter()
            .filter_map(|one| one.place.file_name());
        let links = links.map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = found.names.iter().cloned().chain(links).collect();
        names.sort();
        Ok(names
            .iter()
            .filter_map(|name| ConnectionId::parse(name).ok())
            .collect())
    }

    pub(super) fn catalog(&self, id: &ConnectionId) -> Result<Arc<Catalog>, Failure> {
        if let Some(limited) = self.limited(id)? {
            return Ok(Arc::clone(&limited.catalog));
        }
        let files = self.source_files(id)?;
        let stamp = self.stamp_of(id, &files)?;
        let known = lock(&self.catalogs)
            .get(id)
            .filter(|known| known.stamp == stamp)
            .map(|known| Arc::clone(&known.value));
        if let Some(known) = known {
            return Ok(known);
        }
        let catalog = Arc::new(self.load(id, &files.entries, &self.parts.withheld)?);
        let cached = Cached {
            stamp,
            value: Arc::clone(&catalog),
        };
        lock(&self.catalogs).insert(id.clone(), cached);
        Ok(catalog)
    }

    /// Ignores what is withheld.
    pub(super) fn whole_catalog(&self, id: &ConnectionId) -> Result<Catalog, Failure> {
        let files = self.all_source_files(id)?;
        self.load(id, &files.entries, &WithheldParts::default())
    }

    fn load(
        &self,
        id: &ConnectionId,
        entries: &[FileEntry],
        withheld: &WithheldParts,
    ) -> Result<Catalog, Failure> {
        let folder = self.layout.sources(id);
        let mut sources = Vec::with_capacity(entries.len());
        for entry in entries {
            let path = folder.join(&entry.path);
            match fs::read(&path) {
                Ok(bytes) => {
                    let shown = withheld.source_file(bytes);
                    sources.extend(shown.map(|bytes| SourceFile::new(entry.path.clone(), bytes)));
                }
                // Removed since it was listed: the next stamp will differ.
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(unreadable(&path, &error)),
            }
        }
        Ok(Catalog::load(sources, self.dialect(id)?))
    }

    pub(super) fn source_files(&self, id: &ConnectionId) -> Result<Arc<SourceFiles>, Failure> {
        if self.parts.withheld.contains(LayerPart::Semantic) {
            return Ok(Arc::default());
        }
        self.all_source_files(id)
    }

    /// Review decisions are not sources.
    pub(super) fn all_source_files(&self, id: &ConnectionId) -> Result<Arc<SourceFiles>, Failure> {
        let folder = self.layout.sources(id);
        self.watched(&self.kept_sources, &folder, || {
            let mut files = self.files(&folder)?;
            files
                .entries
                .retain(|entry| !entry.path.starts_with("_review/"));
            let stamps = files.entries.iter();
            let stamps = stamps.flat_map(|entry| [entry.path.as_str(), entry.stamp.as_str()]);
            Ok(SourceFiles {
                digest: digest_of(stamps),
                entries: files.entries,
                left_out: files.left_out,
            })
        })
    }

    pub(super) fn stamp_of(
        &self,
        id: &ConnectionId,
        files: &SourceFiles,
    ) -> Result<String, Failure> {
        Ok(format!("{} {}", self.dialect(id)?.name(), files.digest))
    }
}
