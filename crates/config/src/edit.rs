//! Edits `ktx.yaml` in place. Comments, order, unknown keys, line endings and a byte order mark
//! stay.

mod brackets;

use ktx_diagnostics::{Diagnostics, Hint, Hints};
use serde_json::{Map, Value};

use crate::{Connection, FILE_NAME, yaml};

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("`{FILE_NAME}` cannot be edited")]
    Unreadable {
        #[source]
        problems: Diagnostics,
    },
    #[error("an edit needs a key")]
    NoKey,
    #[error("`{path}` is not an object, so nothing can be put into it")]
    NotAnObject { path: String },
    #[error("`{path}` already exists")]
    Taken { path: String },
    /// The edited text would not have the intended value.
    #[error("`{path}` cannot be changed safely in this file")]
    Unsafe { path: String },
}

impl Hints for EditError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Unreadable { .. } => vec![Hint::new("correct the file first")],
            Self::NotAnObject { .. } | Self::Unsafe { .. } => {
                vec![Hint::new(format!("change `{FILE_NAME}` by hand"))]
            }
            Self::NoKey | Self::Taken { .. } => Vec::new(),
        }
    }
}

pub fn set(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let before = read(text)?;
    let after = with(&before, path, value)?;
    if before == after {
        return Ok(text.to_owned());
    }
    let edited = edit(text, path, |body| {
        brackets::set(body, path, value).or_else(|| in_blocks(body, path, Some(value)))
    })?;
    compare(edited, &after, path)
}

pub fn remove(text: &str, path: &[&str]) -> Result<String, EditError> {
    let before = read(text)?;
    let Some(after) = without(&before, path) else {
        return Ok(text.to_owned());
    };
    let edited = edit(text, path, |body| {
        brackets::remove(body, path).or_else(|| in_blocks(body, path, None))
    })?;
    compare(edited, &after, path)
}

pub fn set_connection(text: &str, connection: &Connection) -> Result<String, EditError> {
    let driver = ("driver".to_owned(), Value::from(connection.driver.as_str()));
    let fields = connection
        .fields
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()));
    let entry: Map<String, Value> = std::iter::once(driver).chain(fields).collect();
    set(
        text,
        &["connections", connection.id.as_str()],
        &Value::Object(entry),
    )
}

pub fn remove_connection(text: &str, id: &str) -> Result<String, EditError> {
    remove(text, &["connections", id])
}

/// Renames a connection in place. Does not update other mentions of the old id.
pub fn rename_connection(text: &str, old: &str, new: &str) -> Result<String, EditError> {
    let before = read(text)?;
    let path = ["connections", old];
    let found = before.get("connections").and_then(|all| all.get(old));
    let Some(found) = found else {
        return Ok(text.to_owned());
    };
    let taken = before.get("connections").and_then(|all| all.get(new));
    if taken.is_some() {
        return Err(EditError::Taken {
            path: format!("connections.{new}"),
        });
    }
    let without = without(&before, &path).unwrap_or_default();
    let after = with(&without, &["connections", new], found)?;
    let edited = edit(text, &path, |body| brackets::rename(body, &path, new))?;
    compare(edited, &after, &path)
}

fn read(text: &str) -> Result<Value, EditError> {
    let loaded = yaml::load_text(text, FILE_NAME);
    match loaded
        .map_err(|problems| EditError::Unreadable { problems })?
        .value
    {
        Value::Null => Ok(Value::Object(Map::new())),
        value @ Value::Object(_) => Ok(value),
        _ => Err(EditError::NotAnObject {
            path: FILE_NAME.to_owned(),
        }),
    }
}

fn with(root: &Value, path: &[&str], value: &Value) -> Result<Value, EditError> {
    let mut root = root.clone();
    let mut place = &mut root;
    for (depth, key) in path.iter().enumerate() {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let Some(object) = place.as_object_mut() else {
            let way = path.iter().take(depth).copied().collect::<Vec<_>>();
            return Err(EditError::NotAnObject {
                path: way.join("."),
            });
        };
        place = object.entry((*key).to_owned()).or_insert(Value::Null);
    }
    *place = value.clone();
    Ok(root)
}

fn without(root: &Value, path: &[&str]) -> Option<Value> {
    let (last, way) = path.split_last()?;
    let mut root = root.clone();
    let mut place = &mut root;
    for key in way {
        place = place.as_object_mut()?.get_mut(*key)?;
    }
    place.as_object_mut()?.shift_remove(*last)?;
    Some(root)
}

fn compare(edited: String, meant: &Value, path: &[&str]) -> Result<String, EditError> {
    match read(&edited) {
        Ok(found) if found == *meant => Ok(edited),
        _ => Err(EditError::Unsafe {
            path: path.join("."),
        }),
    }
}

fn edit(
    text: &str,
    path: &[&str],
    change: impl FnOnce(&str) -> Option<String>,
) -> Result<String, EditError> {
    if path.is_empty() {
        return Err(EditError::NoKey);
    }
    let body = yaml::without_mark(text);
    let mark = text.strip_suffix(body).unwrap_or_default();
    let edited = change(body).ok_or_else(|| EditError::Unsafe {
        path: path.join("."),
    })?;
    Ok(format!("{mark}{edited}"))
}

fn in_blocks(body: &str, path: &[&str], value: Option<&Value>) -> Option<String> {
    let old = match serde_yaml::from_str(body).ok()? {
        serde_yaml::Value::Mapping(old) => old,
        serde_yaml::Value::Null => serde_yaml::Mapping::new(),
        _ => return None,
    };
    let mut new = old.clone();
    let (last, way) = path.split_last()?;
    let mut mapping = &mut new;
    for key in way {
        let place = mapping.entry((*key).into());
        let place = place.or_insert(serde_yaml::Value::Null);
        if place.is_null() {
            *place = serde_yaml::Mapping::new().into();
        }
        mapping = place.as_mapping_mut()?;
    }
    match value {
        Some(value) => {
            let value = serde_yaml::to_value(value).ok()?;
            mapping.insert((*last).into(), value);
        }
        None => {
            mapping.shift_remove(*last)?;
        }
    }
    ktx_yaml::edit(body, &old, &new).ok()
}

#[cfg(test)]
mod tests;
