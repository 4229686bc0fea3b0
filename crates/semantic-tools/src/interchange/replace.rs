//! Replaces a source file with an imported source.

use serde_yaml::Value;

use super::{Fate, Loss};
use crate::format::comments;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// With the comments of the file.
    pub text: String,
    /// In file order; comments last.
    pub losses: Vec<Loss>,
}

/// A file with the same content stays unchanged.
pub fn replace_source(old: &str, new: &str, path: &str) -> Replaced {
    let values = |text: &str| serde_yaml::from_str::<Value>(text).ok();
    let (before, after) = (values(old), values(new));
    if before.is_some() && before == after {
        return Replaced {
            text: old.to_owned(),
            losses: Vec::new(),
        };
    }
    let lost = |construct, message: String| Loss {
        place: path.to_owned(),
        construct,
        fate: Fate::Dropped,
        message,
    };
    let (Some(before), Some(after)) = (before, after) else {
        let message = "the file cannot be read; all that it says is replaced".to_owned();
        return Replaced {
            text: new.to_owned(),
            losses: vec![lost("file", message)],
        };
    };
    let mut gone = Vec::new();
    missing((&before, &after), "", &mut gone);
    let mut losses: Vec<Loss> = gone
        .into_iter()
        .map(|place| lost("key", format!("`{place}` is not in the imported file")))
        .collect();
    let text = if let Some(carried) = comments::carry(old, new) {
        let told = |comment: String| {
            let message =
                format!("`{comment}` is on something that the imported file does not have");
            lost("comment", message)
        };
        losses.extend(carried.lost.into_iter().map(told));
        carried.text
    } else {
        let has_comments = old
            .lines()
            .any(|line| line.starts_with('#') || line.contains(" #"));
        if has_comments {
            let message = "the layout of the file is too unusual to keep its comments";
            losses.push(lost("comment", message.to_owned()));
        }
        new.to_owned()
    };
    Replaced { text, losses }
}

fn missing((old, new): (&Value, &Value), place: &str, gone: &mut Vec<String>) {
    match (old, new) {
        (Value::Mapping(old), Value::Mapping(new)) => {
            for (key, value) in old {
                let name = key.as_str().unwrap_or("?");
                let place = match place {
                    "" => name.to_owned(),
                    place => format!("{place}.{name}"),
                };
                match new.get(key) {
                    Some(other) => missing((value, other), &place, gone),
                    None => gone.push(place),
                }
            }
        }
        (Value::Sequence(old), Value::Sequence(new)) => {
            for item in old {
                let Some(name) = identity(item) else {
                    continue;
                };
                let place = format!("{place}.{name}");
                let mut others = new.iter();
                match others.find(|other| identity(other) == Some(name)) {
                    Some(other) => missing((item, other), &place, gone),
                    None => gone.push(place),
                }
            }
        }
        _ => {}
    }
}

fn identity(item: &Value) -> Option<&str> {
    let mut named = ["name", "alias", "to"].iter();
    item.as_str()
        .or_else(|| named.find_map(|key| item.get(*key)?.as_str()))
}
