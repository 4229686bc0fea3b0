//! Lists and search results.

use ktx_diagnostics::excerpt;
use serde::Serialize;
use serde_json::{Value, json};

use crate::printer::{Mode, Printer};

/// Still searches for a word that resembles a subcommand.
pub(crate) fn note_near_command(
    query: &[String],
    commands: &[&'static str],
    parent: &str,
    printer: &Printer,
) {
    let [word] = query else { return };
    if let Some(near) = ktx_diagnostics::nearest(word, commands.iter().copied()).first() {
        printer.note(&format!(
            "note: searching for `{}`; to run the command, write `ktx {parent} {near}`",
            excerpt(word)
        ));
    }
}

pub(crate) fn warn(warnings: &[String], printer: &Printer) {
    if printer.mode != Mode::Json {
        for warning in warnings {
            printer.note(&format!("warning: {warning}"));
        }
    }
}

pub(crate) fn found(items: &impl Serialize, warnings: &[String], command: &str) -> Value {
    let mut answer = envelope(items, command);
    if let Some(Value::Object(meta)) = answer.get_mut("meta")
        && !warnings.is_empty()
    {
        meta.insert("warnings".to_owned(), json!(warnings));
    }
    answer
}

pub(crate) fn envelope(items: &impl Serialize, command: &str) -> Value {
    json!({ "kind": "list", "data": { "items": items }, "meta": { "command": command } })
}
