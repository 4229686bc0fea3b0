//! `ktx connection remove`.

use ktx_diagnostics::{Code, Exit, Failure};
use std::io::IsTerminal as _;

use ktx_config::{Connection, edit};
use serde_json::json;

use crate::connections::config_file::{
    NOT_COMMITTED, current, edit_failure, folders, mentions, write,
};
use crate::connections::mask::references;
use crate::invocation::OpenProject;
use crate::locking::lock;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::shell::quoted;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    Given,
    Wanted,
}

pub(super) fn run(
    connection: &Connection,
    agreement: Consent,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let id = connection.id.as_str();
    if agreement == Consent::Wanted && !is_agreed(id, printer)? {
        printer.note("nothing is changed");
        return Ok(Exit::Success);
    }
    let held = lock(project, "ktx connection remove")?;
    let current = current(project)?;
    let text = edit::remove_connection(&current.text, id).map_err(|error| edit_failure(&error))?;
    write(project, &text)?;
    drop(held);
    let mut remaining = folders(project, id);
    let secrets = secret_files(connection, &current.project, &text, project);
    let hints: Vec<String> = secrets
        .iter()
        .map(|path| {
            let path = quoted(&project.dir.join(path).display().to_string());
            format!("nothing in ktx.yaml names this secret any more; delete it with `rm {path}`")
        })
        .collect();
    remaining.extend(secrets);
    let mentions: Vec<String> = mentions(&text, id)?
        .into_iter()
        .map(|path| path.join("."))
        .collect();
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "kind": "connection",
            "data": {
                "id": id,
                "status": "removed",
                "remainingFiles": remaining,
                "mentions": mentions,
                "hints": hints,
                "committed": false,
            },
            "meta": { "command": "connection remove" },
        }))?;
        return Ok(Exit::Success);
    }
    printer.line(&format!("Removed connection: {id}"))?;
    for path in &remaining {
        printer.line(&format!("Remains: {path}"))?;
    }
    for mention in &mentions {
        printer.note(&format!("warning: `{mention}` in ktx.yaml still names it"));
    }
    printer.note(NOT_COMMITTED);
    for hint in &hints {
        printer.note(&format!("hint: {hint}"));
    }
    Ok(Exit::Success)
}

/// Secret files used only by this connection. `ktx` keeps them, because a password can be stored
/// nowhere else.
fn secret_files(
    connection: &Connection,
    config: &ktx_config::Project,
    remaining: &str,
    project: &OpenProject,
) -> Vec<String> {
    let of = |connection: &Connection| {
        references(connection)
            .into_iter()
            .filter_map(|found| Some(found.written.strip_prefix("file:")?.trim().to_owned()))
            .filter(|path| path.starts_with(".ktx/secrets/"))
            .collect::<Vec<_>>()
    };
    let others: Vec<String> = config
        .connections
        .values()
        .filter(|other| other.id != connection.id)
        .flat_map(of)
        .collect();
    let mut files = of(connection);
    // Other parts of `ktx.yaml` can refer to it.
    files.retain(|path| {
        !others.contains(path) && !remaining.contains(path) && project.dir.join(path).is_file()
    });
    files.sort();
    files.dedup();
    files
}

fn is_agreed(id: &str, printer: &Printer) -> Outcome<bool> {
    if !printer.interactive || !std::io::stdin().is_terminal() {
        return Err(Failure::new(
            Code::ConfirmationRequired,
            format!("connection `{id}` is removed only with your consent"),
        )
        .hint("add `--yes`"));
    }
    printer.note(&format!(
        "Remove connection `{id}` from ktx.yaml? Its files stay. [y/N]"
    ));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|error| {
        Failure::from_error(Code::Input, &error).context("stdin cannot be read")
    })?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}
