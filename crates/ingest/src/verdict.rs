//! Verdicts about pages and parts of sources whose files are gone, with their committed records.

use std::fmt;

use ktx_project_store::{Change, FileError, ProjectPath, Store, UnsafePath, list, read_optional};
use ktx_vocabulary::ConnectionId;
use serde::{Deserialize, Serialize};

use crate::ledger::file_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvictionVerdict {
    /// Another owner still says it.
    Keep,
    /// The lines from the files that are gone go.
    Rewrite,
    Remove,
    /// The change waits for a person.
    Propose,
}

impl EvictionVerdict {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Rewrite => "rewrite",
            Self::Remove => "remove",
            Self::Propose => "propose",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThingKind {
    Page,
    Measure,
    Segment,
    Column,
    Join,
}

impl ThingKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Measure => "measure",
            Self::Segment => "segment",
            Self::Column => "column",
            Self::Join => "join",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thing {
    pub kind: ThingKind,
    /// The key of a page, or `source.part`; a part of a source is named as in `ktx why`.
    pub name: String,
}

impl Thing {
    pub(crate) fn page(key: &str) -> Self {
        Self {
            kind: ThingKind::Page,
            name: key.to_owned(),
        }
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecidedBy {
    /// The ledger and the history of the file.
    Ledger,
    Model,
}

/// The verdict about one thing. A committed file holds it, so that a clone does not ask again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThingVerdict {
    pub kind: ThingKind,
    pub name: String,
    pub verdict: EvictionVerdict,
    /// One sentence.
    pub reason: String,
    pub decided_by: DecidedBy,
    /// The files that are gone.
    pub gone: Vec<String>,
    /// The hash of its text after the verdict; empty if it was removed.
    pub text: String,
}

impl ThingVerdict {
    pub fn thing(&self) -> Thing {
        Thing {
            kind: self.kind,
            name: self.name.clone(),
        }
    }

    pub(crate) fn change(&self, source: &ConnectionId) -> Result<Change, UnsafePath> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        let folder = folder(source)?;
        let name = file_name(&self.name);
        let path = ProjectPath::parse(&format!("{folder}/{}-{name}.json", self.kind.name()))?;
        Ok(Change::write(path, text))
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

pub(crate) fn folder(source: &ConnectionId) -> Result<ProjectPath, UnsafePath> {
    ProjectPath::parse(&format!("raw-sources/{source}/{FOLDER}"))
}

const FOLDER: &str = "verdicts";

/// Returns the verdicts about things of these sources. Skips unreadable files.
pub fn verdict_records<'a>(
    store: &Store,
    sources: impl IntoIterator<Item = &'a ConnectionId>,
) -> Result<Vec<(ConnectionId, ThingVerdict)>, FileError> {
    let mut records = Vec::new();
    for source in sources {
        for file in list(&store.layout().raw_source(source, FOLDER))? {
            let bytes = read_optional(&file)?;
            let record = bytes.and_then(|bytes| ThingVerdict::parse(&bytes));
            records.extend(record.map(|record| (source.clone(), record)));
        }
    }
    Ok(records)
}
