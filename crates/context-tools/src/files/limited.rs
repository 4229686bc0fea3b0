//! A warehouse's sources, scan and statements for a client with a policy.

use std::fs;
use std::sync::Arc;

use ktx_config::Connection;
use ktx_diagnostics::Failure;
use ktx_read_only_sql::Restriction;
use ktx_semantic_layer::Catalog;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::Connector;

use crate::policy::{ClientPolicy, HiddenNames, LimitedConnector, TableRules, shown_files};
use crate::scans::ScanSnapshot;

use super::pages::PageFile;
use super::stamp::{is_absent, unreadable};
use super::{Cached, Inner, lock};

pub(super) struct Limited {
    pub(super) catalog: Arc<Catalog>,
    pub(super) snapshot: Option<Arc<ScanSnapshot>>,
    pub(super) restriction: Arc<Restriction>,
    hidden: HiddenNames,
    hidden_stamp: String,
}

pub(super) struct HiddenFromClient(Vec<Arc<Limited>>);

impl HiddenFromClient {
    pub(super) fn stamp(&self) -> String {
        let stamps = self.0.iter().map(|one| one.hidden_stamp.as_str());
        stamps.collect()
    }
}

impl Inner {
    pub(super) fn policy(&self) -> Option<&ClientPolicy> {
        self.parts.policy.as_deref()
    }

    fn rules(&self, id: &ConnectionId) -> Option<&TableRules> {
        self.policy()?.rules(id.as_str())
    }

    pub(super) fn limited(&self, id: &ConnectionId) -> Result<Option<Arc<Limited>>, Failure> {
        let Some(rules) = self.rules(id) else {
            return Ok(None);
        };
        let sources = self.all_source_files(id)?;
        let mut stamp = self.stamp_of(id, &sources)?;
        let scan = self.whole_snapshot(id)?;
        if let Some(last) = &*self.last_scan(id)? {
            stamp.push('\n');
            stamp.push_str(&last.stamp);
        }
        let known = lock(&self.limited)
            .get(id)
            .filter(|known| known.stamp == stamp)
            .map(|known| Arc::clone(&known.value));
        if known.is_some() {
            return Ok(known);
        }
        let whole = self.whole_catalog(id)?;
        let folder = self.layout.sources(id);
        let mut files = Vec::with_capacity(sources.entries.len());
        for entry in &sources.entries {
            let path = folder.join(&entry.path);
            match fs::read(&path) {
                Ok(bytes) => files.push((entry.path.clone(), bytes)),
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(unreadable(&path, &error)),
            }
        }
        let restriction = rules.restriction(scan.as_deref());
        let shown = shown_files(rules, files, &whole, scan.as_deref(), &restriction);
        let catalog = Catalog::load(shown, self.dialect(id)?);
        let hidden = HiddenNames::of(rules, scan.as_deref(), &whole, &catalog);
        let value = Arc::new(Limited {
            hidden_stamp: hidden.stamp(),
            hidden,
            catalog: Arc::new(catalog),
            snapshot: scan.map(|scan| Arc::new(rules.snapshot(&scan))),
            restriction: Arc::new(restriction),
        });
        let cached = Cached {
            stamp,
            value: Arc::clone(&value),
        };
        lock(&self.limited).insert(id.clone(), cached);
        Ok(Some(value))
    }

    pub(super) fn limit(
        &self,
        connection: &Connection,
        connector: Arc<dyn Connector>,
    ) -> Result<Arc<dyn Connector>, Failure> {
        let Some(policy) = self.policy() else {
            return Ok(connector);
        };
        let limited = self.limited(&connection.id)?;
        Ok(Arc::new(LimitedConnector {
            inner: connector,
            restriction: limited.map(|limited| Arc::clone(&limited.restriction)),
            limits: policy.limits(),
        }))
    }

    /// Omits connections with `allowed_functions`, whose tables are unknown.
    pub(super) fn shown_connections(&self) -> Result<Vec<Connection>, Failure> {
        let mut connections = self.connections()?;
        for connection in &mut connections {
            if self.rules(&connection.id).is_some() {
                connection.fields.shift_remove("allowed_functions");
            }
        }
        Ok(connections)
    }

    pub(super) fn hidden_names(&self) -> Option<HiddenFromClient> {
        let ids = self.policy()?.connections();
        let ids = ids.filter_map(|id| ConnectionId::parse(id).ok());
        let limited: Result<Vec<Arc<Limited>>, Failure> =
            ids.filter_map(|id| self.limited(&id).transpose()).collect();
        limited.ok().map(HiddenFromClient)
    }

    /// Removes all pages if the hidden names are unknown.
    pub(super) fn retain_shown(
        &self,
        files: &mut Vec<PageFile>,
        hidden: Option<&HiddenFromClient>,
    ) {
        let (Some(policy), Some(hidden)) = (self.policy(), hidden) else {
            files.clear();
            return;
        };
        let names = hidden.stamp();
        let hidden: Vec<&HiddenNames> = hidden.0.iter().map(|one| &one.hidden).collect();
        files.retain(|file| {
            if policy.hides_key(file.path.key.as_str()) {
                return false;
            }
            let stamp = format!("{}\n{names}", file.stamp);
            let mut judged = lock(&self.judged_pages);
            if let Some(known) = judged.get(&file.path).filter(|known| known.stamp == stamp) {
                return known.value;
            }
            let page = self.page(file);
            let value = matches!(&page, Ok(Some(page)) if !policy.hides_page(page, &hidden));
            judged.insert(file.path.clone(), Cached { stamp, value });
            value
        });
    }
}
