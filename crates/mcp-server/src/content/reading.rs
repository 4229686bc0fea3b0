//! Reads resources through the corresponding tools, so that both have one budget.

use ktx_context_tools::list_tables;
use ktx_mcp_bridge::{ContentError, ResourceText};
use ktx_tool_descriptors::{CallContext, ToolError};
use serde_json::{Value, json};

use super::address::{Address, Place};
use super::{ProjectContent, unread};

/// Users attach a resource because they want it whole.
const TOKENS: u32 = 10_000;

/// For a list of tables.
const LIST_BYTES: usize = 24_000;

const COMMENT_LETTERS: usize = 120;

struct Part {
    text: String,
    next: Option<String>,
}

impl ProjectContent {
    /// If there is more, a second text names the next URI.
    pub(super) async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceText>, ContentError> {
        let Address { place, cursor } = Address::parse(uri)?;
        let part = match &place {
            Place::Page(key) => {
                let given = self
                    .call("wiki_read", json!({ "key": key }), cursor)
                    .await?;
                part_of(&given, "content")
            }
            Place::Source { connection, name } => {
                let arguments = json!({ "connectionId": connection, "sourceName": name });
                let given = self.call("sl_read_source", arguments, cursor).await?;
                part_of(&given, "yaml")
            }
            Place::Table { connection, table } => {
                let arguments = json!({ "connectionId": connection, "entities": [table] });
                let given = self.call("entity_details", arguments, cursor).await?;
                table_of(&given)?
            }
            Place::Schema(connection) => self.tables(connection, cursor.as_deref()).await?,
        };
        let mut texts = vec![ResourceText {
            uri: uri.to_owned(),
            media_type: place.form().media_type,
            text: part.text,
        }];
        if let Some(next) = part.next {
            let next = place.uri_from(&next);
            texts.push(ResourceText {
                text: format!("There is more: read `{next}`."),
                uri: next,
                media_type: "text/plain",
            });
        }
        Ok(texts)
    }

    async fn call(
        &self,
        tool: &str,
        mut arguments: Value,
        cursor: Option<String>,
    ) -> Result<Value, ContentError> {
        arguments["maxTokens"] = TOKENS.into();
        arguments["format"] = "json".into();
        if let Some(cursor) = cursor {
            arguments["cursor"] = cursor.into();
        }
        let call = CallContext::detached("resource");
        let output = self.readers()?.call(tool, arguments, call).await;
        let output = output.map_err(|error| refused(&error))?;
        let missing = || ContentError::Failed(format!("`{tool}` gave no structure"));
        output.structured.ok_or_else(missing)
    }

    async fn tables(&self, connection: &str, cursor: Option<&str>) -> Result<Part, ContentError> {
        let tables = list_tables(&*self.context, connection).await;
        let tables = tables.map_err(|failure| unread(&failure))?;
        let Some(tables) = tables else {
            let text = format!("`{connection}` was never scanned; run `ktx scan {connection}`");
            return Ok(Part { text, next: None });
        };
        let start = match cursor {
            None => 0,
            Some(after) => {
                let known = tables.iter().position(|one| one.table == after);
                let wrong = || {
                    let text = "the tables have changed since the cursor was given; read the URI without it";
                    ContentError::Invalid(text.to_owned())
                };
                known.ok_or_else(wrong)? + 1
            }
        };
        let mut text = format!(
            "{} tables. Columns, keys and joins of one: `ktx://schema/{connection}/<table>`.\n",
            tables.len()
        );
        let mut last: Option<&str> = None;
        for table in tables.iter().skip(start) {
            let comment = table.comment.as_deref().unwrap_or_default();
            let comment: String = comment.chars().take(COMMENT_LETTERS).collect();
            let comment = comment.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = format!("{} · {} columns {comment}", table.table, table.columns);
            if text.len() + line.len() > LIST_BYTES
                && let Some(last) = last
            {
                let next = Some(last.to_owned());
                return Ok(Part { text, next });
            }
            text.push_str(line.trim_end());
            text.push('\n');
            last = Some(&table.table);
        }
        Ok(Part { text, next: None })
    }
}

fn part_of(given: &Value, field: &str) -> Part {
    let text = given.get(field).and_then(Value::as_str);
    Part {
        text: text.unwrap_or_default().to_owned(),
        next: next_of(given),
    }
}

fn next_of(given: &Value) -> Option<String> {
    Some(given.get("cursor")?.as_str()?.to_owned())
}

fn table_of(given: &Value) -> Result<Part, ContentError> {
    let result = given.pointer("/results/0").cloned().unwrap_or_default();
    if let Some(message) = result.pointer("/error/message").and_then(Value::as_str) {
        return Err(ContentError::NotFound(message.to_owned()));
    }
    Ok(Part {
        text: result.to_string(),
        next: next_of(given),
    })
}

fn refused(error: &ToolError) -> ContentError {
    let part = |name: &str| error.structured.as_ref()?.pointer(name);
    let message = part("/error/message").and_then(Value::as_str);
    let mut text = message.unwrap_or(&error.message).to_owned();
    // A refusal's suggested arguments are those of the tool.
    let hints = part("/error/hints").and_then(Value::as_array);
    for hint in hints.into_iter().flatten().filter_map(Value::as_str) {
        text.push_str("; ");
        text.push_str(hint);
    }
    match part("/error/code").and_then(Value::as_str) {
        Some(
            "page_not_found" | "unknown_source" | "unknown_connection" | "invalid_wiki_key"
            | "not_a_warehouse",
        ) => ContentError::NotFound(text),
        Some("invalid_arguments") => ContentError::Invalid(text),
        _ => ContentError::Failed(text),
    }
}
