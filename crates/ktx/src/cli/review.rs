//! Arguments of `ktx review`.

use clap::{Args, Subcommand};

use super::OutputArgs;

/// Arguments of `ktx review`.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// What to do [default: list]
    #[command(subcommand)]
    pub command: Option<ReviewCommand>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx review …`
#[derive(Debug, Subcommand)]
pub enum ReviewCommand {
    /// List the changes that wait
    List,
    /// Show why a change waits, what it is built on, its difference, and both numbers of its measures
    Show(ReviewIdArgs),
    /// Commit a change in your name
    Accept(ReviewIdArgs),
    /// Drop a change for good
    Reject(ReviewIdArgs),
    /// Put a change into the files for you to edit and commit
    Edit(ReviewIdArgs),
}

/// `ktx review show`, `accept`, `reject` and `edit`
#[derive(Debug, Args)]
pub struct ReviewIdArgs {
    /// The id, as `ktx review list` shows it, or its beginning
    pub id: String,
}
