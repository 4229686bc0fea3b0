//! Arguments of `ktx setup`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::OutputArgs;
use super::history::SetupHistoryArgs;
use super::source::SetupSourceArgs;

/// `ktx setup`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Create a project in this folder if there is none
    #[arg(long)]
    pub yes: bool,
    /// Never ask questions; setup asks none
    #[arg(long)]
    pub no_input: bool,
    /// The model backend, such as `claude-code`; setup writes it only after a successful test
    #[arg(long, value_name = "BACKEND", conflicts_with = "skip_llm")]
    pub llm_backend: Option<String>,
    /// The model for every role without one of its own [default: `sonnet` with `claude-code`; other backends need
    /// one]
    #[arg(long, value_name = "ID", requires = "llm_backend")]
    pub llm_model: Option<String>,
    /// The environment variable that holds the Anthropic API key
    #[arg(long, value_name = "NAME", conflicts_with = "anthropic_api_key_file")]
    pub anthropic_api_key_env: Option<String>,
    /// The file that holds the Anthropic API key; a relative path starts at the project
    #[arg(long, value_name = "PATH")]
    pub anthropic_api_key_file: Option<String>,
    /// The Google Cloud project of Vertex AI
    #[arg(long, value_name = "PROJECT")]
    pub vertex_project: Option<String>,
    /// The region of Vertex AI
    #[arg(long, value_name = "REGION")]
    pub vertex_location: Option<String>,
    /// Skip the model
    #[arg(long)]
    pub skip_llm: bool,
    /// The driver of a warehouse to add, such as `postgres`
    #[arg(long, value_name = "DRIVER", conflicts_with = "skip_databases")]
    pub database: Option<String>,
    /// The id of the new connection [default: the driver's usual one]
    #[arg(long, value_name = "ID", requires = "database")]
    pub database_connection_id: Option<String>,
    /// The URL of the warehouse, `env:NAME` or `file:PATH`; for SQLite and DuckDB the path of the file
    #[arg(long, value_name = "REF", requires = "database")]
    pub database_url: Option<String>,
    /// A schema to use (can be repeated) [default for PostgreSQL and Redshift: all that the login can read]
    #[arg(long, value_name = "SCHEMA", requires = "database")]
    pub database_schema: Vec<String>,
    /// Skip the warehouse
    #[arg(long)]
    pub skip_databases: bool,
    /// Accepted for older scripts: search is full-text, there are no embeddings to set up
    #[arg(long, hide = true)]
    pub skip_embeddings: bool,
    /// Accepted for older scripts: a context source is optional
    #[arg(long, hide = true)]
    pub skip_sources: bool,
    #[command(flatten)]
    pub history: SetupHistoryArgs,
    /// Attach a coding agent; needs `--target`
    #[arg(long, requires = "target")]
    pub agents: bool,
    /// The coding agent
    #[arg(long, value_enum, requires = "agents")]
    pub target: Option<AgentTarget>,
    /// Attach the agent to the server of `ktx mcp start` instead of a server of its own
    #[arg(long, requires = "agents")]
    pub http: bool,
    /// Attach the agent in all your projects, not only in this one
    #[arg(long, requires = "agents", conflicts_with = "local")]
    pub global: bool,
    /// Attach the agent in this project only (the default)
    #[arg(long, requires = "agents")]
    pub local: bool,
    /// The folder with the agent settings to change [default: the project]
    #[arg(long, value_name = "PATH", requires = "agents", conflicts_with_all = ["global", "local"])]
    pub install_dir: Option<PathBuf>,
    /// Skip the agent
    #[arg(long, conflicts_with = "agents")]
    pub skip_agents: bool,
    #[command(flatten)]
    pub source: SetupSourceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A coding agent that ktx can be attached to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgentTarget {
    /// Claude Code
    #[value(name = "claude-code")]
    Claude,
    /// Claude Desktop
    #[value(name = "claude-desktop")]
    Desktop,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// `opencode`
    Opencode,
    /// Any other MCP client
    Universal,
}
