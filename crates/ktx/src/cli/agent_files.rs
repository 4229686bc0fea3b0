//! `ktx agent init`, `list` and `validate`.

use clap::{Args, ValueEnum};

use super::OutputArgs;

/// `ktx agent init`
#[derive(Debug, Args)]
pub struct AgentInitArgs {
    /// The agent's name: letters, digits and `-`, beginning with a letter
    pub name: String,
    /// What the agent is made for
    #[arg(long, value_enum, default_value_t = AgentTemplate::Analyst, value_name = "KIND")]
    pub from: AgentTemplate,
    /// How to print
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
    /// Reports every working day what has changed
    Reporter,
}

/// `ktx agent list`
#[derive(Debug, Args)]
pub struct AgentListArgs {
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent validate`
#[derive(Debug, Args)]
pub struct AgentValidateArgs {
    /// Agent files, case files or names of agents [default: all files in `agents/`]
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Only warn about capabilities of HoloDeck that ktx agents do not have
    #[arg(long)]
    pub allow_ignored_capabilities: bool,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}
