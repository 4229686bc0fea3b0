//! `ktx tools`.

use clap::{Args, Subcommand};

use super::OutputArgs;

/// `ktx tools`
#[derive(Debug, Args)]
pub struct ToolsArgs {
    /// What to do with the tools [default: list them]
    #[command(subcommand)]
    pub command: Option<ToolsCommand>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The commands of `ktx tools`.
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List the tools of `tools/*.yaml`
    List,
    /// Check every tool: its file, and that what it would send only reads
    Validate,
    /// Call one tool and print its answer
    Run(ToolsRunArgs),
}

/// `ktx tools run`
#[derive(Debug, Args)]
pub struct ToolsRunArgs {
    /// The tool
    pub name: String,
    /// Its arguments, each as `name=value`; a value is JSON, or else a text
    #[arg(value_name = "NAME=VALUE")]
    pub arguments: Vec<String>,
}
