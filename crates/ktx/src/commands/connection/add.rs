//! `ktx connection add` and `edit`.

use ktx_diagnostics::Exit;
use serde_json::{Value, json};

use super::show::to_json;
use super::{tested_item, tested_text};
use crate::cli::{ConnectionAddArgs, ConnectionEditArgs};
use crate::connections::check::check_all;
use crate::connections::config_file::NOT_COMMITTED;
use crate::connections::entry::{ConfiguredConnection, IdUse, add_entry, edit_entry};
use crate::connections::find;
use crate::connections::references::check_references;
use crate::invocation::{Invocation, OpenProject, load};
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

pub(crate) fn run(
    args: &ConnectionAddArgs,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let entered = add_entry(args, IdUse::New, invocation, project)?;
    for note in &entered.notes {
        printer.note(note);
    }
    let change = EntryChange {
        done: "added",
        tests: args.settings.test,
    };
    report(&entered, &change, invocation, printer)
}

pub(super) fn edit(
    args: &ConnectionEditArgs,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let entered = edit_entry(args, invocation, project)?;
    for note in &entered.notes {
        printer.note(note);
    }
    let change = EntryChange {
        done: "edited",
        tests: args.settings.test,
    };
    report(&entered, &change, invocation, printer)
}

struct EntryChange {
    done: &'static str,
    tests: bool,
}

impl EntryChange {
    fn command(&self) -> &'static str {
        if self.done == "added" {
            "connection add"
        } else {
            "connection edit"
        }
    }
}

fn report(
    entered: &ConfiguredConnection,
    change: &EntryChange,
    invocation: &Invocation,
    printer: &Printer,
) -> Outcome {
    let (connection, secrets) = (&entered.connection, &entered.secrets);
    let project = load(&invocation.project_dir()?, &invocation.environment)?;
    let looked = check_references(connection, &invocation.secrets(&project.dir));
    let files: Vec<String> = secrets
        .iter()
        .map(|kept| format!(".ktx/secrets/{}", kept.name))
        .collect();
    if printer.mode != Mode::Json {
        let word = if change.done == "added" {
            "Added"
        } else {
            "Edited"
        };
        printer.line(&format!("{word} connection: {}", connection.id))?;
        printer.line(&format!("Driver: {}", connection.driver))?;
        for file in &files {
            printer.line(&format!("Secret: {file} (ignored by git)"))?;
        }
        for looked in &looked {
            if let Some(problem) = &looked.problem {
                printer.note(&format!(
                    "warning: `{}` has no value yet: {problem}",
                    looked.reference.field
                ));
            }
        }
        printer.note(NOT_COMMITTED);
    }
    let tested = if change.tests {
        let added = find(&project.config, connection.id.as_str())?;
        check_all(&[added], invocation, &project)?.pop()
    } else {
        None
    };
    let exit = match &tested {
        Some(tested) if tested.result.is_err() => Exit::Connection,
        Some(_) | None => Exit::Success,
    };
    if printer.mode == Mode::Json {
        let mut data = to_json(connection, &looked);
        if let Value::Object(data) = &mut data {
            data.insert("status".to_owned(), json!(change.done));
            data.insert("secretFiles".to_owned(), json!(files));
            data.insert("committed".to_owned(), json!(false));
            if let Some(tested) = &tested {
                data.insert("test".to_owned(), tested_item(tested));
            }
        }
        printer.json(&json!({
            "kind": "connection",
            "data": data,
            "meta": { "command": change.command() },
        }))?;
        return Ok(exit);
    }
    match tested.as_ref().map(|tested| (tested, &tested.result)) {
        Some((tested, Ok(check))) => tested_text(tested, check, printer)?,
        Some((_, Err(failure))) => {
            return Err(failure.clone().hint(format!(
                "the connection stays in ktx.yaml; run `ktx connection test {}` again",
                connection.id
            )));
        }
        None => {}
    }
    Ok(exit)
}
