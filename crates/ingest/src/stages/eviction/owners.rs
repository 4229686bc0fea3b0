//! The owners of the things that missing units have written, and the writer of each line.

use std::collections::{BTreeMap, BTreeSet};

use ktx_project_store::ProjectPath;
use ktx_vocabulary::ConnectionId;

use crate::artifacts::Artifacts;
use crate::authorship::Writer;
use crate::error::IngestError;
use crate::journal::UnitResult;
use crate::ledger::Entry;
use crate::policy::measures;
use crate::source_run::{SourceRun, Workspace};

/// A unit whose files are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) source: ConnectionId,
    pub(super) unit: String,
    pub(super) files: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Units of this source whose files are there.
    present: BTreeSet<String>,
    pages: BTreeMap<String, Vec<Owner>>,
    sources: BTreeMap<String, Vec<Owner>>,
}

impl Owners {
    pub(super) fn of(run: &SourceRun<'_>, workspace: &Workspace) -> Result<Self, IngestError> {
        let mut owners = Self::default();
        for row in run.journal().all::<UnitResult>()? {
            let result = row.record.0;
            owners.present.insert(row.key.clone());
            let owner = Owner {
                source: run.source.id.clone(),
                unit: row.key,
                files: result.files,
            };
            owners.add(&owner, result.wiki.iter(), result.sl.iter());
        }
        let folder = ProjectPath::parse("raw-sources")?;
        for (path, bytes) in run.run_store.committed(&workspace.base, &folder)? {
            let Some((source, _)) = ledger_of(&path) else {
                continue;
            };
            if source == run.source.id {
                continue;
            }
            if let Ok(entry) = Entry::parse(&bytes) {
                let owner = Owner {
                    source,
                    unit: entry.unit,
                    files: entry.files,
                };
                owners.add(&owner, entry.pages.iter(), entry.sources.iter());
            }
        }
        Ok(owners)
    }

    fn add<'n>(
        &mut self,
        owner: &Owner,
        pages: impl Iterator<Item = &'n String>,
        sources: impl Iterator<Item = &'n String>,
    ) {
        for page in pages {
            let owners = self.pages.entry(page.clone()).or_default();
            owners.push(owner.clone());
        }
        for source in sources {
            let owners = self.sources.entry(source.clone()).or_default();
            owners.push(owner.clone());
        }
    }

    pub(super) fn of_page(&self, key: &str) -> &[Owner] {
        self.pages.get(key).map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_source(&self, name: &str) -> &[Owner] {
        self.sources.get(name).map_or(&[], Vec::as_slice)
    }
}

fn ledger_of(path: &ProjectPath) -> Option<(ConnectionId, &str)> {
    let inner = path.as_str().strip_prefix("raw-sources/")?;
    let (source, file) = inner.split_once("/ledger/")?;
    Some((ConnectionId::parse(source).ok()?, file))
}

/// The files of pages and of sources that units write.
pub(super) struct FilesOfThings {
    pub(super) pages: BTreeMap<String, ProjectPath>,
    pub(super) sources: BTreeMap<String, ProjectPath>,
}

impl FilesOfThings {
    pub(super) fn of(workspace: &Workspace) -> Self {
        let mut found = Self {
            pages: BTreeMap::new(),
            sources: BTreeMap::new(),
        };
        for (path, bytes) in workspace.files.iter() {
            let text = path.as_str();
            let page = text.strip_prefix("wiki/global/");
            if let Some(key) = page.and_then(|page| page.strip_suffix(".md")) {
                found.pages.insert(key.to_owned(), path.clone());
            } else if text.starts_with("semantic-layer/")
                && !["/_schema/", "/_imports/", "/_review/"]
                    .iter()
                    .any(|part| text.contains(part))
            {
                found.sources.insert(measures(text, bytes).0, path.clone());
            }
        }
        found
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineWriter {
    /// A unit that is gone.
    Gone,
    /// The reconciliation or a person who has merged work of ktx: any unit may be its origin.
    Unclear,
    /// A unit or a source that is there.
    Other,
    Person,
}

impl LineWriter {
    pub(super) const fn is_suspect(self) -> bool {
        matches!(self, Self::Gone | Self::Unclear)
    }
}

/// Returns who wrote each line of a committed file; `None` if the file on the disk differs.
pub(super) fn line_writers(
    run: &SourceRun<'_>,
    path: &ProjectPath,
    text: &str,
    units: UnitNames<'_>,
) -> Result<Option<Vec<LineWriter>>, IngestError> {
    if run.run_store.is_in_the_making(path)? {
        return Ok(None);
    }
    let history = run.run_store.history()?;
    let count = text.lines().count();
    let mut known: BTreeMap<String, LineWriter> = BTreeMap::new();
    let mut writers = vec![LineWriter::Person; count];
    for part in history.blame(path, count)? {
        let Some(commit) = part.commit else {
            return Ok(None);
        };
        let writer = if let Some(writer) = known.get(&commit.id) {
            *writer
        } else {
            let message = history.message(&commit.id)?;
            let writer = units.line_writer(&message, &run.source.id);
            known.insert(commit.id, writer);
            writer
        };
        for line in part.first..=part.last {
            let Some(found) = writers.get_mut(line - 1) else {
                return Ok(None);
            };
            *found = writer;
        }
    }
    Ok(Some(writers))
}

#[derive(Debug, Clone, Copy)]
pub(super) struct UnitNames<'a> {
    pub(super) gone: &'a [Artifacts],
    pub(super) owners: &'a Owners,
}

impl UnitNames<'_> {
    fn line_writer(self, message: &str, source: &ConnectionId) -> LineWriter {
        let is_own = |other: &str| other == source.as_str();
        match Writer::of(message) {
            Writer::Unit {
                source: other,
                unit,
            } if is_own(&other) => {
                if self.gone.iter().any(|gone| gone.unit == unit) {
                    LineWriter::Gone
                } else if self.owners.present.contains(&unit) {
                    LineWriter::Other
                } else {
                    // A unit that has another name now.
                    LineWriter::Unclear
                }
            }
            Writer::Reconciliation { source: other } | Writer::Curation { source: other }
                if is_own(&other) =>
            {
                LineWriter::Unclear
            }
            // A squash of several commits has a title of its own.
            Writer::Person { .. } if message.contains("ktx-wrote: ") => LineWriter::Unclear,
            Writer::Person { .. } | Writer::Note { .. } => LineWriter::Person,
            _ => LineWriter::Other,
        }
    }
}
