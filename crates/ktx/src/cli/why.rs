//! Arguments of `ktx why`.

use clap::Args;

use super::OutputArgs;

/// Arguments of `ktx why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The key of a page, the name of a source, or SOURCE.NAME of a measure, a segment, a column or a join
    #[arg(value_name = "NAME")]
    pub subject: String,
    /// Only sources of this warehouse
    #[arg(long, value_name = "ID")]
    pub connection_id: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}
