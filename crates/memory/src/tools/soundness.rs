//! Checks whether some of the changes of a draft are valid without the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_project_store::{Change, Content, ProjectPath};
use ktx_sql::Dialect;
use ktx_vocabulary::{ConnectionId, WikiKey};

use super::Warehouse;
use super::sources::{catalog_of, findings};
use super::wiki::targets;
use crate::draft::Draft;

/// Returns whether every valid source stays valid and no page gets a link to a missing page.
pub fn is_sound(
    files: &BTreeMap<ProjectPath, Vec<u8>>,
    changes: &[Change],
    warehouse: Option<&(ConnectionId, Dialect)>,
) -> bool {
    let files = Arc::new(files.clone());
    let before = Draft::new(Arc::clone(&files));
    let mut after = Draft::new(files);
    for change in changes {
        let path = change.path.clone();
        match &change.content {
            Content::Write(bytes) => {
                after.put(path, String::from_utf8_lossy(bytes).into_owned());
            }
            Content::Delete => after.remove(path),
        }
    }
    let is_right = warehouse.is_none_or(|(id, dialect)| {
        let warehouse = Warehouse {
            id: id.clone(),
            dialect: *dialect,
        };
        let wrong = |draft: &Draft| findings(&catalog_of(draft, &warehouse));
        wrong(&after).is_subset(&wrong(&before))
    });
    is_right && dangling(&after).is_subset(&dangling(&before))
}

/// As (page, target).
fn dangling(draft: &Draft) -> BTreeSet<(String, String)> {
    let keys = draft.keys();
    let keys: BTreeSet<&str> = keys.iter().map(WikiKey::as_str).collect();
    let pages = draft.pages();
    let links = pages.iter().flat_map(|page| {
        let key = page.key().to_string();
        targets(page)
            .into_iter()
            .map(move |target| (key.clone(), target))
    });
    links
        .filter(|(_, target)| !keys.contains(target.as_str()))
        .collect()
}
