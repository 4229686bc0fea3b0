//! A temporary project, its sources and a scripted model.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use ktx_config::{Connection, Driver, Environment};
use ktx_context_sources::{Definitions, Facts, PageQuota, Snapshot, Source, Unit};
use ktx_context_tools::{FileContext, FileContextParts, IndexPlace, NoAudit, Reader, Warehouses};
use ktx_ingest::{
    Event, FactsReport, IngestRequest, Model, RunStore, SourceReport, Start, UsableModel, ingest,
};
use ktx_llm_runtime::{NoEvents, Reply, ScriptedRuntime};
use ktx_project_store::{Failpoints, Force, History, Store, init};
use ktx_sql::Dialect;
use ktx_vocabulary::{ConnectionId, RunId};
use ktx_warehouse::{Connector, WarehouseError};
use ktx_wiki::UserId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) struct World {
    root: PathBuf,
    /// Removes the folder in the end.
    _folder: Option<tempfile::TempDir>,
    pub(crate) store: Store,
    pub(crate) concurrency: u32,
}

pub(crate) struct Ran {
    pub(crate) report: SourceReport,
    pub(crate) prompts: Vec<String>,
    pub(crate) events: Vec<Event>,
}

impl World {
    pub(crate) fn new() -> Self {
        let path = Environment::from_process()
            .get("PATH")
            .expect("a path")
            .to_owned();
        Self::with_path(|_| path)
    }

