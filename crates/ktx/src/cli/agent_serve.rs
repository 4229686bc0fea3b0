//! Arguments of `ktx agent serve`, `room`, `tick` and `schedule`.

use clap::{Args, Subcommand};

use super::agent::{EventChannel, WhenAsked};
use super::{OutputArgs, SpendingArgs};

/// `ktx agent serve`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AgentServeArgs {
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
    /// Serve in the background, and return as soon as it listens
    #[arg(long)]
    pub background: bool,
    /// Be the server in the background
    #[arg(long, hide = true, conflicts_with = "background")]
    pub detached: bool,
    /// Listen on this address; one that other machines can reach needs a token
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub host: String,
    /// Listen on this port; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 7879)]
    pub port: u16,
    /// Require this token: at least 16 characters, `env:NAME` or `file:PATH`. Others can see it here; `KTX_MCP_TOKEN` is
    /// better [default: the project's own, made at the first start]
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Require no token: every user and every program of this machine can use the agents
    #[arg(long, conflicts_with = "token")]
    pub no_token: bool,
    /// Answer requests for this host, too (can be repeated)
    #[arg(long, value_name = "HOST")]
    pub allowed_host: Vec<String>,
    /// Answer pages of this origin in a browser (can be repeated)
    #[arg(long, value_name = "ORIGIN")]
    pub allowed_origin: Vec<String>,
    /// Take at most this many sessions
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub max_agents: usize,
    /// Run at most this many turns at the same time [default: 4, with `claude-code` 1]
    #[arg(long, value_name = "N")]
    pub max_running: Option<usize>,
    /// Ignore the schedules of the agents
    #[arg(long)]
    pub no_schedule: bool,
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The server of the agents as it runs
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Show whether a server runs
    Status {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// End the server: its turns may take 30 seconds more
    Stop,
}

/// `ktx agent room`
#[derive(Debug, Args)]
pub struct AgentRoomArgs {
    /// Ask this question; `-` reads stdin
    #[arg(short, long, value_name = "TEXT")]
    pub message: String,
    /// Let this agent, a name or a file, take part under a name (can be repeated)
    #[arg(long, value_name = "NAME=AGENT", required = true)]
    pub member: Vec<String>,
    /// Pass a message on at most this often
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub hops: u32,
    /// Continue in this room, or begin one of this name
    #[arg(long, value_name = "ID")]
    pub room: Option<String>,
    /// Print the events of these channels with `--json`
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "progress",
        value_name = "LIST"
    )]
    pub channels: Vec<EventChannel>,
    /// Do this with a tool call that needs approval
    #[arg(long, value_enum, default_value_t = WhenAsked::Deny, value_name = "WHAT")]
    pub on_ask: WhenAsked,
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent tick`
#[derive(Debug, Args)]
pub struct AgentTickArgs {
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent schedule`
#[derive(Debug, Args)]
pub struct AgentScheduleArgs {
    #[command(subcommand)]
    pub command: ScheduleCommand,
}

/// `ktx agent schedule …`
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// List the questions with their times and last sessions
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
}
