//! Decides what happens to a shard's file.

use ktx_yaml::{Obstacle, edit, reads_as, to_yaml};
use serde_yaml::{Mapping, Value};

#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    Absent,
    Same,
    Text(String),
    /// No table would remain and nothing that the user wrote.
    Gone,
}

/// `standing` is the existing text and its value.
pub fn change(standing: Option<(&str, &Mapping)>, merged: &Mapping) -> Result<Change, Obstacle> {
    let tables = merged.get("tables").and_then(Value::as_mapping);
    let is_empty =
        tables.is_none_or(Mapping::is_empty) && merged.iter().all(|(key, _)| key == "tables");
    let Some((text, value)) = standing else {
        return if is_empty {
            Ok(Change::Absent)
        } else {
            fresh(merged)
        };
    };
    if is_empty && !text.contains('#') {
        return Ok(Change::Gone);
    }
    // Key order has no meaning.
    if value == merged {
        return Ok(Change::Same);
    }
    let edited = edit(text, value, merged)?;
    // The remaining comments may belong to removed tables.
    Ok(if is_empty && !edited.contains('#') {
        Change::Gone
    } else {
        Change::Text(edited)
    })
}

fn fresh(merged: &Mapping) -> Result<Change, Obstacle> {
    let text = to_yaml(&Value::Mapping(merged.clone()));
    if reads_as(&text, merged) {
        Ok(Change::Text(text))
    } else {
        Err(Obstacle {
            line: 1,
            what: "something that would not be read back as it was meant",
        })
    }
}

/// An empty text is an empty mapping.
pub fn parse(text: &str) -> Result<Mapping, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Mapping::new());
    }
    match serde_yaml::from_str::<Value>(text) {
        Ok(Value::Mapping(map)) => Ok(map),
        Ok(Value::Null) => Ok(Mapping::new()),
        Ok(_) => Err("it is not a mapping".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
