//! In-memory ports.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ktx_llm_runtime::LlmRuntime;
use ktx_project_store::{Content, FileError, StateError};
use ktx_scan::wire::ScanReport;
use ktx_scan::{
    ProjectFiles, Reuse, ScanEvent, ScanEvents, ScanMode, ScanOutcome, ScanRequest, ScanSettings,
    StageStore, Writing,
};
use ktx_vocabulary::{ConnectionId, RunId};
use ktx_warehouse::{Connector, Scope};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub(crate) struct Project {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    local: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Project {
    pub(crate) fn publish(&self, outcome: &ScanOutcome) {
        let mut files = self.files.lock().expect("not poisoned");
        for change in &outcome.changes {
            let path = change.path.as_str();
            match &change.content {
                Content::Write(bytes) => {
                    files.insert(path.to_owned(), bytes.clone());
                }
                Content::Delete => assert!(
                    files.remove(path).is_some(),
                    "deletes {path}, which is not there"
                ),
            }
        }
        let mut local = self.local.lock().expect("not poisoned");
        for file in &outcome.local {
            local.insert(file.path.as_str().to_owned(), file.bytes.clone());
        }
    }

    pub(crate) fn copy(&self) -> Self {
        Self {
            files: Mutex::new(self.files.lock().expect("not poisoned").clone()),
            local: Mutex::default(),
        }
    }

    pub(crate) fn take(&self, path: &str) -> String {
        let text = self.text(path);
        self.files.lock().expect("not poisoned").remove(path);
        text
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        self.files
            .lock()
            .expect("not poisoned")
            .insert(path.to_owned(), text.as_bytes().to_vec());
    }

    pub(crate) fn text(&self, path: &str) -> String {
        let files = self.files.lock().expect("not poisoned");
        let bytes = files
            .get(path)
            .unwrap_or_else(|| panic!("no file {path} among {:?}", files.keys()));
        String::from_utf8(bytes.clone()).expect("text")
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.files
            .lock()
            .expect("not poisoned")
            .keys()
            .cloned()
            .collect()
    }

    /// Merges the files of a folder.
    pub(crate) fn json(&self, name: &str) -> Value {
        let local = self.local.lock().expect("not poisoned");
        let told = local.iter().find(|(path, _)| path.ends_with(name));
        if let Some((_, bytes)) = told {
            return serde_json::from_slice(bytes).expect("JSON");
        }
        let paths = self.paths();
        let stem = name.trim_end_matches(".json");
        let folder = match stem {
            "relationship-profile" => "/enrichment/profiles/".to_owned(),
            stem => format!("/enrichment/{stem}/"),
        };
        let is_it = |path: &&String| path.ends_with(name) || path.contains(&folder);
        let found: Vec<&String> = paths.iter().filter(is_it).collect();
        let mut whole = match stem {
            "relationship-profile" | "descriptions" => json!({ "tables": [], "columns": {} }),
            "relationships" => json!({ "accepted": [], "review": [], "rejected": [] }),
            _ => Value::Null,
        };
        assert!(
            !found.is_empty() || whole.is_object(),
            "no {name} among {paths:?}"
        );
        for path in found {
            let one = serde_json::from_str(&self.text(path)).expect("JSON");
            merge(&mut whole, one);
        }
        for list in whole.as_object_mut().into_iter().flatten() {
            if let Value::Array(list) = list.1 {
                list.sort_by_key(|one| (one["id"].to_string(), one["table"].to_string()));
            }
        }
        whole
    }

    pub(crate) fn last_report(&self) -> Option<ScanReport> {
        let local = self.local.lock().expect("not poisoned");
        let (_, bytes) = local
            .iter()
            .find(|(path, _)| path.ends_with("/scan-report.json"))?;
        serde_json::from_slice(bytes).expect("a report")
    }
}

fn merge(whole: &mut Value, one: Value) {
    match (whole, one) {
        (Value::Array(whole), Value::Array(one)) => whole.extend(one),
        (Value::Object(whole), Value::Object(one)) => {
            for (key, value) in one {
                merge(whole.entry(key).or_insert(Value::Null), value);
            }
        }
        (whole, one) => *whole = one,
    }
}

impl ProjectFiles for Project {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, FileError> {
        Ok(self.files.lock().expect("not poisoned").get(path).cloned())
    }

    fn stamp(&self) -> Result<Option<String>, FileError> {
        Ok(Some(format!(
            "{:?}",
            self.files.lock().expect("not poisoned")
        )))
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>, FileError> {
        let folder = format!("{prefix}/");
        Ok(self
            .paths()
            .into_iter()
            .filter(|path| path.starts_with(&folder))
            .collect())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Stages {
    rows: Mutex<BTreeMap<String, String>>,
}

impl Stages {
    pub(crate) fn damage(&self) {
        let mut rows = self.rows.lock().expect("not poisoned");
        for row in rows.values_mut() {
            row.truncate(row.len() / 2);
        }
    }
}

impl StageStore for Stages {
    fn get(&self, key: &str) -> Result<Option<String>, StateError> {
        Ok(self.rows.lock().expect("not poisoned").get(key).cloned())
    }

    fn put(&self, key: &str, value: &str) -> Result<(), StateError> {
        self.rows
            .lock()
            .expect("not poisoned")
            .insert(key.to_owned(), value.to_owned());
        Ok(())
    }
}

/// Cancels after a number of units if requested.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    pub(crate) events: Mutex<Vec<ScanEvent>>,
    pub(crate) cancel_after: Option<(usize, CancellationToken)>,
}

impl ScanEvents for Listener {
    fn event(&self, event: ScanEvent) {
        let mut events = self.events.lock().expect("not poisoned");
        events.push(event);
        let units = events
            .iter()
            .filter(|event| matches!(event, ScanEvent::UnitDone { .. }))
            .count();
        if let Some((after, token)) = &self.cancel_after
            && units >= *after
        {
            token.cancel();
        }
    }
}

pub(crate) struct World {
    pub(crate) project: Arc<Project>,
    pub(crate) stages: Arc<Stages>,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) runtime: Option<Arc<dyn LlmRuntime>>,
}

impl World {
    pub(crate) fn new(connector: Arc<dyn Connector>) -> Self {
        Self {
            project: Arc::default(),
            stages: Arc::default(),
            connector,
            runtime: None,
        }
    }

    pub(crate) fn request(&self, mode: ScanMode) -> ScanRequest {
        ScanRequest {
            connection: ConnectionId::parse("shop").expect("an id"),
            driver: "sqlite".to_owned(),
            connector: self.connector.clone(),
            scope: Scope::default(),
            mode,
            run_id: RunId::parse("run-1").expect("an id"),
            now: "2026-01-31T09:05:07Z".parse().expect("a time"),
            writing: Writing::Publish,
            reuse: Reuse::Unchanged,
            settings: ScanSettings::default(),
            runtime: self.runtime.clone(),
            model: "scripted".to_owned(),
            last_report: self.project.last_report(),
            files: self.project.clone(),
            stages: self.stages.clone(),
            events: Arc::new(Listener::default()),
            cancel: CancellationToken::new(),
        }
    }
}
