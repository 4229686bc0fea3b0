//! `ktx llm`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ktx_vocabulary::ModelRole;

use super::{OutputArgs, QuestionArgs, SpendingArgs};

/// `ktx llm`
#[derive(Debug, Args)]
pub struct LlmArgs {
    #[command(subcommand)]
    pub command: LlmCommand,
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
    /// Test with one turn whether the backend answers
    Probe,
}

/// `ktx llm ask`
#[derive(Debug, Args)]
pub struct LlmAskArgs {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// The role whose model answers [default: `default`]
    #[arg(long, value_enum)]
    pub role: Option<AskedRole>,
    #[command(flatten)]
    pub spending: SpendingArgs,
}

/// The roles that something asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AskedRole {
    /// Everything without a role of its own
    Default,
    /// Decides which documents are worth reading
    Triage,
    /// Writes descriptions, finds candidates
    #[value(name = "candidateExtraction")]
    CandidateExtraction,
    /// Decides about candidates
    Curator,
    /// Resolves contradictions
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
