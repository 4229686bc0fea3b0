//! Work items: units and notes, whose results are committed and recorded.

use ktx_context_sources::{Source, Unit};
use ktx_vocabulary::ConnectionId;

use crate::fingerprint::Fingerprint;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    Unit,
    Note,
}

impl WorkKind {
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::Unit => "ktx-unit",
            Self::Note => "ktx-note",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct WorkItem {
    pub(crate) owner: ConnectionId,
    pub(crate) key: String,
    pub(crate) kind: WorkKind,
    pub(crate) input: String,
    /// The input hash of ktx 0.13, if it differs.
    pub(crate) former_input: Option<String>,
    /// The hash of the files' content without their paths; empty for a note.
    pub(crate) content: String,
    pub(crate) title: String,
    pub(crate) closing: Vec<String>,
    pub(crate) files: Vec<String>,
}

impl WorkItem {
    /// Returns the commit message line that identifies the item in a clone.
    pub(crate) fn mark(&self) -> String {
        self.mark_of(&self.input)
    }

    pub(crate) fn mark_of(&self, input: &str) -> String {
        format!("{}: {input}", self.kind.mark())
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.input).chain(&self.former_input)
    }
}

pub(crate) fn unit_item(source: &Source, unit: &Unit) -> WorkItem {
    let warehouse = source.warehouse.as_ref().map(|(id, _)| id);
    let Fingerprint {
        input,
        former_input,
        content,
    } = Fingerprint::new(unit, &source.snapshot, warehouse);
    WorkItem {
        owner: source.id.clone(),
        key: unit.key.clone(),
        kind: WorkKind::Unit,
        former_input: (former_input != input).then_some(former_input),
        input,
        content,
        title: format!("ktx ingest: {} {}", source.id, unit.key),
        closing: Vec::new(),
        files: unit.files.clone(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    Turns(u32),
    PageQuota,
}
