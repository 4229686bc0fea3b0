//! The real `claude`, from the oldest to the newest supported version, with an invented login and a
//! local fake of its API.
//!
//! These tests and the fake `claude` validate each other: the real program must not need what the
//! fake refuses, and must do what the adapter relies on.

mod children;
mod endings;
mod failures;
mod lateness;
mod surface;
mod traps;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ktx_claude_code_adapter::{ClaudeCodeRuntime, ClaudeCodeSettings, Launcher};
use ktx_llm_runtime::EventSink;
use ktx_test_support::provider_fake::{ModelAnswer, ProviderFake, log_in};
use ktx_test_support::services::{Service, ServiceName, service};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{EventLog, driver, until};

const VERSIONS: [ServiceName; 4] = [
    ServiceName::ClaudeOldest,
    ServiceName::Claude142,
    ServiceName::ClaudeNewestTested,
    ServiceName::ClaudeLatest,
];

struct RealClaude {
    folder: TempDir,
    provider: ProviderFake,
    settings: ClaudeCodeSettings,
    event_log: Arc<EventLog>,
}

impl RealClaude {
    async fn new(name: ServiceName, answers: Vec<ModelAnswer>) -> Option<Self> {
        let Service::Available(program) = service(name) else {
            return None;
        };
        let folder = tempfile::Builder::new()
            .prefix("ktx-real-")
            .tempdir()
            .expect("a folder");
        let root = folder.path().canonicalize().expect("the folder exists");
        for name in ["home", "project", "tmp"] {
            std::fs::create_dir(root.join(name)).expect("a folder");
        }
        let provider = ProviderFake::start(&root, answers)
            .await
            .expect("the provider starts");
        let mut environment = provider.environment();
        for (name, value) in [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", &*root.join("home").to_string_lossy()),
            ("TMPDIR", &*root.join("tmp").to_string_lossy()),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ] {
            environment.insert(name.to_owned(), value.to_owned());
        }
        log_in(&root.join("home")).expect("the login is written");
        let mut settings = ClaudeCodeSettings::new(root.join("project"), environment, "sonnet");
        settings.program = Some(PathBuf::from(program));
        settings.launcher = Launcher::Guarded(driver());
        settings.state_dir = Some(root.join("state"));
        Some(Self {
            folder,
            provider,
            settings,
            event_log: Arc::default(),
        })
    }

    fn runtime(&self) -> ClaudeCodeRuntime {
        let events = Arc::clone(&self.event_log) as Arc<dyn EventSink>;
        ClaudeCodeRuntime::new(self.settings.clone(), events).expect("the settings are good")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// In the environment of every process of this test.
    fn mark(&self) -> String {
        let home = self.folder.path().canonicalize().expect("it exists");
        format!("HOME={}/home", home.display())
    }

    fn survivors(&self) -> Vec<u32> {
        claude_processes(&self.mark())
    }

    async fn nothing_is_left(&self) {
        until("no process remains", || self.survivors().is_empty()).await;
    }

    async fn spare(&self) -> u32 {
        until("a spare waits", || self.survivors().len() == 1).await;
        // The answer is not observable from outside; it arrives within this time.
        tokio::time::sleep(Duration::from_secs(3)).await;
        *self.survivors().first().expect("it is still there")
    }

    /// The oldest version checks for updates despite every setting.
    fn reached_nobody_else(&self, name: ServiceName) {
        let mut refused = self.provider.refused();
        if name == ServiceName::ClaudeOldest {
            refused.retain(|host| host != "raw.githubusercontent.com:443");
        }
        assert_eq!(refused, Vec::<String>::new(), "{name:?}");
    }

    fn stored(&self, name: &str) -> Vec<PathBuf> {
        files(&self.path("home").join(name))
    }
}

fn claude_processes(mark: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("the tests run on Linux");
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let processes = entries.flatten().filter_map(number);
    processes
        .filter(|process| {
            let environment = std::fs::read(format!("/proc/{process}/environ"));
            environment.is_ok_and(|bytes| {
                bytes
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == mark.as_bytes())
            })
        })
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().collect());
    let entries: Vec<std::fs::DirEntry> = entries.unwrap_or_default();
    entries
        .into_iter()
        .map(|entry| entry.path())
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn text(text: &str) -> ModelAnswer {
    ModelAnswer::Text(text.to_owned())
}

fn tools(calls: &[(&str, Value)]) -> ModelAnswer {
    ModelAnswer::Tools(
        calls
            .iter()
            .map(|(name, input)| ((*name).to_owned(), input.clone()))
            .collect(),
    )
}

fn error(status: u16, class: &str, headers: &[(&str, &str)]) -> ModelAnswer {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ModelAnswer::Error {
        status,
        class: class.to_owned(),
        message: "BACKEND WORDS".to_owned(),
        headers: headers.collect(),
    }
}
