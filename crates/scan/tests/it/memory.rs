//! Ports in memory, and a request over them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ktx_llm_runtime::LlmRuntime;
use ktx_scan::{
    FileChange, PortError, ProjectFiles, Reuse, ScanEvent, ScanEvents, ScanMode, ScanRequest,
    ScanSettings, ScanTrigger, StageStore, Writing,
};
use ktx_vocabulary::{ConnectionId, RunId};
use ktx_warehouse::{Connector, Scope};
use tokio_util::sync::CancellationToken;

/// A project folder in memory. Refuses paths that leave it.
#[derive(Debug, Default)]
pub(crate) struct Project {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Project {
    pub(crate) fn publish(&self, changes: &[FileChange]) {
        let mut files = self.files.lock().expect("not poisoned");
        for change in changes {
            let path = change.path();
            assert!(
                !path.starts_with('/') && !path.contains("..") && !path.contains('\\'),
                "unsafe path {path}"
            );
            match change {
                FileChange::Write { path, bytes } => {
                    files.insert(path.clone(), bytes.clone());
                }
                FileChange::Delete { path } => assert!(
                    files.remove(path).is_some(),
                    "deletes {path}, which is not there"
                ),
            }
        }
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

    /// The JSON of the only file with this name in any sync folder.
    pub(crate) fn json(&self, name: &str) -> serde_json::Value {
        let paths = self.paths();
        let found: Vec<&String> = paths.iter().filter(|path| path.ends_with(name)).collect();
        assert_eq!(found.len(), 1, "one {name} among {paths:?}");
        serde_json::from_str(&self.text(found[0])).expect("JSON")
    }
}

impl ProjectFiles for Project {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, PortError> {
        Ok(self.files.lock().expect("not poisoned").get(path).cloned())
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>, PortError> {
        let folder = format!("{prefix}/");
        Ok(self
            .paths()
            .into_iter()
            .filter(|path| path.starts_with(&folder))
            .collect())
    }
}

/// Stage rows in memory.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    rows: Mutex<BTreeMap<String, String>>,
}

impl StageStore for Stages {
    fn get(&self, key: &str) -> Result<Option<String>, PortError> {
        Ok(self.rows.lock().expect("not poisoned").get(key).cloned())
    }

    fn put(&self, key: &str, value: &str) -> Result<(), PortError> {
        self.rows
            .lock()
            .expect("not poisoned")
            .insert(key.to_owned(), value.to_owned());
        Ok(())
    }
}

/// Keeps all events; may cancel after some units.
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

/// Everything a scan stands on.
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
            trigger: ScanTrigger::Cli,
            run_id: RunId::parse("run-1").expect("an id"),
            now: "2026-01-31T09:05:07Z".parse().expect("a time"),
            writing: Writing::Publish,
            reuse: Reuse::Unchanged,
            settings: ScanSettings::default(),
            runtime: self.runtime.clone(),
            model: "scripted".to_owned(),
            files: self.project.clone(),
            stages: self.stages.clone(),
            events: Arc::new(Listener::default()),
            cancel: CancellationToken::new(),
        }
    }
}
