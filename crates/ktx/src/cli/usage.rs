//! Arguments of `ktx usage`.

use clap::{Args, ValueEnum};

use super::OutputArgs;

/// What rows of `ktx usage` stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UsageGroup {
    /// One row per run
    Run,
    /// One row per role
    Role,
    /// One row per stage
    Stage,
    /// One row per model
    Model,
    /// One row per connection
    Connection,
}

/// `ktx usage`
#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Show only this run
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Show only this session of an agent, with a row for it and for each agent that it asked
    #[arg(long, value_name = "ID", conflicts_with_all = ["run", "since", "by"])]
    pub session: Option<String>,
    /// Show only usage since a day or moment (UTC, unless it has an offset), or of the last days (`7d`)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Group by this
    #[arg(long, value_enum)]
    pub by: Option<UsageGroup>,
    #[command(flatten)]
    pub output: OutputArgs,
}
