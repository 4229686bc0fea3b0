//! `ktx agent init`, `list` and `validate`.

use clap::{Args, ValueEnum};

use super::OutputArgs;

/// `ktx agent init`
#[derive(Debug, Args)]
pub struct AgentInitArgs {
    /// The agent's name: letters, digits and `-`, beginning with a letter
    pub name: String,
    /// The purpose of the agent
    #[arg(long, value_enum, default_value_t = AgentTemplate::Analyst, value_name = "KIND")]
    pub from: AgentTemplate,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `ktx agent init` begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgentTemplate {
    /// Answers questions; asks before it writes
    Analyst,
    /// Checks sources and wiki pages; reads only
    Reviewer,
    /// Reports changes every working day
    Reporter,
}

/// `ktx agent list`
#[derive(Debug, Args)]
pub struct AgentListArgs {
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent validate`
#[derive(Debug, Args)]
pub struct AgentValidateArgs {
    /// Agent files, case files or names of agents [default: all files in `agents/`]
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Warn about HoloDeck capabilities that ktx agents do not have, instead of reporting errors
    #[arg(long)]
    pub allow_ignored_capabilities: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}
