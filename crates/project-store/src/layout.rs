//! The paths of everything in a project.

use std::path::{Path, PathBuf};

use ktx_vocabulary::{ConnectionId, WikiKey};

/// One of each kind runs at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalServer {
    /// Serves MCP.
    Mcp,
    /// Serves agents.
    Agents,
}

impl LocalServer {
    const fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Agents => "agents",
        }
    }

    pub const fn command(self) -> &'static str {
        match self {
            Self::Mcp => "ktx mcp",
            Self::Agents => "ktx agent serve",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn config(&self) -> PathBuf {
        self.root.join(ktx_config::FILE_NAME)
    }

    pub fn semantic_layer(&self) -> PathBuf {
        self.root.join("semantic-layer")
    }

    /// Standalone sources and overlays.
    pub fn sources(&self, connection: &ConnectionId) -> PathBuf {
        self.semantic_layer().join(connection.as_str())
    }

    pub fn schema_shards(&self, connection: &ConnectionId) -> PathBuf {
        self.sources(connection).join("_schema")
    }

    pub fn wiki(&self) -> PathBuf {
        self.root.join("wiki")
    }

    pub fn wiki_global(&self) -> PathBuf {
        self.wiki().join("global")
    }

    pub fn wiki_users(&self) -> PathBuf {
        self.wiki().join("user")
    }

    pub fn wiki_page(&self, key: &WikiKey) -> PathBuf {
        self.wiki_global().join(format!("{key}.md"))
    }

    pub fn raw_sources(&self) -> PathBuf {
        self.root.join("raw-sources")
    }

    pub fn raw_source(&self, connection: &ConnectionId, source_key: &str) -> PathBuf {
        self.raw_sources()
            .join(connection.as_str())
            .join(source_key)
    }

    pub fn scan_report(&self, connection: &ConnectionId) -> PathBuf {
        let scans = self.state().join("scans").join(connection.as_str());
        scans.join("scan-report.json")
    }

    pub fn internal(&self) -> PathBuf {
        self.root.join(".ktx")
    }

    pub fn prompts(&self) -> PathBuf {
        self.internal().join("prompts")
    }

    pub fn skills(&self) -> PathBuf {
        self.internal().join("skills")
    }

    pub fn secrets(&self) -> PathBuf {
        self.internal().join("secrets")
    }

    pub fn cache(&self) -> PathBuf {
        self.internal().join("cache")
    }

    pub fn logs(&self) -> PathBuf {
        self.internal().join("logs")
    }

    pub fn server_state(&self, server: LocalServer) -> PathBuf {
        match server {
            LocalServer::Mcp => self.internal().join("mcp.json"),
            LocalServer::Agents => self.state().join("agents.json"),
        }
    }

    pub fn server_log(&self, server: LocalServer) -> PathBuf {
        self.logs().join(format!("{}.log", server.name()))
    }

    /// One line per call over MCP.
    pub fn call_log(&self) -> PathBuf {
        self.logs().join("calls.jsonl")
    }

    pub fn server_token(&self) -> PathBuf {
        self.state().join("mcp.token")
    }

    /// Held by the only server of its kind.
    pub fn server_lock(&self, server: LocalServer) -> PathBuf {
        self.state().join(format!("{}.lock", server.name()))
    }

    pub fn setup(&self) -> PathBuf {
        self.internal().join("setup")
    }

    /// Local state; the folder ignores itself in git.
    pub fn state(&self) -> PathBuf {
        self.internal().join("state")
    }

    /// Conversations about unfinished work.
    pub fn transcripts(&self) -> PathBuf {
        self.state().join("transcripts")
    }

    /// Conversations in the latest runs.
    pub fn run_files(&self) -> PathBuf {
        self.state().join("runs")
    }

    pub fn agents(&self) -> PathBuf {
        self.state().join("agents")
    }

    pub fn sessions(&self) -> PathBuf {
        self.state().join("agents").join("sessions")
    }

    pub fn agent_tests(&self) -> PathBuf {
        self.state().join("agents").join("tests")
    }

    pub fn database(&self) -> PathBuf {
        self.state().join("ktx.sqlite")
    }

    pub fn demo_record(&self) -> PathBuf {
        self.state().join("demo.json")
    }

    pub fn audit(&self) -> PathBuf {
        self.state().join("audit.jsonl")
    }

    pub fn lock(&self) -> PathBuf {
        self.state().join("lock")
    }

    /// Files without a final name.
    pub fn staging(&self) -> PathBuf {
        self.state().join("tmp")
    }

    pub(crate) fn sync_state(&self) -> PathBuf {
        self.state().join("sync.json")
    }

    /// Held while a process repeats syncs.
    pub(crate) fn sync_lock(&self) -> PathBuf {
        self.state().join("sync.lock")
    }

    /// Held while a commit is published.
    pub(crate) fn publish_lock(&self) -> PathBuf {
        self.state().join("publish.lock")
    }

    pub(crate) fn publish_record(&self) -> PathBuf {
        self.state().join("publish.json")
    }

    /// Exists while `ktx admin init` runs.
    pub(crate) fn init_record(&self) -> PathBuf {
        self.state().join("init.json")
    }
}
