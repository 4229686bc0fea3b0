//! Arguments of `ktx runs`.

use clap::{Args, Subcommand};

use super::OutputArgs;

/// Arguments of `ktx runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// What to do [default: list]
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The commands of `ktx runs`.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// List the last scans, ingests and notes with their cost
    List {
        /// Runs to list at most
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Show what a run read, wrote, left and paid
    Show {
        /// The run, or the beginning of its id [default: the last one]
        #[arg(value_name = "RUN")]
        id: Option<String>,
    },
    /// End the run that works on the project now; it keeps what it has finished
    Cancel,
}
