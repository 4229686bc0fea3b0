//! The journal of a connection in the project's local state. A row that cannot be read, such as one
//! of an older ktx, counts as absent: ktx does its work again.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ktx_context_sources::{Facts, Snapshot};
use ktx_memory::{Changeset, Written};
use ktx_project_store::{StageRow, StateDatabase, StateError};
use ktx_vocabulary::ConnectionId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::artifacts::Artifacts;
use crate::curate::Decision;
use crate::documents::{Candidate, Verdict};

pub(crate) trait Record: Serialize + DeserializeOwned {
    const KIND: &'static str;
}

#[derive(Debug, Clone)]
pub(crate) struct Row<R> {
    pub(crate) key: String,
    /// The hash of the model input; empty if there is none, or if the model has to be asked again.
    pub(crate) input: String,
    pub(crate) record: R,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ItemResult {
    pub(crate) wiki: BTreeSet<String>,
    pub(crate) sl: BTreeSet<String>,
    pub(crate) xrefs: BTreeSet<String>,
    pub(crate) files: Vec<String>,
    pub(crate) commit: Option<String>,
    pub(crate) is_withheld: bool,
    /// Number of failed runs since the last success.
    pub(crate) failures: u32,
}

impl ItemResult {
    pub(crate) fn names(&self) -> Written {
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect();
        Written {
            wiki: list(&self.wiki),
            sl: list(&self.sl),
            xrefs: list(&self.xrefs),
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct UnitResult(pub(crate) ItemResult);

impl Record for UnitResult {
    const KIND: &'static str = "unit";
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct NoteResult(pub(crate) ItemResult);

impl Record for NoteResult {
    const KIND: &'static str = "note";
}

/// Stored after the candidates of a light reading.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DocumentLane(pub(crate) Verdict);

impl Record for DocumentLane {
    const KIND: &'static str = "document-lane";
}

/// The lane of a document whose light reading is not finished.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct PendingLane(pub(crate) Verdict);

impl Record for PendingLane {
    const KIND: &'static str = "document-triaged";
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FoundCandidate {
    pub(crate) candidate: Candidate,
    pub(crate) words: String,
    pub(crate) file: String,
    pub(crate) decision: Option<Decision>,
}

impl Record for FoundCandidate {
    const KIND: &'static str = "document-candidate";
}

impl Row<FoundCandidate> {
    pub(crate) fn unit(&self) -> &str {
        let key = self.key.as_str();
        key.split_once('#').map_or(key, |(unit, _)| unit)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct KnownFacts(pub(crate) Facts);

impl Record for KnownFacts {
    const KIND: &'static str = "facts";
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct UnreconciledUnit(UnitArtifacts);

impl Record for UnreconciledUnit {
    const KIND: &'static str = "unit-written";
}

/// Files that have disappeared since the last reconciliation, and what was written from them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DisappearedUnit(UnitArtifacts);

impl Record for DisappearedUnit {
    const KIND: &'static str = "unit-gone";
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct UnitArtifacts {
    wiki: BTreeSet<String>,
    sl: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl UnitArtifacts {
    fn add(&mut self, artifacts: &Artifacts) {
        self.wiki.extend(artifacts.wiki.iter().cloned());
        self.sl.extend(artifacts.sl.iter().cloned());
        self.files.extend(artifacts.files.iter().cloned());
    }

    fn of_unit(self, unit: String) -> Artifacts {
        Artifacts {
            unit,
            wiki: self.wiki.into_iter().collect(),
            sl: self.sl.into_iter().collect(),
            files: self.files.into_iter().collect(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) written: Vec<Artifacts>,
    pub(crate) gone: Vec<Artifacts>,
}

pub(crate) struct Journal<'a> {
    pub(crate) state: &'a StateDatabase,
    pub(crate) connection: &'a ConnectionId,
    pub(crate) now: Timestamp,
}

impl Journal<'_> {
    pub(crate) fn get<R: Record>(&self, key: &str) -> Result<Option<Row<R>>, StateError> {
        let row = self.state.stage(self.connection, key, R::KIND)?;
        Ok(row.and_then(typed))
    }

    pub(crate) fn all<R: Record>(&self) -> Result<Vec<Row<R>>, StateError> {
        let rows = self.state.stages(self.connection)?.into_iter();
        let rows = rows.filter(|row| row.stage == R::KIND);
        Ok(rows.filter_map(typed).collect())
    }

    pub(crate) fn put<R: Record>(&self, row: &Row<R>) -> Result<(), StateError> {
        let row = StageRow {
            table_key: row.key.clone(),
            stage: R::KIND.to_owned(),
            structure_hash: String::new(),
            input_hash: row.input.clone(),
            output: serde_json::to_value(&row.record).unwrap_or_default(),
            updated: self.now,
        };
        self.state.put_stage(self.connection, &row)
    }

    pub(crate) fn remove<R: Record>(&self, key: &str) -> Result<(), StateError> {
        self.state.remove_stage(self.connection, key, R::KIND)
    }

    pub(crate) fn add_written(&self, unit: &str, changes: &Changeset) -> Result<(), StateError> {
        if changes.changes.is_empty() {
            return Ok(());
        }
        let mut row = self.get_or_new::<UnreconciledUnit>(unit)?;
        row.record.0.add(&Artifacts {
            unit: unit.to_owned(),
            wiki: changes.wiki.clone(),
            sl: changes.sl.clone(),
            files: Vec::new(),
        });
        self.put(&row)
    }

    /// Records the missing files of units. An existing file that could not be read is not missing.
    pub(crate) fn look_for_gone(&self, snapshot: &Snapshot) -> Result<(), StateError> {
        let left_out = |path: &str| {
            let covers = |left: &str| path == left || path.starts_with(&format!("{left}/"));
            snapshot.left_out.iter().any(|left| covers(&left.path))
        };
        let is_there = |path: &String| snapshot.files.contains_key(path) || left_out(path);
        for mut unit in self.all::<UnitResult>()? {
            let files = std::mem::take(&mut unit.record.0.files);
            let (there, gone): (Vec<String>, Vec<String>) = files.into_iter().partition(is_there);
            if gone.is_empty() {
                continue;
            }
            let Written { wiki, sl, .. } = unit.record.0.names();
            if !wiki.is_empty() || !sl.is_empty() {
                let mut row = self.get_or_new::<DisappearedUnit>(&unit.key)?;
                row.record.0.add(&Artifacts {
                    unit: unit.key.clone(),
                    wiki,
                    sl,
                    files: gone,
                });
                self.put(&row)?;
            }
            // Records a missing file only once.
            if there.is_empty() {
                self.remove::<UnitResult>(&unit.key)?;
            } else {
                unit.record.0.files = there;
                self.put(&unit)?;
            }
        }
        Ok(())
    }

    pub(crate) fn pending(&self) -> Result<Pending, StateError> {
        let written = self.all::<UnreconciledUnit>()?.into_iter();
        let gone = self.all::<DisappearedUnit>()?.into_iter();
        Ok(Pending {
            written: written.map(|row| row.record.0.of_unit(row.key)).collect(),
            gone: gone.map(|row| row.record.0.of_unit(row.key)).collect(),
        })
    }

    pub(crate) fn forget_gone(&self, unit: &str) -> Result<(), StateError> {
        self.remove::<DisappearedUnit>(unit)
    }

    pub(crate) fn keep_gone(&self, gone: &Artifacts) -> Result<(), StateError> {
        let mut row = Row {
            key: gone.unit.clone(),
            input: String::new(),
            record: DisappearedUnit::default(),
        };
        row.record.0.add(gone);
        self.put(&row)
    }

    pub(crate) fn close(&self, pending: &Pending) -> Result<(), StateError> {
        for written in &pending.written {
            self.remove::<UnreconciledUnit>(&written.unit)?;
        }
        for gone in &pending.gone {
            self.remove::<DisappearedUnit>(&gone.unit)?;
        }
        Ok(())
    }

    fn get_or_new<R: Record + Default>(&self, key: &str) -> Result<Row<R>, StateError> {
        let known = self.get(key)?;
        Ok(known.unwrap_or_else(|| Row {
            key: key.to_owned(),
            input: String::new(),
            record: R::default(),
        }))
    }
}

fn typed<R: Record>(row: StageRow) -> Option<Row<R>> {
    Some(Row {
        key: row.table_key,
        input: row.input_hash,
        record: serde_json::from_value(row.output).ok()?,
    })
}

pub fn known_files(
    state: &StateDatabase,
    connection: &ConnectionId,
) -> Result<BTreeSet<String>, StateError> {
    let journal = Journal {
        state,
        connection,
        now: Timestamp::UNIX_EPOCH,
    };
    let units = journal.all::<UnitResult>()?.into_iter();
    Ok(units.flat_map(|unit| unit.record.0.files).collect())
}
