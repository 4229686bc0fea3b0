//! Chooses the table file of each link.
//!
//! A link stays in its file. A new link goes with its child or its new table, so that two people
//! who scan different new tables write different files.

use std::collections::{BTreeMap, BTreeSet};

use ktx_relationships::links::link::Link;
use ktx_vocabulary::TableRef;
use serde_json::Value;

use crate::relationships::wire::{RELATIONSHIPS, STATUSES, WHOLE_RELATIONSHIPS};
use crate::request::{ScanError, ScanRequest};
use crate::structural::artifact::table_stem;
use crate::structural::sync::Previous;
use crate::wire::StatusCounts;

#[derive(Debug, Default)]
pub(crate) struct Homes {
    /// By link id.
    stems: BTreeMap<String, String>,
    known: BTreeSet<TableRef>,
    pub(crate) counts: Option<StatusCounts>,
}

impl Homes {
    /// Unreadable files will be rewritten.
    pub(crate) fn read(request: &ScanRequest, previous: &Previous) -> Result<Self, ScanError> {
        let kinds = (WHOLE_RELATIONSHIPS, RELATIONSHIPS);
        let found = previous.artifacts(request.files.as_ref(), kinds, "its links are new")?;
        let mut homes = Self {
            known: previous.tables.keys().cloned().collect(),
            ..Self::default()
        };
        for (path, artifact) in &found.values {
            let name = path.rsplit('/').next().unwrap_or(path);
            let stem = name.strip_suffix(".json").unwrap_or(name);
            let is_of_one_table = path.contains(RELATIONSHIPS);
            let counts = homes.counts.get_or_insert_default();
            for status in STATUSES {
                let links = artifact.get(status).and_then(Value::as_array);
                for link in links.into_iter().flatten() {
                    counts.add(status);
                    if let Some(id) = link.get("id").and_then(Value::as_str)
                        && is_of_one_table
                    {
                        homes.stems.insert(id.to_owned(), stem.to_owned());
                    }
                }
            }
        }
        Ok(homes)
    }

    pub(crate) fn assign<'l>(&self, links: &'l [Link]) -> BTreeMap<TableRef, Vec<&'l Link>> {
        let mut assigned: BTreeMap<TableRef, Vec<&Link>> = BTreeMap::new();
        for link in links {
            let home = self.home(link).clone();
            assigned.entry(home).or_default().push(link);
        }
        assigned
    }

    fn home<'l>(&self, link: &'l Link) -> &'l TableRef {
        let (from, to) = (&link.from.table, &link.to.table);
        if let Some(stem) = self.stems.get(&link.id()) {
            let ends = [from, to];
            if let Some(end) = ends.into_iter().find(|end| table_stem(end) == *stem) {
                return end;
            }
        }
        let is_new = |table: &TableRef| !self.known.contains(table);
        if is_new(to) && !is_new(from) {
            to
        } else {
            from
        }
    }
}
