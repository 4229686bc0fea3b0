//! Arguments of `ktx ingest`.

use std::path::PathBuf;

use clap::Args;

use super::{OutputArgs, QueryHistoryArgs, SpendingArgs, WaitArgs};

/// `ktx ingest`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Default, Args)]
pub struct IngestArgs {
    /// The connection to ingest [default: every warehouse, then every context source]
    pub connection_id: Option<String>,
    /// Ingest every connection
    #[arg(long, conflicts_with = "connection_id")]
    pub all: bool,
    /// Capture what this text teaches into the wiki and the semantic layer (can be repeated)
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["connection_id", "all"])]
    pub text: Vec<String>,
    /// Capture what this file teaches; `-` is standard input (can be repeated)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["connection_id", "all"])]
    pub file: Vec<PathBuf>,
    /// Capture what this conversation teaches: JSON lines of Claude Code, or plain text; a long one in pieces (can be
    /// repeated)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["connection_id", "all"])]
    pub transcript: Vec<PathBuf>,
    /// Show the units of context sources, their tokens, their price and what is free, and ask nothing
    #[arg(long, conflicts_with_all = ["text", "file", "transcript", "facts"])]
    pub plan: bool,
    /// Copy the facts and definitions of context sources, and ask no model
    #[arg(long, conflicts_with_all = ["text", "file", "transcript"])]
    pub facts: bool,
    /// The warehouse of the texts, files or context source [default: the only one for a source; none for texts and
    /// files, which then become pages only]
    #[arg(
        id = "note_connection",
        long = "connection-id",
        alias = "connection",
        value_name = "ID"
    )]
    pub note_connection: Option<String>,
    /// Write pages that only this user sees, to `wiki/user/<ID>/`, instead of pages of everyone
    #[arg(long, value_name = "ID", conflicts_with = "note_connection")]
    pub user: Option<String>,
    /// The author of texts and files, for the commit message
    #[arg(long, value_name = "USER", default_value = "local-cli")]
    pub user_id: String,
    /// Stop at the first text or file that fails
    #[arg(long)]
    pub fail_fast: bool,
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub history: QueryHistoryArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Print plain lines
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
    /// Answer yes to every question
    #[arg(long, conflicts_with = "no_input")]
    pub yes: bool,
    /// Never ask questions
    #[arg(long)]
    pub no_input: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}
