//! The paths of everything in a project.

use std::path::{Path, PathBuf};

use ktx_vocabulary::{ConnectionId, WikiKey};

/// A server of a project. One of each kind runs at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalServer {
    /// Serves the layer over MCP.
    Mcp,
    /// Serves sessions of agents.
    Agents,
}

impl LocalServer {
    const fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Agents => "agents",
        }
    }

    /// The command that runs it.
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

    /// `ktx.yaml`.
    pub fn config(&self) -> PathBuf {
        self.root.join(ktx_config::FILE_NAME)
    }

    /// `semantic-layer/`.
    pub fn semantic_layer(&self) -> PathBuf {
        self.root.join("semantic-layer")
    }

    /// `semantic-layer/<connection>/`: standalone sources and overlays.
    pub fn sources(&self, connection: &ConnectionId) -> PathBuf {
        self.semantic_layer().join(connection.as_str())
    }

    /// `semantic-layer/<connection>/_schema/`: the shards of the schema manifest.
    pub fn schema_shards(&self, connection: &ConnectionId) -> PathBuf {
        self.sources(connection).join("_schema")
    }

    /// `wiki/`.
    pub fn wiki(&self) -> PathBuf {
        self.root.join("wiki")
    }

    /// `wiki/global/`.
    pub fn wiki_global(&self) -> PathBuf {
        self.wiki().join("global")
    }

    /// `wiki/user/`: one folder per user.
    pub fn wiki_users(&self) -> PathBuf {
        self.wiki().join("user")
    }

    /// `wiki/global/<key>.md`.
    pub fn wiki_page(&self, key: &WikiKey) -> PathBuf {
        self.wiki_global().join(format!("{key}.md"))
    }

    /// `raw-sources/`.
    pub fn raw_sources(&self) -> PathBuf {
        self.root.join("raw-sources")
    }

    /// `raw-sources/<connection>/<source key>/`.
    pub fn raw_source(&self, connection: &ConnectionId, source_key: &str) -> PathBuf {
        self.raw_sources()
            .join(connection.as_str())
            .join(source_key)
    }

    /// `.ktx/state/scans/<connection>/scan-report.json`: the report of the last scan on this
    /// machine.
    pub fn scan_report(&self, connection: &ConnectionId) -> PathBuf {
        let scans = self.state().join("scans").join(connection.as_str());
        scans.join("scan-report.json")
    }

    /// `.ktx/`.
    pub fn internal(&self) -> PathBuf {
        self.root.join(".ktx")
    }

    /// `.ktx/prompts/`: the user's own prompts.
    pub fn prompts(&self) -> PathBuf {
        self.internal().join("prompts")
    }

    /// `.ktx/skills/`: the user's own skills.
    pub fn skills(&self) -> PathBuf {
        self.internal().join("skills")
    }

    /// `.ktx/secrets/`: one secret per file.
    pub fn secrets(&self) -> PathBuf {
        self.internal().join("secrets")
    }

    /// `.ktx/cache/`.
    pub fn cache(&self) -> PathBuf {
        self.internal().join("cache")
    }

    /// `.ktx/logs/`.
    pub fn logs(&self) -> PathBuf {
        self.internal().join("logs")
    }

    /// `.ktx/mcp.json`, `.ktx/state/agents.json`: the state of a running server.
    pub fn server_state(&self, server: LocalServer) -> PathBuf {
        match server {
            LocalServer::Mcp => self.internal().join("mcp.json"),
            LocalServer::Agents => self.state().join("agents.json"),
        }
    }

    /// `.ktx/logs/mcp.log`, `.ktx/logs/agents.log`: the log of a server in the background.
    pub fn server_log(&self, server: LocalServer) -> PathBuf {
        self.logs().join(format!("{}.log", server.name()))
    }

    /// `.ktx/logs/calls.jsonl`: one line for each call over MCP.
    pub fn call_log(&self) -> PathBuf {
        self.logs().join("calls.jsonl")
    }

    /// `.ktx/state/mcp.token`: the token with which agents log in to the project's MCP server.
    pub fn server_token(&self) -> PathBuf {
        self.state().join("mcp.token")
    }

    /// `.ktx/state/mcp.lock`, `.ktx/state/agents.lock`: held by the only server of its kind.
    pub fn server_lock(&self, server: LocalServer) -> PathBuf {
        self.state().join(format!("{}.lock", server.name()))
    }

    /// `.ktx/setup/`: the progress of setup.
    pub fn setup(&self) -> PathBuf {
        self.internal().join("setup")
    }

    /// `.ktx/state/`: local state; the folder ignores itself in git.
    pub fn state(&self) -> PathBuf {
        self.internal().join("state")
    }

    /// `.ktx/state/transcripts/`: conversations with a model about unfinished work.
    pub fn transcripts(&self) -> PathBuf {
        self.state().join("transcripts")
    }

    /// `.ktx/state/runs/`: conversations with models in the latest runs.
    pub fn run_files(&self) -> PathBuf {
        self.state().join("runs")
    }

    /// `.ktx/state/agents/`: what agents have said and asked.
    pub fn agents(&self) -> PathBuf {
        self.state().join("agents")
    }

    /// `.ktx/state/agents/sessions/`: conversations with agents, one folder each.
    pub fn sessions(&self) -> PathBuf {
        self.state().join("agents").join("sessions")
    }

    /// `.ktx/state/agents/tests/`: runs of test cases, one folder each.
    pub fn agent_tests(&self) -> PathBuf {
        self.state().join("agents").join("tests")
    }

    /// `.ktx/state/ktx.sqlite`: the local database.
    pub fn database(&self) -> PathBuf {
        self.state().join("ktx.sqlite")
    }

    /// `.ktx/state/demo.json`: marks a folder made by `ktx demo`.
    pub fn demo_record(&self) -> PathBuf {
        self.state().join("demo.json")
    }

    /// `.ktx/state/audit.jsonl`: one line for each statement that was sent or refused.
    pub fn audit(&self) -> PathBuf {
        self.state().join("audit.jsonl")
    }

    /// `.ktx/state/lock`: held by the command that changes the project.
    pub fn lock(&self) -> PathBuf {
        self.state().join("lock")
    }

    /// `.ktx/state/tmp/`: files before they get their name.
    pub fn staging(&self) -> PathBuf {
        self.state().join("tmp")
    }

    /// `.ktx/state/sync.json`: the last and the next sync.
    pub(crate) fn sync_state(&self) -> PathBuf {
        self.state().join("sync.json")
    }

    /// `.ktx/state/sync.lock`: held by the only process that repeats syncs.
    pub(crate) fn sync_lock(&self) -> PathBuf {
        self.state().join("sync.lock")
    }

    /// `.ktx/state/publish.lock`: held while a commit is published.
    pub(crate) fn publish_lock(&self) -> PathBuf {
        self.state().join("publish.lock")
    }

    /// `.ktx/state/publish.json`: the files that a running publish updates.
    pub(crate) fn publish_record(&self) -> PathBuf {
        self.state().join("publish.json")
    }

    /// `.ktx/state/init.json`: exists while `ktx admin init` runs.
    pub(crate) fn init_record(&self) -> PathBuf {
        self.state().join("init.json")
    }
}
