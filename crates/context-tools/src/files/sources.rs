//! `semantic-layer/<connection>/`: the sources of each connection.

use std::fs;
use std::sync::Arc;

use ktx_diagnostics::Failure;
use ktx_semantic_layer::{Catalog, SourceFile};
use ktx_vocabulary::ConnectionId;

use super::stamp::{FileEntry, FolderFiles, is_absent, unreadable};
use super::{Cached, Inner, lock};

impl Inner {
    /// The connections that have a folder, whether `ktx.yaml` knows them or not. A linked one is
    /// among them: whoever asks for its sources is told what is wrong with it.
    pub(super) fn source_folders(&self) -> Result<Vec<ConnectionId>, Failure> {
        let found = self.folders(&self.layout.semantic_layer())?;
        let links = found
            .left_out
            .iter()
            .filter_map(|one| one.place.file_name());
        let links = links.map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = found.names.iter().cloned().chain(links).collect();
        names.sort();
        // A folder that no connection could be called after holds no sources.
        Ok(names
            .iter()
            .filter_map(|name| ConnectionId::parse(name).ok())
            .collect())
    }

    pub(super) fn catalog(&self, id: &ConnectionId) -> Result<Arc<Catalog>, Failure> {
        let folder = self.layout.sources(id);
        let entries = self.source_files(id)?.entries;
        let stamp = self.stamp_of(id, &entries)?;
        let known = lock(&self.catalogs)
            .get(id)
            .filter(|known| known.stamp == stamp)
            .map(|known| Arc::clone(&known.value));
        if let Some(known) = known {
            return Ok(known);
        }
        let mut sources = Vec::with_capacity(entries.len());
        for entry in entries {
            let path = folder.join(&entry.path);
            match fs::read(&path) {
                Ok(bytes) => sources.push(SourceFile::new(entry.path, bytes)),
                // Removed since it was listed: the next stamp will say so.
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(unreadable(&path, &error)),
            }
        }
        let catalog = Arc::new(Catalog::load(sources, self.dialect(id)?));
        let cached = Cached {
            stamp,
            value: Arc::clone(&catalog),
        };
        lock(&self.catalogs).insert(id.clone(), cached);
        Ok(catalog)
    }

    /// The files of a connection's folder that hold sources: review decisions are none.
    pub(super) fn source_files(&self, id: &ConnectionId) -> Result<FolderFiles, Failure> {
        let mut files = self.files(&self.layout.sources(id))?;
        files
            .entries
            .retain(|entry| !entry.path.starts_with("_review/"));
        Ok(files)
    }

    pub(super) fn stamp_of(
        &self,
        id: &ConnectionId,
        entries: &[FileEntry],
    ) -> Result<String, Failure> {
        let mut stamp = self.dialect(id)?.name().to_owned();
        for entry in entries {
            stamp.push('\n');
            stamp.push_str(&entry.path);
            stamp.push(' ');
            stamp.push_str(&entry.stamp);
        }
        Ok(stamp)
    }
}
