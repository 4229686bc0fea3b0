//! The tools as data and as a page of the manual.

use ktx_tool_descriptors::{ToolDescriptor, WriteEffect, accepted_schema};
use serde_json::{Value, json};

use super::specs::SPECS;

pub fn tool_catalogue() -> Value {
    let tools = SPECS.iter().map(|spec| {
        json!({
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "readOnly": spec.effect != WriteEffect::Writes,
            "idempotent": spec.effect == WriteEffect::Idempotent,
            "inputSchema": accepted_schema(&spec.input_schema()),
            "outputSchema": spec.output_schema(),
        })
    });
    Value::Array(tools.collect())
}

pub fn tool_catalogue_markdown(more: &[ToolDescriptor]) -> String {
    let catalogue = tool_catalogue();
    let tools = catalogue.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut page = String::from(
        "# MCP tools\n\n\
         What `ktx mcp` offers to agents. Every tool but `memory_ingest` and `review_decide` only reads. The tools of\n\
         notes are there when the project has a model, `review_proposals` when a proposal waits at the start of the server,\n\
         and `review_decide` for clients whose `allowed_tools` names it. A result is at most\n\
         `maxTokens` long (4,000 tokens when left out), always in whole rows, columns or sections. `hasMore` says that\n\
         there is more, and the same call with the `cursor` reads on; a cursor is refused when the data have changed.\n\
         Up to 1 KB, a result is JSON as text and the same as `structuredContent`. A longer one is given once: as compact\n\
         tables in the text, or as `structuredContent` with `format: json`. Its fields are those below either way.\n\
         Results that hold words of other people begin with a `_note` which says that they are data. A tool that fails answers with `isError` and `code: message`, followed by\n\
         `hint:` lines.\n",
    );
    for tool in tools {
        page.push_str(&section(tool));
    }
    for tool in more {
        page.push_str(&section(&json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": accepted_schema(&tool.input_schema),
            "outputSchema": tool.output_schema,
        })));
    }
    page
}

fn section(tool: &Value) -> String {
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
    let schema = |key: &str| {
        tool.get(key)
            .map(|schema| fields(schema, "", 0))
            .unwrap_or_default()
    };
    let input = schema("inputSchema");
    let input = if input.is_empty() {
        "It takes nothing.\n".to_owned()
    } else {
        table(&input)
    };
    format!(
        "\n## `{}`\n\n{}\n\n### Takes\n\n{input}\n### Gives\n\n{}",
        text("name"),
        text("description"),
        table(&schema("outputSchema")),
    )
}

struct Row {
    path: String,
    kind: String,
    needed: &'static str,
    meaning: String,
}

fn table(rows: &[Row]) -> String {
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            format!(
                "| `{}` | {} | {} | {} |\n",
                row.path, row.kind, row.needed, row.meaning
            )
        })
        .collect();
    format!(
        "| Field | Type | Always | Meaning |\n|---|---|---|---|\n{}",
        lines.concat()
    )
}

fn fields(schema: &Value, prefix: &str, depth: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if depth > 3 {
        return rows;
    }
    let needed: Vec<&str> = list(schema, "required")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = format!("{prefix}{name}");
        let meaning = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        rows.push(Row {
            kind: kind(property),
            needed: if needed.contains(&name.as_str()) {
                "yes"
            } else {
                "no"
            },
            meaning: meaning
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .replace('|', "\\|"),
            path: path.clone(),
        });
        rows.extend(inner(property, &path, depth));
    }
    rows
}

fn inner(property: &Value, path: &str, depth: usize) -> Vec<Row> {
    let mut rows = fields(property, &format!("{path}."), depth + 1);
    if let Some(items) = property.get("items") {
        let prefix = format!("{path}[]");
        rows.extend(inner(items, &prefix, depth));
    }
    for variant in list(property, "anyOf") {
        rows.extend(inner(variant, path, depth));
    }
    rows
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn kind(property: &Value) -> String {
    let choices: Vec<String> = list(property, "enum")
        .iter()
        .chain(
            list(property, "oneOf")
                .iter()
                .filter_map(|choice| choice.get("const")),
        )
        .map(|choice| {
            format!(
                "`{}`",
                choice
                    .as_str()
                    .map_or_else(|| choice.to_string(), str::to_owned)
            )
        })
        .collect();
    if !choices.is_empty() {
        return choices.join(", ");
    }
    let variants: Vec<String> = list(property, "anyOf").iter().map(kind).collect();
    if !variants.is_empty() {
        return variants.join(" or ");
    }
    let types: Vec<&str> = match property.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any"],
    };
    let mut text = types.join(" or ");
    if let Some(items) = property.get("items") {
        text = text.replace("array", &format!("list of {}", kind(items)));
    }
    let bound = |key: &str| property.get(key).and_then(Value::as_i64);
    if let (Some(low), Some(high)) = (bound("minimum"), bound("maximum")) {
        text = format!("{text}, {low} to {high}");
    }
    text
}
