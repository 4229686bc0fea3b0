//! Merges the result of a loop with later commits: by file, and in a semantic source by measure. A
//! page that both changed is not merged, because its loop must see the other text.

use std::collections::BTreeMap;

use ktx_memory::{Changeset, is_sound};
use ktx_project_store::{Content, ProjectPath};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;
use serde_yaml::{Mapping, Value};

type Files = BTreeMap<ProjectPath, Vec<u8>>;

/// Rebases the changes onto the files `now`; `None` if both sides changed the same thing.
pub(crate) fn merged(
    made: &Changeset,
    before: &Files,
    now: &Files,
    warehouse: Option<&(ConnectionId, Dialect)>,
) -> Option<Changeset> {
    let mut merged = made.clone();
    for change in &mut merged.changes {
        let (old, new) = (before.get(&change.path), now.get(&change.path));
        if old == new {
            continue;
        }
        let Content::Write(own) = &change.content else {
            return None;
        };
        if !change.path.as_str().starts_with("semantic-layer/") {
            return None;
        }
        let text = source(old.map_or(&[], Vec::as_slice), own, new?)?;
        change.content = Content::Write(text.into_bytes());
    }
    is_sound(now, &merged.changes, warehouse).then_some(merged)
}

/// Returns `None` if both sides changed the same entry.
fn source(before: &[u8], own: &[u8], now: &[u8]) -> Option<String> {
    let read = |bytes: &[u8]| -> Option<Mapping> {
        let text = std::str::from_utf8(bytes).ok()?;
        match serde_yaml::from_str(text) {
            Ok(Value::Mapping(map)) => Some(map),
            Ok(Value::Null) => Some(Mapping::new()),
            _ => None,
        }
    };
    let (before, own, old) = (read(before)?, read(own)?, read(now)?);
    let new = mapping(&before, &own, &old)?;
    ktx_yaml::edit(std::str::from_utf8(now).ok()?, &old, &new).ok()
}

fn mapping(before: &Mapping, own: &Mapping, now: &Mapping) -> Option<Mapping> {
    let mut merged = now.clone();
    let gone = before.iter().filter(|(key, _)| !own.contains_key(*key));
    for (key, value) in gone {
        if now.get(key).is_some_and(|kept| kept != value) {
            return None;
        }
        merged.shift_remove(key);
    }
    for (key, value) in own {
        let (old, new) = (before.get(key), now.get(key));
        if old == Some(value) || new == Some(value) {
            continue;
        }
        let value = match (old, value, new) {
            (old, value, new) if old == new => value.clone(),
            (old, Value::Sequence(own), Some(Value::Sequence(now))) => {
                let old = old.and_then(Value::as_sequence);
                Value::Sequence(list(old.map_or(&[], Vec::as_slice), own, now)?)
            }
            (old, Value::Mapping(own), Some(Value::Mapping(now))) => {
                let none = Mapping::new();
                let old = old.and_then(Value::as_mapping).unwrap_or(&none);
                Value::Mapping(mapping(old, own, now)?)
            }
            _ => return None,
        };
        merged.insert(key.clone(), value);
    }
    Some(merged)
}

fn list(before: &[Value], own: &[Value], now: &[Value]) -> Option<Vec<Value>> {
    let find = |list: &[Value], name: &Value| -> Option<Value> {
        let mut found = list.iter().filter(|entry| entry.get("name") == Some(name));
        found.next().cloned()
    };
    let all = before.iter().chain(own).chain(now);
    if !all.into_iter().all(|entry| entry.get("name").is_some()) {
        return None;
    }
    let mut merged = now.to_vec();
    for entry in before {
        let name = entry.get("name")?;
        if find(own, name).is_none() {
            if find(now, name).is_some_and(|kept| kept != *entry) {
                return None;
            }
            merged.retain(|kept| kept.get("name") != Some(name));
        }
    }
    for entry in own {
        let name = entry.get("name")?;
        let (old, new) = (find(before, name), find(now, name));
        if old.as_ref() == Some(entry) || new.as_ref() == Some(entry) {
            continue;
        }
        if old != new {
            return None;
        }
        match merged
            .iter_mut()
            .find(|kept| kept.get("name") == Some(name))
        {
            Some(kept) => *kept = entry.clone(),
            None => merged.push(entry.clone()),
        }
    }
    Some(merged)
}

#[cfg(test)]
mod tests;
