//! Work whose result is committed and remembered: a unit or a note.

use ktx_context_sources::{Source, Unit};
use ktx_vocabulary::ConnectionId;

use crate::fingerprint::Fingerprint;

/// The kind of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    /// A unit of a context source.
    Unit,
    /// A note.
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

/// Work whose result is committed and remembered.
#[derive(Debug, Clone)]
pub(crate) struct WorkItem {
    /// The connection that it is remembered under.
    pub(crate) owner: ConnectionId,
    /// Its name among the items of its kind.
    pub(crate) key: String,
    /// Its kind.
    pub(crate) kind: WorkKind,
    /// The hash of all model input, in hexadecimal digits.
    pub(crate) input: String,
    /// The hash of the same input as ktx 0.13 computed it, if it differs.
    pub(crate) former_input: Option<String>,
    /// The hash of what its files say, wherever they are; empty for a note.
    pub(crate) content: String,
    /// The title of its commit.
    pub(crate) title: String,
    /// Further lines of the commit message.
    pub(crate) closing: Vec<String>,
    /// The source files that it is written from.
    pub(crate) files: Vec<String>,
}

impl WorkItem {
    /// Returns the line of the commit message that identifies the item in a clone.
    pub(crate) fn mark(&self) -> String {
        self.mark_of(&self.input)
    }

    pub(crate) fn mark_of(&self, input: &str) -> String {
        format!("{}: {input}", self.kind.mark())
    }

    /// Returns the hashes under which the item may be remembered, the current one first.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.input).chain(&self.former_input)
    }
}

/// Returns a unit of a source as a work item.
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

/// Why a result may be incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// The model was stopped after this many turns.
    Turns(u32),
    /// The page quota of a run was used up.
    PageQuota,
}
