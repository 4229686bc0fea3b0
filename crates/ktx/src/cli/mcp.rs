//! Arguments of `ktx mcp`.

use clap::{Args, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use super::OutputArgs;

/// `ktx mcp`
#[derive(Debug, Args)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

/// `ktx mcp …`
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Serve over stdin and stdout, for one agent
    Stdio {
        #[command(flatten)]
        offer: McpOfferArgs,
    },
    /// Serve over HTTP in the background, for many agents
    Start(McpStartArgs),
    /// Stop the server in the background
    Stop,
    /// Show whether a server runs in the background
    Status {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Print the log of the server in the background
    Logs {
        /// Follow the log until Ctrl-C
        #[arg(long)]
        follow: bool,
    },
    /// The server in the background itself
    #[command(name = "serve-internal", hide = true)]
    Inner(McpStartArgs),
}

/// Which tools a server offers
#[derive(Debug, Args)]
pub struct McpOfferArgs {
    /// The tools to offer: all of them, or the few that most questions need
    #[arg(long, value_enum, default_value_t)]
    pub tools: McpTools,
}

/// `--tools`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpTools {
    /// All tools
    #[default]
    Full,
    /// `discover_data`, `sl_query`, `sl_read_source`, `sql_execution` and `wiki_read`, listed in under 600 tokens
    Core,
}

/// `ktx mcp start`
#[derive(Debug, Args)]
pub struct McpStartArgs {
    /// The address to listen on; one that other machines can reach needs a token
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub host: String,
    /// The port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 7878)]
    pub port: u16,
    /// Also listen on a Unix socket at this path, which only your user can reach
    #[arg(long, value_name = "PATH")]
    pub socket: Option<std::path::PathBuf>,
    /// The token that agents must send: at least 16 characters, `env:NAME` or `file:PATH`. Other users of the
    /// machine can see a value here; prefer `KTX_MCP_TOKEN` [default: the project's own, created at the first
    /// start]
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Require no token: every user and every program of this machine can read what the project can read
    #[arg(long, conflicts_with = "token")]
    pub no_token: bool,
    /// Stay in the terminal until Ctrl-C
    #[arg(long)]
    pub foreground: bool,
    /// An additional host name by which agents may reach the server (can be repeated)
    #[arg(long, value_name = "HOST")]
    pub allowed_host: Vec<String>,
    /// An origin whose pages may reach the server from a browser (can be repeated)
    #[arg(long, value_name = "ORIGIN")]
    pub allowed_origin: Vec<String>,
    #[command(flatten)]
    pub offer: McpOfferArgs,
}