    pub(crate) fn with_path(path: impl FnOnce(&std::path::Path) -> String) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = folder.path().join("home");
        std::fs::create_dir(&home).expect("a home");
        std::fs::write(
            home.join(".gitconfig"),
            "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n",
        )
        .expect("a file");
        let environment = environment(folder.path(), path(folder.path()));
        let project = folder.path().join("shop");
        let initialized = init(
            &project,
            Force::No,
            now(),
            &environment,
            &Failpoints::none(),
        );
        Self {
            store: initialized.expect("a project").store,
            root: folder.path().to_owned(),
            _folder: Some(folder),
            concurrency: 1,
        }
    }

    /// The world of another process, which ends at the failpoint.
    pub(crate) fn again(root: &std::path::Path, path: String, failpoints: Failpoints) -> Self {
        let environment = environment(root, path);
        let store = Store::open(&root.join("shop"), environment, failpoints);
        Self {
            store: store.expect("a project"),
            root: root.to_owned(),
            _folder: None,
            concurrency: 1,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn run_store(&self) -> RunStore {
        RunStore::open(&self.store, now()).expect("a run store")
    }

    fn history(&self) -> History {
        self.store.history().expect("a history")
    }

    pub(crate) fn titles(&self) -> Vec<String> {
        let commits = self.history().commits_with("HEAD", "ktx ingest:");
        let commits = commits.expect("the log").into_iter();
        commits
            .filter_map(|commit| Some(commit.message.lines().next()?.to_owned()))
            .collect()
    }

    /// Commits the work of a person.
    pub(crate) fn commit_all(&self, title: &str) {
        let mut git = std::process::Command::new("git");
        git.current_dir(self.path("shop"))
            .env("HOME", self.path("home"))
            .args(["commit", "--quiet", "--all", "-m", title]);
        assert!(git.status().expect("git").success());
    }

    pub(crate) fn has_page(&self, key: &str) -> bool {
        self.path("shop")
            .join(format!("wiki/global/{key}.md"))
            .exists()
    }

    pub(crate) async fn run(
        &self,
        source: Source,
        answer: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static,
    ) -> Ran {
        self.run_until(source, answer, |_| false).await
    }

    /// Like [`Self::run`]; the user interrupts after the first event that satisfies `is_end`.
    pub(crate) async fn run_until(
        &self,
        source: Source,
        answer: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static,
        is_end: impl Fn(&Event) -> bool + Send + Sync + 'static,
    ) -> Ran {
        let runtime = Arc::new(ScriptedRuntime::answering(answer, Arc::new(NoEvents)));
        let cancel = CancellationToken::new();
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let (seen, interrupt) = (Arc::clone(&events), cancel.clone());
        let run_store = self.run_store();
        let request = IngestRequest {
            run_store: &run_store,
            context: Arc::new(self.context()),
            model: Model::Usable(UsableModel {
                runtime: Arc::clone(&runtime) as _,
                name: Arc::new(|_| "scripted".to_owned()),
                step_budget: 10,
                concurrency: self.concurrency,
            }),
            run_id: RunId::parse("run-1").expect("an id"),
            events: Arc::new(move |_, event| {
                if is_end(&event) {
                    interrupt.cancel();
                }
                seen.lock().expect("no poison").push(event);
            }),
            start: Start::Tried,
            cancel,
        };
        let sources = vec![(source, Ok(FactsReport::default()))];
        let reports = ingest(request, sources).await.expect("reports");
        let [report] = <[SourceReport; 1]>::try_from(reports).expect("one report");
        Ran {
            report,
            prompts: runtime.prompts(),
            events: events.lock().expect("no poison").clone(),
        }
    }

    pub(crate) fn context(&self) -> FileContext {
        FileContext::new(FileContextParts {
            root: self.path("shop"),
            user: UserId::parse("local").expect("a user"),
            reader: Reader::Agent,
            index: IndexPlace::Memory,
            vectors: None,
            warehouses: Arc::new(NoWarehouses),
            withheld: ktx_context_tools::WithheldParts::default(),
            policy: None,
            audit: Arc::new(NoAudit),
            now: std::time::SystemTime::now,
        })
    }
}

fn environment(root: &std::path::Path, path: String) -> Environment {
    Environment::from_pairs([
        ("PATH", path),
        ("HOME", root.join("home").display().to_string()),
    ])
}

struct NoWarehouses;

#[async_trait]
impl Warehouses for NoWarehouses {
    fn dialect(&self, _: Driver) -> Option<Dialect> {
        None
    }

    fn supports(&self, _: Driver) -> bool {
        false
    }

    fn open(&self, connection: &Connection) -> Result<Arc<dyn Connector>, WarehouseError> {
        unreachable!("no tool of a run opens `{}`", connection.id)
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_700_000_000).expect("a time")
}

pub(crate) fn id(text: &str) -> ConnectionId {
    ConnectionId::parse(text).expect("an id")
}

pub(crate) fn source(keys: &[&str]) -> Source {
    let file = |key: &&str| (format!("{key}.yml"), format!("What {key} means."));
    let files: BTreeMap<String, String> = keys.iter().map(file).collect();
    let units = keys.iter().map(|key| Unit {
        key: (*key).to_owned(),
        label: None,
        note: None,
        writes_sources: false,
        files: vec![format!("{key}.yml")],
        dependencies: Vec::new(),
        peers: Vec::new(),
    });
    Source {
        id: id("shop-dbt"),
        warehouse: None,
        units: units.collect(),
        snapshot: Arc::new(Snapshot {
            files,
            ..Snapshot::default()
        }),
        facts: Facts::default(),
        definitions: Definitions::default(),
        has_facts: true,
        documents: None,
        scope: None,
    }
}

pub(crate) fn documents(keys: &[&str], creates: usize) -> Source {
    Source {
        documents: Some(PageQuota {
            creates,
            updates: 10,
        }),
        has_facts: false,
        ..source(keys)
    }
}

pub(crate) fn page(key: &str) -> (String, Value) {
    let input = json!({ "key": key, "summary": key, "content": format!("About {key}.") });
    ("wiki_write".to_owned(), input)
}

pub(crate) fn calls(calls: impl IntoIterator<Item = (String, Value)>) -> Reply {
    Reply::Loop {
        calls: calls.into_iter().collect(),
        text: "Done.".to_owned(),
    }
}

pub(crate) fn a_page_each(prompt: &str) -> Option<Reply> {
    match unit_of(prompt) {
        Some(unit) => Some(calls([page(&unit)])),
        None => is_reconciliation(prompt).then(|| calls([])),
    }
}

pub(crate) fn unit_of(prompt: &str) -> Option<String> {
    let line = prompt.lines().find_map(|line| line.strip_prefix("Unit "))?;
    let (unit, _) = line.split_once(" of the source")?;
    Some(unit.to_owned())
}

pub(crate) fn is_reconciliation(prompt: &str) -> bool {
    prompt.contains("\nThe source shop-dbt was read.\n")
}
