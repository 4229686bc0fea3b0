//! `ktx sl` and its subcommands.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{LockWait, OutputArgs, WaitArgs};

/// `ktx sl`
#[derive(Debug, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct SlArgs {
    /// The words to search for [default: list all sources]
    pub query: Vec<String>,
    /// The connection [default: the only warehouse that fits]
    #[arg(long, alias = "connection", global = true, value_name = "ID")]
    pub connection_id: Option<String>,
    /// Show at most N results; for `query`, the row limit of the query
    #[arg(long, global = true, value_name = "N")]
    pub limit: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(subcommand)]
    pub command: Option<SlCommand>,
}

impl SlArgs {
    /// What the command does when another one holds the project's lock.
    pub(crate) const fn lock_wait(&self) -> LockWait {
        match &self.command {
            Some(SlCommand::Fmt { check: false, wait }) => wait.lock_wait(),
            Some(SlCommand::Import(args)) => args.wait.lock_wait(),
            Some(SlCommand::Suggest(args)) if !args.accept.is_empty() => args.wait.lock_wait(),
            _ => LockWait::NotOffered,
        }
    }
}

/// `ktx sl …`
#[derive(Debug, Subcommand)]
pub enum SlCommand {
    /// List all sources
    List,
    /// Search sources
    Search {
        /// The words to search for
        #[arg(required = true)]
        query: Vec<String>,
    },
    /// Print one source as YAML
    Read {
        /// The source's name
        name: String,
    },
    /// Check one source, or all of them; with `--live`, against the warehouse
    Validate(SlValidateArgs),
    /// Compile a semantic query to SQL, and run it with `--execute`
    Query(SlQueryArgs),
    /// Show changes in meaning, and which numbers they can change
    Diff(SlDiffArgs),
    /// Draw how the sources join and where rows would multiply
    Graph {
        /// How to draw [default: mermaid]
        #[arg(long, value_enum)]
        format: Option<GraphFormat>,
    },
    /// Format hand-written sources
    Fmt {
        /// Write nothing; fail if a source would change
        #[arg(long, conflicts_with = "wait")]
        check: bool,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Check sources against the warehouse: grain, joins, measures against raw totals
    Test {
        /// The source's name [default: all sources]
        name: Option<String>,
    },
    /// Suggest measures and time dimensions from names, types and values, without a model
    Suggest(SlSuggestArgs),
    /// Export the sources of a connection in an open format, with a report of losses
    Export(SlExportArgs),
    /// Import sources from a file in an open format, with a report of losses
    Import(SlImportArgs),
    /// Answer conformance requests, one JSON line each, from stdin
    #[command(hide = true)]
    Conformance,
}

/// `ktx sl validate`
#[derive(Debug, Args)]
pub struct SlValidateArgs {
    /// The source's name [default: all sources]
    pub name: Option<String>,
    /// Check all sources
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    /// Also check the warehouse: tables, columns and types, keys, joins, measures
    #[arg(long)]
    pub live: bool,
    /// With `--live`: the number of rows of each source to check for repeated keys
    #[arg(long, value_name = "N", requires = "live", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub sample: u64,
    /// With `--live`: the seconds that all checks of a connection together may take
    #[arg(long, value_name = "SECONDS", requires = "live", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

/// When `sl diff --exit-code` ends with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffAlarm {
    /// If anything differs
    Any,
    /// If a difference can change numbers
    Numbers,
}

/// `ktx sl diff`
#[derive(Debug, Args)]
pub struct SlDiffArgs {
    /// The source's name [default: all sources]
    pub source: Option<String>,
    /// The revision to compare from [default: HEAD]
    #[arg(long, value_name = "REVISION")]
    pub from: Option<String>,
    /// The revision to compare to [default: the current files]
    #[arg(long, value_name = "REVISION")]
    pub to: Option<String>,
    /// Exit with 1 if there are differences: `any`, or only those that can change `numbers`
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "any")]
    pub exit_code: Option<DiffAlarm>,
}

