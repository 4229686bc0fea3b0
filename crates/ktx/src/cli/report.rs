//! `ktx report`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;

/// `ktx report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The warehouse [default: the only one that fits]
    #[arg(long, alias = "connection", value_name = "ID")]
    pub connection_id: Option<String>,
    /// A measure, `source.measure` or an aggregate such as `sum(orders.amount)` (can be repeated)
    #[arg(long, value_name = "MEASURE", required = true)]
    pub measure: Vec<String>,
    /// A dimension, `source.column` or `source.column:month` (can be repeated)
    #[arg(long, value_name = "DIMENSION")]
    pub dimension: Vec<String>,
    /// A condition (can be repeated; all must hold)
    #[arg(long, value_name = "SQL")]
    pub filter: Vec<String>,
    /// A segment, `source.segment` (can be repeated)
    #[arg(long, value_name = "SEGMENT")]
    pub segment: Vec<String>,
    /// A field of the query to order by, `field[:asc|desc]` (can be repeated)
    #[arg(long, value_name = "FIELD")]
    pub order_by: Vec<String>,
    /// The most rows
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// The title of the page [default: the names of the columns]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub file: PathBuf,
    /// Replace the file if there is one
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}
