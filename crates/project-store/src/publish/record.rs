//! The record of a running publish.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::tree::TreeEntry;
use super::{PublishError, Publisher};
use crate::files::{FileAccess, write_staged};
use crate::{ProjectPath, read_optional, remove};

pub(super) type PreviousFiles = BTreeMap<ProjectPath, Option<TreeEntry>>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishRecord {
    files: Vec<RecordedFile>,
    /// Marked skip-worktree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unseen: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedFile {
    path: String,
    old: Option<TreeEntry>,
}

#[derive(Debug)]
pub(super) struct UnfinishedPublish {
    pub(super) old: PreviousFiles,
    pub(super) unseen: BTreeSet<ProjectPath>,
}

impl Publisher {
    pub(super) fn write_record(
        &self,
        old: &PreviousFiles,
        unseen: &BTreeSet<ProjectPath>,
    ) -> Result<(), PublishError> {
        let layout = self.store.layout();
        let files = old.iter().map(|(path, old)| RecordedFile {
            path: path.as_str().to_owned(),
            old: old.clone(),
        });
        let path = layout.publish_record();
        let text = serde_json::to_vec(&PublishRecord {
            files: files.collect(),
            unseen: old
                .keys()
                .filter(|path| unseen.contains(path))
                .map(|path| path.as_str().to_owned())
                .collect(),
        })
        .map_err(|source| PublishError::Record {
            path: path.clone(),
            source,
        })?;
        let staging = self.store.local_folder(&layout.staging())?;
        write_staged(&path, &text, &staging, FileAccess::Shared)?;
        Ok(())
    }

    pub(super) fn read_record(&self) -> Result<Option<UnfinishedPublish>, PublishError> {
        let path = self.store.layout().publish_record();
        let Some(text) = read_optional(&path)? else {
            return Ok(None);
        };
        let record: PublishRecord = serde_json::from_slice(&text)
            .map_err(|source| PublishError::Record { path, source })?;
        // Only valid paths are written.
        let files = record.files.into_iter();
        let unseen = record.unseen.iter();
        Ok(Some(UnfinishedPublish {
            old: files
                .filter_map(|file| Some((ProjectPath::parse(&file.path).ok()?, file.old)))
                .collect(),
            unseen: unseen
                .filter_map(|path| ProjectPath::parse(path).ok())
                .collect(),
        }))
    }

    pub(super) fn remove_record(&self) -> Result<(), PublishError> {
        remove(&self.store.layout().publish_record())?;
        Ok(())
    }
}
