//! The files of a project at one moment.

use std::collections::{BTreeMap, BTreeSet};

use ktx_diagnostics::Failure;
use ktx_vocabulary::ConnectionId;

use super::Inner;
use crate::state::{ProjectFile, ProjectState, Stamp};

impl Inner {
    pub(super) fn state(&self) -> Result<ProjectState, Failure> {
        let mut files = BTreeMap::new();
        if let Some(stamp) = self.stamp(&self.layout.config())? {
            files.insert(ProjectFile::Config, Stamp::new(stamp));
        }
        let tools = self.files(&self.parts.root.join("tools"));
        for entry in tools.unwrap_or_default().entries {
            files.insert(ProjectFile::Tool(entry.path), Stamp::new(entry.stamp));
        }
        for file in self.visible_pages()? {
            let key = file.path.key.to_string();
            files.insert(ProjectFile::Page(key), Stamp::new(file.stamp));
        }
        // With a broken `ktx.yaml`, the folders still name the connections with sources.
        let known = self.connections().unwrap_or_default();
        let mut ids: BTreeSet<ConnectionId> = known.into_iter().map(|one| one.id).collect();
        ids.extend(self.source_folders()?);
        for id in ids {
            for entry in &self.source_files(&id).unwrap_or_default().entries {
                let file = ProjectFile::Sources(id.clone(), entry.path.clone());
                files.insert(file, Stamp::new(entry.stamp.as_str()));
            }
            if let Some(scan) = &*self.last_scan(&id).unwrap_or_default() {
                for line in scan.stamp.lines() {
                    let (path, stamp) = line.split_once(' ').unwrap_or((line, ""));
                    let file = ProjectFile::Scan(id.clone(), path.to_owned());
                    files.insert(file, Stamp::new(stamp));
                }
            }
        }
        Ok(ProjectState { files })
    }
}
