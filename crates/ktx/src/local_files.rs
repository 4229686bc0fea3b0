//! Checks files of `.ktx/state/` without changes.

use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::StorageTrouble;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::compose;
use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

/// A damaged ledger cannot record costs. A locked one can be free later.
pub(crate) fn check_ledger(project: &OpenProject) -> Outcome<()> {
    let path = compose::ledger_path(project);
    match damage(&path) {
        Some(error) => Err(Failure::from_error(Code::UsageLedger, &error)
            .context(format!("`{}` cannot be used", path.display()))
            .hint("it holds the usage so far: keep the file")),
        None => Ok(()),
    }
}

/// Damaged files that `ktx` rebuilds, and what is lost until then.
pub(crate) fn damaged_caches(project: &OpenProject) -> Vec<(PathBuf, &'static str)> {
    let state = project.store.layout().state();
    let limits = ["rate-limits.json", "claude-code/limits.json"].map(|name| state.join(name));
    let lost = "the known limits of the model's account are lost";
    let mut found: Vec<(PathBuf, &'static str)> = limits
        .into_iter()
        .filter(|path| is_not_object(path))
        .map(|path| (path, lost))
        .collect();
    let index = state.join("search.sqlite");
    if damage(&index).is_some() {
        found.push((index, "the next search rebuilds the index"));
    }
    found
}

/// `None` also for missing or currently unreadable files.
fn damage(path: &Path) -> Option<rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read_schema = || {
        let database = Connection::open_with_flags(path, flags)?;
        database.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        database.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))
    };
    let error = path.is_file().then(read_schema)?.err()?;
    (StorageTrouble::of(&error) == Some(StorageTrouble::Damaged)).then_some(error)
}

fn is_not_object(path: &Path) -> bool {
    match std::fs::read(path) {
        Ok(bytes) => !serde_json::from_slice::<Value>(&bytes).is_ok_and(|value| value.is_object()),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}
