//! `ktx scan`.

use clap::{Args, Subcommand};

use super::{LockWait, OutputArgs, QueryHistoryArgs, WaitArgs};

/// `ktx scan`
#[derive(Debug, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct ScanArgs {
    /// The connection to scan [default: every warehouse]
    pub connection_id: Option<String>,
    /// Only read the structure; do not profile columns or look for joins
    #[arg(long)]
    pub structural: bool,
    /// Write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Tell what a scan would ask of the warehouse, and read no value
    #[arg(long, conflicts_with_all = ["structural", "dry_run", "wait"])]
    pub estimate: bool,
    /// Stop after N queries of values; the next scan continues there
    #[arg(long, value_name = "N")]
    pub max_queries: Option<usize>,
    /// Stop after N minutes; the next scan continues there
    #[arg(long, value_name = "N")]
    pub max_minutes: Option<u64>,
    /// Stop before a query that would make the scan read more bytes than this: billed bytes where
    /// the warehouse tells them before, else bytes received
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u64>,
    /// What past queries tell
    #[command(flatten)]
    pub history: QueryHistoryArgs,
    /// Whether to wait for another command
    #[command(flatten)]
    pub wait: WaitArgs,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to do with the joins that were found
    #[command(subcommand)]
    pub command: Option<ScanCommand>,
}

impl ScanArgs {
    /// What the command does when another one holds the project's lock.
    pub(crate) const fn lock_wait(&self) -> LockWait {
        match &self.command {
            None if self.estimate => LockWait::NotOffered,
            None => self.wait.lock_wait(),
            Some(ScanCommand::Review(ScanReviewArgs {
                command: Some(ScanReviewCommand::Accept(args) | ScanReviewCommand::Reject(args)),
                ..
            })) => args.wait.lock_wait(),
            Some(ScanCommand::Review(_) | ScanCommand::Relationships { .. }) => {
                LockWait::NotOffered
            }
        }
    }
}

/// `ktx scan …`
#[derive(Debug, Subcommand)]
pub enum ScanCommand {
    /// Show the joins that the last scan accepted, left to a person or turned down, and why
    Relationships {
        /// The connection [default: every warehouse]
        id: Option<String>,
    },
    /// List the joins that a person should decide
    Review(ScanReviewArgs),
}

/// `ktx scan review`
#[derive(Debug, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct ScanReviewArgs {
    /// The connection [default: every warehouse]
    pub id: Option<String>,
    /// What to decide
    #[command(subcommand)]
    pub command: Option<ScanReviewCommand>,
}

/// `ktx scan review …`
#[derive(Debug, Subcommand)]
pub enum ScanReviewCommand {
    /// Say that a join holds: every later scan keeps it
    Accept(ScanDecisionArgs),
    /// Say that a join does not hold: no later scan brings it back
    Reject(ScanDecisionArgs),
}

/// `ktx scan review accept` and `reject`
#[derive(Debug, Args)]
pub struct ScanDecisionArgs {
    /// The join, as `ktx scan relationships` names it: its key or its id
    pub link: String,
    /// Why, for those who read it later
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Whether to wait for another command
    #[command(flatten)]
    pub wait: WaitArgs,
}
