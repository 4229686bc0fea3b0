//! `ktx agent`.

use clap::{Args, Subcommand};

use super::{OutputArgs, SpendingArgs};

/// `ktx agent`
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// What to do with agents
    #[command(subcommand)]
    pub command: AgentCommand,
}

/// `ktx agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Ask one question; the answer comes from the wiki, the semantic sources and the warehouse
    ///
    /// The model of the role `default` may call the tools of `agent.run_research.default_toolset`, and nothing else,
    /// in at most `max_iterations` turns. All of them only read.
    Run(AgentRunArgs),
}

/// `ktx agent run`
#[derive(Debug, Args)]
pub struct AgentRunArgs {
    /// The question; `-` is standard input
    #[arg(short, long, value_name = "TEXT")]
    pub message: String,
    /// Print every event as a line of JSON, and the result as the last one
    #[arg(long)]
    pub events: bool,
    /// What the run may use
    #[command(flatten)]
    pub spending: SpendingArgs,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}
