//! Renders structured results readably and deterministically.

use serde_json::Value;

/// Renders nested lists in the value's own key order. A skill payload (`{name, content}`) becomes a
/// heading and its body.
pub fn markdown_of(value: &Value) -> String {
    if let Value::Object(map) = value
        && let (Some(Value::String(name)), Some(Value::String(content)), 2) =
            (map.get("name"), map.get("content"), map.len())
    {
        return format!("# {name}\n\n{content}");
    }
    let mut out = String::new();
    write_value(&mut out, value, 0);
    out.trim_end().to_owned()
}

fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                write_item(out, Some(key), value, depth);
            }
        }
        Value::Array(items) => {
            for value in items {
                write_item(out, None, value, depth);
            }
        }
        scalar => {
            out.push_str(&scalar_text(scalar));
            out.push('\n');
        }
    }
}

fn write_item(out: &mut String, key: Option<&String>, value: &Value, depth: usize) {
    out.push_str(&"  ".repeat(depth));
    out.push('-');
    if let Some(key) = key {
        out.push(' ');
        out.push_str(key);
        out.push(':');
    }
    match value {
        Value::Object(map) if map.is_empty() => out.push_str(" {}\n"),
        Value::Array(items) if items.is_empty() => out.push_str(" []\n"),
        Value::Object(_) | Value::Array(_) => {
            out.push('\n');
            write_value(out, value, depth + 1);
        }
        scalar => {
            out.push(' ');
            out.push_str(&scalar_text(scalar));
            out.push('\n');
        }
    }
}

fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('\n', "\n  "),
        other => other.to_string(),
    }
}
