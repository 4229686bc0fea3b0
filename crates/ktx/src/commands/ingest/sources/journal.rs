//! The journal of a source's pending reconciliation: what units have written, and what was written
//! from files that have disappeared.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ktx_context_sources::Snapshot;
use ktx_ingest::Artifacts;
use ktx_memory::Made;
use ktx_project_store::{StageRow, StateDatabase, StateError};
use ktx_vocabulary::ConnectionId;
use serde_json::json;

use crate::commands::ingest::kept::names;
use crate::report::Outcome;
use crate::scanning::state_failure;

/// The stage under which units are remembered.
pub(super) const UNIT: &str = "unit";

/// The stage of what a unit has written since the last reconciliation.
const WRITTEN: &str = "unit-written";

/// The stage of files that have disappeared since the last reconciliation.
const GONE: &str = "unit-gone";

/// The pending reconciliation.
#[derive(Default)]
pub(super) struct Open {
    pub(super) written: Vec<Artifacts>,
    pub(super) gone: Vec<Artifacts>,
}

pub(super) struct Journal<'a> {
    pub(super) state: &'a StateDatabase,
    pub(super) source: &'a ConnectionId,
    pub(super) now: Timestamp,
}

impl Journal<'_> {
    /// Records what a unit has written, before it is committed.
    pub(super) fn written(&self, unit: &str, made: &Made) -> Outcome<()> {
        if made.changes.is_empty() {
            return Ok(());
        }
        let artifacts = Artifacts {
            unit: unit.to_owned(),
            wiki: made.wiki.clone(),
            sl: made.sl.clone(),
            files: Vec::new(),
        };
        self.put(WRITTEN, &artifacts)
    }

    /// Finds the disappeared files of units. An existing file that could not be read does not
    /// count.
    pub(super) fn look_for_gone(&self, snapshot: &Snapshot) -> Outcome<()> {
        let left_out = |path: &str| {
            let covers = |left: &str| path == left || path.starts_with(&format!("{left}/"));
            snapshot.left_out.iter().any(|left| covers(&left.path))
        };
        let is_there = |path: &String| snapshot.files.contains_key(path) || left_out(path);
        for row in self.rows()?.iter().filter(|row| row.stage == UNIT) {
            let files = names(&row.output, "files");
            let (there, gone): (Vec<String>, Vec<String>) = files.into_iter().partition(is_there);
            if gone.is_empty() {
                continue;
            }
            let artifacts = Artifacts {
                files: gone,
                ..artifacts(row)
            };
            if !artifacts.wiki.is_empty() || !artifacts.sl.is_empty() {
                self.put(GONE, &artifacts)?;
            }
            // A recorded file is not recorded again.
            if there.is_empty() {
                checked(self.state.remove_stage(self.source, &row.table_key, UNIT))?;
            } else {
                let mut row = row.clone();
                if let Some(output) = row.output.as_object_mut() {
                    output.insert("files".to_owned(), json!(there));
                }
                checked(self.state.put_stage(self.source, &row))?;
            }
        }
        Ok(())
    }

    /// Returns the pending reconciliation.
    pub(super) fn open(&self) -> Outcome<Open> {
        let rows = self.rows()?;
        let of = |stage: &str| -> Vec<Artifacts> {
            let rows = rows.iter().filter(|row| row.stage == stage);
            rows.map(artifacts).collect()
        };
        Ok(Open {
            written: of(WRITTEN),
            gone: of(GONE),
        })
    }

    pub(super) fn close(&self, open: &Open) -> Outcome<()> {
        for (stage, all) in [(WRITTEN, &open.written), (GONE, &open.gone)] {
            for artifacts in all {
                checked(self.state.remove_stage(self.source, &artifacts.unit, stage))?;
            }
        }
        Ok(())
    }

    /// Adds to the records of the same unit.
    fn put(&self, stage: &str, artifacts: &Artifacts) -> Outcome<()> {
        let known = checked(self.state.stage(self.source, &artifacts.unit, stage))?;
        let joined = |field: &str, more: &[String]| -> BTreeSet<String> {
            let known = known.iter().flat_map(|row| names(&row.output, field));
            known.chain(more.iter().cloned()).collect()
        };
        let output = json!({
            "wiki": joined("wiki", &artifacts.wiki),
            "sl": joined("sl", &artifacts.sl),
            "files": joined("files", &artifacts.files),
        });
        let row = StageRow {
            table_key: artifacts.unit.clone(),
            stage: stage.to_owned(),
            structure_hash: String::new(),
            input_hash: String::new(),
            output,
            updated: self.now,
        };
        checked(self.state.put_stage(self.source, &row))
    }

    fn rows(&self) -> Outcome<Vec<StageRow>> {
        checked(self.state.stages(self.source))
    }
}

fn checked<T>(result: Result<T, StateError>) -> Outcome<T> {
    result.map_err(|error| state_failure(&error))
}

fn artifacts(row: &StageRow) -> Artifacts {
    Artifacts {
        unit: row.table_key.clone(),
        wiki: names(&row.output, "wiki"),
        sl: names(&row.output, "sl"),
        files: names(&row.output, "files"),
    }
}
