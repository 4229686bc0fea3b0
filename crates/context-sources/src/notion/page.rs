//! The metadata of a page: title, location, properties.

use serde_json::Value;

use super::id::PageId;
use super::markdown::rich;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotionPage {
    pub(super) id: PageId,
    pub(super) title: String,
    /// In Notion's format, to the minute.
    pub(super) edited: String,
    pub(super) is_in_trash: bool,
    pub(super) url: Option<String>,
    /// Sorted by name; empty unless the page is a database row.
    pub(super) properties: Vec<(String, String)>,
}

impl NotionPage {
    pub(super) fn parse(value: &Value) -> Option<Self> {
        if value.get("object")?.as_str()? != "page" {
            return None;
        }
        let is_set = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        let properties = value.get("properties").and_then(Value::as_object);
        let mut title = String::new();
        let mut rest = Vec::new();
        for (name, property) in properties.into_iter().flatten() {
            if property.get("type").and_then(Value::as_str) == Some("title") {
                title = plain(property.get("title"));
            } else if let Some(text) = shown(property) {
                rest.push((name.clone(), text));
            }
        }
        // The API returns properties in arbitrary order.
        rest.sort();
        Some(Self {
            id: PageId::parse(value.get("id")?.as_str()?)?,
            title: if title.trim().is_empty() {
                "Untitled".to_owned()
            } else {
                title
            },
            edited: value.get("last_edited_time")?.as_str()?.to_owned(),
            // `archived` is the older name.
            is_in_trash: is_set("in_trash") || is_set("archived"),
            url: value.get("url").and_then(Value::as_str).map(str::to_owned),
            properties: rest,
        })
    }
}

pub(super) fn plain(texts: Option<&Value>) -> String {
    let texts = texts.and_then(Value::as_array).into_iter().flatten();
    let words: String = texts
        .filter_map(|text| text.get("plain_text")?.as_str())
        .collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `None` for empty values and values about people.
fn shown(property: &Value) -> Option<String> {
    let kind = property.get("type")?.as_str()?;
    let value = property.get(kind)?;
    let text = match kind {
        "rich_text" => rich(value),
        "select" | "status" => value.get("name")?.as_str()?.to_owned(),
        "multi_select" => names(value, "name"),
        "files" => names(value, "name"),
        "date" => dates(value)?,
        "checkbox" => if value.as_bool()? { "yes" } else { "no" }.to_owned(),
        "number" | "url" => scalar(value)?,
        "formula" => {
            let kind = value.get("type")?.as_str()?;
            let result = value.get(kind)?;
            dates(result).or_else(|| scalar(result))?
        }
        "unique_id" => {
            let number = scalar(value.get("number")?)?;
            match value.get("prefix").and_then(Value::as_str) {
                Some(prefix) => format!("{prefix}-{number}"),
                None => number,
            }
        }
        _ => return None,
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

fn dates(value: &Value) -> Option<String> {
    let start = value.get("start")?.as_str()?;
    Some(match value.get("end").and_then(Value::as_str) {
        Some(end) => format!("{start} to {end}"),
        None => start.to_owned(),
    })
}

fn names(value: &Value, field: &str) -> String {
    let items = value.as_array().into_iter().flatten();
    let names: Vec<&str> = items.filter_map(|item| item.get(field)?.as_str()).collect();
    names.join(", ")
}
