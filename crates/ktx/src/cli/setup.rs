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
    /// Make a project in this folder when there is none
    #[arg(long)]
    pub yes: bool,
    /// Never ask questions; setup asks none
    #[arg(long)]
    pub no_input: bool,
    /// The model backend, such as `claude-code`; it is written only when it can be used
    #[arg(long, value_name = "BACKEND", conflicts_with = "skip_llm")]
    pub llm_backend: Option<String>,
    /// The model for every role that names none [default: `sonnet` with `claude-code`; others need one]
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
    /// Do without a model
    #[arg(long)]
    pub skip_llm: bool,
    /// The driver of a warehouse to add, such as `postgres`
    #[arg(long, value_name = "DRIVER", conflicts_with = "skip_databases")]
    pub database: Option<String>,
    /// The id of the new connection [default: the driver's usual one]
    #[arg(long, value_name = "ID", requires = "database")]
    pub database_connection_id: Option<String>,
    /// Its address, `env:NAME` or `file:PATH`; a file's path for SQLite and DuckDB
    #[arg(long, value_name = "REF", requires = "database")]
    pub database_url: Option<String>,
    /// A schema to use (can be repeated) [default: for PostgreSQL and Redshift all that the login can read]
    #[arg(long, value_name = "SCHEMA", requires = "database")]
    pub database_schema: Vec<String>,
    /// Do without a warehouse for now
    #[arg(long)]
    pub skip_databases: bool,
    /// Accepted for older scripts: search is full-text, there are no embeddings to set up
    #[arg(long, hide = true)]
    pub skip_embeddings: bool,
    /// Accepted for older scripts: a context source is optional
    #[arg(long, hide = true)]
    pub skip_sources: bool,
    /// What past queries tell
    #[command(flatten)]
    pub history: SetupHistoryArgs,
    /// Attach a coding agent; needs `--target`
    #[arg(long, requires = "target")]
    pub agents: bool,
    /// The coding agent
    #[arg(long, value_enum, requires = "agents")]
    pub target: Option<AgentTarget>,
    /// Attach it to the server of `ktx mcp start` instead of letting it start one of its own
    #[arg(long, requires = "agents")]
    pub http: bool,
    /// Attach it for every project of the user, not only for this one
    #[arg(long, requires = "agents", conflicts_with = "local")]
    pub global: bool,
    /// Attach it in this project only; what happens anyway
    #[arg(long, requires = "agents")]
    pub local: bool,
    /// The folder whose agent settings are changed [default: the project]
    #[arg(long, value_name = "PATH", requires = "agents", conflicts_with_all = ["global", "local"])]
    pub install_dir: Option<PathBuf>,
    /// Attach no agent
    #[arg(long, conflicts_with = "agents")]
    pub skip_agents: bool,
    /// The context source
    #[command(flatten)]
    pub source: SetupSourceArgs,
    /// How to print
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
