//! Arguments of `ktx runs`.

use clap::{Args, Subcommand};

use super::{LockWait, OutputArgs, SpendingArgs, WaitArgs};

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
    /// Show what a run planned, wrote, left and paid, and what its models called
    Show {
        /// The run, or the beginning of its id [default: the last one]
        #[arg(value_name = "RUN")]
        id: Option<String>,
        /// Also print the prompts and answers of the models, without secrets
        #[arg(long)]
        transcript: bool,
    },
    /// Do again what failed or was stopped in a run, and nothing else
    Retry(RunsRetryArgs),
    /// End the run that works on the project now; it keeps what it has finished
    Cancel,
}

/// `ktx runs retry`
#[derive(Debug, Args)]
pub struct RunsRetryArgs {
    /// The run, or the beginning of its id [default: the last one]
    #[arg(value_name = "RUN")]
    pub id: Option<String>,
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
}

impl RunsArgs {
    /// What the command does when another one holds the project's lock.
    pub(crate) const fn lock_wait(&self) -> LockWait {
        match &self.command {
            Some(RunsCommand::Retry(args)) => args.wait.lock_wait(),
            _ => LockWait::NotOffered,
        }
    }
}
