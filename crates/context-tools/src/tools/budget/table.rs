//! Renders results as compact text.

use serde_json::{Map, Value};

/// `name: value` lines, and a table for each list of similar things.
pub(super) fn text_of(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(map) => object(&mut text, map),
        other => {
            text.push_str(&cell(other));
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn object(text: &mut String, map: &Map<String, Value>) {
    let rows = map.get("rows").and_then(Value::as_array);
    let headers = map.get("headers").and_then(Value::as_array);
    let table = headers.zip(rows);
    for (name, value) in map {
        match value {
            Value::Null => {}
            _ if table.is_some() && (name == "rows" || name == "headers") => {}
            Value::Array(entries) if entries.is_empty() => {}
            Value::Array(entries) => list(text, name, entries),
            Value::String(long) if long.contains('\n') => {
                text.extend([name, ":\n", long.trim_end(), "\n"]);
            }
            other => text.extend([name, ": ", &plain(other), "\n"]),
        }
    }
    if let Some((headers, rows)) = table {
        line(text, headers);
        for row in rows {
            match row {
                Value::Array(cells) => line(text, cells),
                other => line(text, std::slice::from_ref(other)),
            }
        }
    }
}

fn list(text: &mut String, name: &str, entries: &[Value]) {
    let objects: Option<Vec<&Map<String, Value>>> = entries.iter().map(Value::as_object).collect();
    let Some(objects) = objects else {
        let is_long = entries.iter().any(|entry| plain(entry).len() > 40);
        let cells: Vec<String> = entries.iter().map(cell).collect();
        let joined = if is_long {
            format!("\n- {}", cells.join("\n- "))
        } else {
            format!(" {}", cells.join(", "))
        };
        text.extend([name, ":", &joined, "\n"]);
        return;
    };
    if objects.iter().any(|object| has_list(object)) {
        for object_of in objects {
            text.extend(["\n", name, ":\n"]);
            object(text, object_of);
        }
        return;
    }
    text.extend([name, ":\n"]);
    let columns = columns(&objects);
    text.push_str(&columns.join(" | "));
    text.push('\n');
    for object in objects {
        let cells = columns.iter().map(|column| match object.get(*column) {
            None | Some(Value::Null) => String::new(),
            Some(value) => cell(value),
        });
        text.push_str(&cells.collect::<Vec<_>>().join(" | "));
        text.push('\n');
    }
}

/// No cell can hold a list of objects.
fn has_list(object: &Map<String, Value>) -> bool {
    let is_list = |value: &Value| {
        value
            .as_array()
            .is_some_and(|entries| entries.iter().any(Value::is_object))
    };
    object.values().any(is_list)
}

fn columns<'a>(objects: &[&'a Map<String, Value>]) -> Vec<&'a str> {
    let mut columns: Vec<&str> = Vec::new();
    for object in objects {
        for (name, value) in *object {
            let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            if !is_empty && !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
    }
    columns
}

fn line(text: &mut String, cells: &[Value]) {
    let cells: Vec<String> = cells.iter().map(cell).collect();
    text.push_str(&cells.join(" | "));
    text.push('\n');
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let is_plain = !text.is_empty()
                && text.trim() == text
                && !text.contains(['\n', '\r', '|', '"'])
                && !matches!(text.as_str(), "null" | "true" | "false");
            if is_plain {
                text.clone()
            } else {
                value.to_string()
            }
        }
        Value::Array(entries) => entries.iter().map(cell).collect::<Vec<_>>().join(", "),
        Value::Object(map) => {
            let known: Map<String, Value> = map
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            Value::Object(known).to_string()
        }
        other => other.to_string(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => cell(other),
    }
}
