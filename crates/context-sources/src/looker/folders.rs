//! Display paths of dashboards and looks, and which folders are personal.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{is_so, list, text_field};
use crate::rest::{Rest, RestError};

const DEPTH: usize = 50;

struct Folder {
    name: String,
    above: Option<String>,
    is_personal: bool,
}

pub(super) struct Folders(BTreeMap<String, Folder>);

impl Folders {
    pub(super) async fn read(rest: &Rest) -> Result<Self, RestError> {
        let fields = "id,name,parent_id,is_personal,is_personal_descendant";
        let answer = rest.get("/folders", &[("fields", fields)]).await?;
        let mut folders = BTreeMap::new();
        for value in list(rest, &answer, "/folders")? {
            if let Some(id) = text_field(value, "id") {
                folders.insert(id, folder(value));
            }
        }
        Ok(Self(folders))
    }

    /// From the top down; `None` for a personal folder.
    pub(super) fn place(&self, thing: &Value) -> Option<String> {
        let own = thing.get("folder").filter(|own| own.is_object());
        let mut names = Vec::new();
        let mut next = text_field(thing, "folder_id").or_else(|| text_field(own?, "id"));
        if let Some(own) = own {
            let own = folder(own);
            if own.is_personal {
                return None;
            }
            if next.as_ref().is_none_or(|id| !self.0.contains_key(id)) {
                names.push(own.name);
            }
        }
        while let Some(found) = next.as_ref().and_then(|id| self.0.get(id)) {
            if found.is_personal {
                return None;
            }
            names.push(found.name.clone());
            if names.len() == DEPTH {
                break;
            }
            next = found.above.clone();
        }
        names.reverse();
        Some(names.join(" / "))
    }
}

fn folder(value: &Value) -> Folder {
    Folder {
        name: text_field(value, "name").unwrap_or_else(|| "?".to_owned()),
        above: text_field(value, "parent_id"),
        is_personal: is_so(value, "is_personal") || is_so(value, "is_personal_descendant"),
    }
}
