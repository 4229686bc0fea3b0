//! A context source as the caller has read it.

use std::sync::Arc;

use ktx_context_sources::{Definitions, Facts, Snapshot, Unit};
use ktx_memory::Quota;
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;

/// Maximum length of a unit's own files in characters.
pub const LONGEST_UNIT: usize = 200_000;

/// The part of a context source about one warehouse.
#[derive(Debug)]
pub struct Source {
    /// The connection.
    pub id: ConnectionId,
    /// The warehouse whose semantic sources may be written.
    pub warehouse: Option<(ConnectionId, Dialect)>,
    /// Its files.
    pub snapshot: Arc<Snapshot>,
    /// The units that a model reads one by one.
    pub units: Vec<Unit>,
    /// What its metadata says about tables.
    pub facts: Facts,
    /// What it computes over tables.
    pub definitions: Definitions,
    /// Whether sources of this kind have facts without a model.
    pub has_facts: bool,
    /// The page quota of one run, if its units are documents, which are triaged first.
    pub documents: Option<Quota>,
    /// The prefix of its unit keys, if other units of the connection belong to another warehouse.
    pub scope: Option<String>,
}
