//! `ktx connection rename`: changes an id that no files use.

use ktx_config::{Connection, edit};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_vocabulary::ConnectionId;
use serde_json::json;

use crate::connections::config_file::{
    NOT_COMMITTED, current, edit_failure, folders, meaning, rename_mentions, write,
};
use crate::invocation::OpenProject;
use crate::locking::lock;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

pub(super) fn run(
    connection: &Connection,
    new: &str,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let old = connection.id.as_str();
    let new = ConnectionId::parse(new)?;
    let held = lock(project, "ktx connection rename")?;
    let current = current(project)?;
    if current.project.connection(new.as_str()).is_some() {
        return Err(Failure::new(
            Code::ConnectionExists,
            format!("connection `{new}` already exists"),
        ));
    }
    refuse_files(old, new.as_str(), project)?;
    let text = edit::rename_connection(&current.text, old, new.as_str())
        .map_err(|error| edit_failure(&error))?;
    let text = rename_mentions(&text, old, new.as_str())?;
    meaning(&text)?;
    write(project, &text)?;
    drop(held);
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "kind": "connection",
            "data": {
                "id": new.as_str(),
                "previousId": old,
                "status": "renamed",
                "committed": false,
            },
            "meta": { "command": "connection rename" },
        }))?;
        return Ok(Exit::Success);
    }
    printer.line(&format!("Renamed connection: {old} -> {new}"))?;
    printer.note(NOT_COMMITTED);
    Ok(Exit::Success)
}

/// Files of the old id would lose their connection.
fn refuse_files(old: &str, new: &str, project: &OpenProject) -> Outcome<()> {
    let folders = folders(project, old);
    if folders.is_empty() {
        return Ok(());
    }
    let mut failure = Failure::new(
        Code::ConnectionHasFiles,
        format!(
            "connection `{old}` has files under its id: {}",
            folders.join(", ")
        ),
    );
    for folder in &folders {
        let target = folder
            .strip_suffix(old)
            .map(|parent| format!("{parent}{new}"))
            .unwrap_or_default();
        let moved = format!("git mv {folder} {target}");
        failure = failure.hint(format!("move them first: `{moved}`"));
    }
    Err(failure
        .hint(format!(
            "wiki pages that refer to `{old}` in `sl_refs` need the new id, too"
        ))
        .hint("then run this command again, and commit everything together"))
}
