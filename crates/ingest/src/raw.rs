//! `read_raw_file`: the files of the source that a unit may read.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_context_sources::Snapshot;
use ktx_secrets::Redactor;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, WriteEffect, schema_for,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const LONGEST_ANSWER: usize = 40_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// The path of the file, as listed.
    path: String,
    /// The first line to read; lines count from 1.
    start_line: Option<usize>,
}

struct RawFileHandler {
    snapshot: Arc<Snapshot>,
    allowed: BTreeSet<String>,
}

pub(crate) fn read_raw_file(snapshot: &Arc<Snapshot>, allowed: BTreeSet<String>) -> ToolDescriptor {
    ToolDescriptor {
        name: "read_raw_file".to_owned(),
        title: "Read Raw File".to_owned(),
        description: "Read a file of the source that is listed in the task. A long one is given in parts: ask again \
                      with `startLine`."
            .to_owned(),
        input_schema: schema_for::<Input>(),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: Arc::new(RawFileHandler {
            snapshot: Arc::clone(snapshot),
            allowed,
        }),
    }
}

#[async_trait]
impl ToolHandler for RawFileHandler {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let input: Input =
            serde_json::from_value(arguments).map_err(|error| ToolError::new(error.to_string()))?;
        let text = match self.snapshot.files.get(&input.path) {
            Some(text) if self.allowed.contains(&input.path) => text,
            _ => {
                return Err(ToolError::new(format!(
                    "`{}` is none of the files of this task: read those that are listed",
                    input.path
                )));
            }
        };
        let first = input.start_line.unwrap_or(1).max(1);
        // Redact the whole text first: a key may span several lines.
        let (part, next) = part(&Redactor::new().redact(text), first);
        let told = match next {
            Some(next) => format!("{part}\n[the file continues: ask again with startLine {next}]"),
            None => part,
        };
        Ok(ToolOutput::new(
            told,
            json!({ "path": input.path, "startLine": first, "nextLine": next }),
        ))
    }
}

/// Returns the whole lines from `first` that fit, and the number of the next line if there is one.
/// Cuts a single line that does not fit.
fn part(text: &str, first: usize) -> (String, Option<usize>) {
    let mut part = String::new();
    let mut room = LONGEST_ANSWER;
    for (index, line) in text.lines().enumerate().skip(first - 1) {
        let length = line.chars().count() + 1;
        if length > room && !part.is_empty() {
            return (part, Some(index + 1));
        }
        if length > room {
            part.extend(line.chars().take(room));
            part.push_str(" [the line continues]\n");
        } else {
            part.push_str(line);
            part.push('\n');
        }
        room = room.saturating_sub(length);
    }
    (part, None)
}

#[cfg(test)]
mod tests;