/// Open formats that sources are written in and read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InterchangeFormat {
    /// Apache Ossie (incubating), the former Open Semantic Interchange, draft 0.2
    Osi,
}

/// `ktx sl suggest`
#[derive(Debug, Args)]
pub struct SlSuggestArgs {
    /// The sources' names [default: all sources]
    pub names: Vec<String>,
    /// Write suggestions to a new file for each source: `all`, a source, or `source.name`
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub accept: Vec<String>,
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `ktx sl export`
#[derive(Debug, Args)]
pub struct SlExportArgs {
    /// The format
    #[arg(long, value_enum, default_value_t = InterchangeFormat::Osi)]
    pub format: InterchangeFormat,
    /// Write to a file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// `ktx sl import`
#[derive(Debug, Args)]
pub struct SlImportArgs {
    /// The file to read; `-` is stdin
    pub file: PathBuf,
    /// The format
    #[arg(long, value_enum, default_value_t = InterchangeFormat::Osi)]
    pub format: InterchangeFormat,
    /// Write nothing; only report
    #[arg(long)]
    pub dry_run: bool,
    /// Replace existing sources
    #[arg(long)]
    pub replace: bool,
    /// Also write sources with validation errors
    #[arg(long)]
    pub allow_invalid: bool,
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// How `sl graph` draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// An SVG image
    Svg,
    /// Text for Mermaid
    Mermaid,
    /// Nodes, edges and warnings
    Json,
}

/// What happens to a row that belongs to several groups.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum QueryAcross {
    /// It counts once in each group; the groups can add up to more than the total
    #[value(name = "count_each")]
    CountEach,
    /// It is divided among its groups by weights
    Allocate,
}

/// How `sl query` prints its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// The whole answer with its plan
    Json,
    /// The SQL; with `--execute`, the rows as a table after it
    Sql,
    /// The rows as a table
    Table,
    /// The rows as CSV
    Csv,
}

/// `ktx sl query`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Args)]
pub struct SlQueryArgs {
    /// Read the query from a JSON file; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["measure", "dimension", "filter", "segment", "order_by"])]
    pub query_file: Option<PathBuf>,
    /// A measure, `source.measure` or an aggregate such as `sum(orders.amount)` (can be repeated)
    #[arg(long, value_name = "MEASURE")]
    pub measure: Vec<String>,
    /// A dimension, `source.column` or `source.column:month`; `… via staff` names a source on the way (can be
    /// repeated)
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
    /// Include members that have no rows
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub include_empty: Option<bool>,
    /// The output format [default: json; at a terminal the rows as a table, or the SQL without `--execute`]
    #[arg(long, value_enum)]
    pub format: Option<QueryFormat>,
    /// Add a row for every period between the bounds of the filters
    #[arg(long)]
    pub fill: bool,
    /// Add rows with totals over the last dimension, over the last two, and so on
    #[arg(long)]
    pub totals: bool,
    /// Give each value of a dimension the first `--limit` rows of its own (can be repeated)
    #[arg(long, value_name = "DIMENSION")]
    pub limit_per: Vec<String>,
    /// Add one row for all groups beyond `--limit`
    #[arg(long)]
    pub others: bool,
    /// Allow groups to which a row may belong more than once, such as the categories of a film
    #[arg(long, value_enum, value_name = "HOW")]
    pub across: Option<QueryAcross>,
    /// With `--across allocate`: the part of a row that belongs to each group, such as `film_category.share`
    #[arg(long, value_name = "SQL")]
    pub weight: Option<String>,
    /// Explain how ktx answers the query instead of answering it
    #[arg(long)]
    pub explain: bool,
    /// Run the SQL on the warehouse
    #[arg(long)]
    pub execute: bool,
    /// Fetch at most N rows, from 1 to 10000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_rows: Option<u32>,
    /// Answer yes to every question
    #[arg(long)]
    pub yes: bool,
    /// Never ask questions
    #[arg(long)]
    pub no_input: bool,
}
