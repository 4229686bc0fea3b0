//! `ktx llm`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ktx_vocabulary::ModelRole;

use super::{OutputArgs, SpendingArgs};

/// `ktx llm`
#[derive(Debug, Args)]
pub struct LlmArgs {
    /// What to show
    #[command(subcommand)]
    pub command: LlmCommand,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx llm …`
#[derive(Debug, Subcommand)]
pub enum LlmCommand {
    /// Ask the model of a role for a text: no tools, no project, one turn
    Ask(LlmAskArgs),
    /// List the roles with their models
    Models,
    /// Show where prices come from, or import a newer price table
    Pricing {
        /// Import this table after checking it
        #[arg(long, value_name = "FILE")]
        refresh: Option<PathBuf>,
    },
    /// Prove with one turn that the backend answers
    Probe,
}

/// `ktx llm ask`
#[derive(Debug, Args)]
pub struct LlmAskArgs {
    /// The question; `-` is standard input
    #[arg(short, long, value_name = "TEXT")]
    pub message: String,
    /// Whose model answers [default: the role `default`]
    #[arg(long, value_enum)]
    pub role: Option<AskedRole>,
    /// What the answer may use
    #[command(flatten)]
    pub spending: SpendingArgs,
}

/// The roles that something asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AskedRole {
    /// Everything without a role of its own
    Default,
    /// Which documents are worth reading
    Triage,
    /// Descriptions and candidates
    #[value(name = "candidateExtraction")]
    CandidateExtraction,
    /// What becomes of candidates
    Curator,
    /// What contradicts each other
    Reconcile,
}

impl From<AskedRole> for ModelRole {
    fn from(role: AskedRole) -> Self {
        match role {
            AskedRole::Default => Self::Default,
            AskedRole::Triage => Self::Triage,
            AskedRole::CandidateExtraction => Self::CandidateExtraction,
            AskedRole::Curator => Self::Curator,
            AskedRole::Reconcile => Self::Reconcile,
        }
    }
}
