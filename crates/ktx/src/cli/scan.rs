//! `ktx scan`.

use clap::{Args, Subcommand};

use super::{LockWait, OutputArgs, QueryHistoryArgs, WaitArgs};

/// `ktx scan`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Default, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct ScanArgs {
    /// The connection to scan [default: every warehouse]
    pub connection_id: Option<String>,
    /// Only read the structure; do not profile columns or look for joins
    #[arg(long)]
    pub structural: bool,
    /// Read and compare every table, including unchanged ones
    #[arg(long, conflicts_with = "structural")]
    pub full: bool,
    /// Write nothing; show what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Estimate the queries of a scan without reading data
    #[arg(long, conflicts_with_all = ["structural", "full", "dry_run", "wait"])]
    pub estimate: bool,
    /// Stop after N queries that read data; the next scan continues there
    #[arg(long, value_name = "N")]
    pub max_queries: Option<usize>,
    /// Stop after N minutes; the next scan continues there
    #[arg(long, value_name = "N")]
    pub max_minutes: Option<u64>,
    /// Stop before the query that would exceed N bytes: billed bytes if the warehouse reports them in advance,
    /// otherwise received bytes
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u64>,
    #[command(flatten)]
    pub history: QueryHistoryArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
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
    /// Show the joins that the last scan accepted, left for review or rejected, and why
    Relationships {
        /// The connection [default: every warehouse]
        id: Option<String>,
    },
    /// List the joins that need your decision
    Review(ScanReviewArgs),
}

/// `ktx scan review`
#[derive(Debug, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct ScanReviewArgs {
    /// The connection [default: every warehouse]
    pub id: Option<String>,
    #[command(subcommand)]
    pub command: Option<ScanReviewCommand>,
}

/// `ktx scan review …`
#[derive(Debug, Subcommand)]
pub enum ScanReviewCommand {
    /// Accept a join; every later scan keeps it
    Accept(ScanDecisionArgs),
    /// Reject a join; no later scan adds it again
    Reject(ScanDecisionArgs),
}

/// `ktx scan review accept` and `reject`
#[derive(Debug, Args)]
pub struct ScanDecisionArgs {
    /// The key or id of the join, as `ktx scan relationships` shows it
    pub link: String,
    /// The reason, for later readers
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    #[command(flatten)]
    pub wait: WaitArgs,
}
