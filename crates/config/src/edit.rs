//! Edits of `ktx.yaml` in place. Comments, order, unknown keys, line ends and a byte order mark
//! stay. Every edit is read back and compared with the intended value before it is returned.

use std::str::FromStr as _;

use ktx_diagnostics::{Diagnostics, Hint, Hints};
use serde_json::{Map, Value};
use yaml_edit::{
    Document, Mapping, MappingBuilder, ScalarValue, SequenceBuilder, YamlFile, YamlNode,
};

use crate::{Connection, FILE_NAME, yaml};

/// Why an edit was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text is not valid YAML before the edit.
    #[error("`{FILE_NAME}` cannot be edited")]
    Unreadable {
        #[source]
        problems: Diagnostics,
    },
    /// The path is empty.
    #[error("an edit needs a key")]
    NoKey,
    /// A parent of the key is not an object.
    #[error("`{path}` is not an object, so nothing can be put into it")]
    NotAnObject {
        /// The path of that parent.
        path: String,
    },
    /// The name is already in use.
    #[error("`{path}` is there already")]
    Taken {
        /// The key.
        path: String,
    },
    /// The edited text would have a different value than intended.
    #[error("`{path}` cannot be changed safely in this file")]
    Unsafe {
        /// The key.
        path: String,
    },
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

/// Sets the value at `path`, creating missing objects on the path.
pub fn set(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let before = read(text)?;
    let after = with(&before, path, value)?;
    if before == after {
        return Ok(text.to_owned());
    }
    let edited = edit(text, path, |file| set_in(file, path, value))?;
    compare(edited, &after, path)
}

/// Removes the key at `path`; a text without it stays unchanged.
pub fn remove(text: &str, path: &[&str]) -> Result<String, EditError> {
    let before = read(text)?;
    let Some(after) = without(&before, path) else {
        return Ok(text.to_owned());
    };
    let edited = edit(text, path, |file| remove_in(file, path))?;
    compare(edited, &after, path)
}

/// Adds a connection, or replaces the one with its id.
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

/// Changes the id of a connection. Its position, its comments and its content stay, and other
/// mentions of the old id are not updated. A text without the old id stays unchanged.
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
    let edited = edit(text, &path, |file| {
        let connections = file.document()?.as_mapping()?.get_mapping("connections")?;
        connections.rename_key(old, new).then_some(())
    })?;
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

/// Returns the intended value of setting `path`.
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

/// Returns the intended value of a removal; `None` if there is no such key.
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
    change: impl FnOnce(&YamlFile) -> Option<()>,
) -> Result<String, EditError> {
    let refused = || EditError::Unsafe {
        path: path.join("."),
    };
    if path.is_empty() {
        return Err(EditError::NoKey);
    }
    let body = yaml::without_mark(text);
    let mark = text.strip_suffix(body).unwrap_or_default();
    let file = YamlFile::from_str(body).map_err(|_| refused())?;
    change(&file).ok_or_else(refused)?;
    Ok(format!("{mark}{file}"))
}

fn set_in(file: &YamlFile, path: &[&str], value: &Value) -> Option<()> {
    let (first, _) = path.split_first()?;
    let document = file.ensure_document();
    let Some(mut mapping) = document.as_mapping() else {
        // The document has only comments, so the first key creates the object.
        let (_, below) = path.split_first()?;
        let nested = below.iter().rev().fold(value.clone(), |inner, key| {
            Value::Object(Map::from_iter([((*key).to_owned(), inner)]))
        });
        return put_into(&document, first, &nested);
    };
    let (last, way) = path.split_last()?;
    for (depth, key) in way.iter().enumerate() {
        match mapping.get(*key) {
            Some(YamlNode::Mapping(inner)) if !inner.is_empty() => mapping = inner,
            // A missing or empty object is written with its new content.
            _ => {
                let below = path.get(depth + 1..)?;
                let nested = below.iter().rev().fold(value.clone(), |inner, key| {
                    Value::Object(Map::from_iter([((*key).to_owned(), inner)]))
                });
                put(&mapping, key, &nested);
                return Some(());
            }
        }
    }
    put(&mapping, last, value);
    Some(())
}

fn remove_in(file: &YamlFile, path: &[&str]) -> Option<()> {
    let (last, way) = path.split_last()?;
    let mut mapping = file.document()?.as_mapping()?;
    for key in way {
        mapping = mapping.get_mapping(*key)?;
    }
    mapping.remove(*last).map(drop)
}

fn put_into(document: &Document, key: &str, value: &Value) -> Option<()> {
    let set = match value {
        Value::Array(_) | Value::Object(_) => document.set(key, collection(value)),
        scalar => document.set(key, plain(scalar)),
    };
    set.then_some(())
}

fn put(mapping: &Mapping, key: &str, value: &Value) {
    match value {
        Value::Array(_) | Value::Object(_) => mapping.set(key, collection(value)),
        scalar => mapping.set(key, plain(scalar)),
    }
}

fn collection(value: &Value) -> Document {
    match value {
        Value::Array(items) => items
            .iter()
            .fold(SequenceBuilder::new(), |list, item| match item {
                Value::Array(_) | Value::Object(_) => list.item(collection(item)),
                scalar => list.item(plain(scalar)),
            })
            .build_document(),
        Value::Object(entries) => entries
            .iter()
            .fold(MappingBuilder::new(), |object, (key, value)| match value {
                Value::Array(_) | Value::Object(_) => object.pair(key.as_str(), collection(value)),
                scalar => object.pair(key.as_str(), plain(scalar)),
            })
            .build_document(),
        _ => Document::new(),
    }
}

fn plain(value: &Value) -> ScalarValue {
    match value {
        Value::Bool(flag) => ScalarValue::from(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => ScalarValue::from(whole),
            (None, Some(real)) => ScalarValue::from(real),
            (None, None) => ScalarValue::from(number.to_string()),
        },
        // As a block, a text would absorb the empty lines below it.
        Value::String(text) if text.contains('\n') => ScalarValue::double_quoted(text.as_str()),
        Value::String(text) => ScalarValue::from(text.as_str()),
        Value::Null | Value::Array(_) | Value::Object(_) => ScalarValue::null(),
    }
}

#[cfg(test)]
mod tests;
