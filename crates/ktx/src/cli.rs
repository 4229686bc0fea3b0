//! The command tree. Doc comments here are the help text and the generated reference.

mod connection;
mod scan;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use connection::{ConnectionAddArgs, ConnectionArgs, ConnectionCommand};
pub(crate) use scan::{ScanArgs, ScanCommand, ScanDecisionArgs, ScanReviewCommand};

/// The context layer for data agents
///
/// ktx scans a warehouse, keeps what it means as plain files in git, and serves them to coding
/// agents over MCP and to people here: search, metric queries compiled to SQL, read-only SQL.
#[derive(Debug, Parser)]
#[command(
    name = "ktx",
    version,
    disable_version_flag = true,
    arg_required_else_help = false
)]
pub struct Cli {
    /// Print the version
    #[arg(short = 'v', long = "version", action = clap::ArgAction::Version)]
    version: Option<bool>,
    /// Options of every command
    #[command(flatten)]
    pub global: Global,
    /// What to do
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options that every command takes, before or after its name.
#[derive(Debug, Args)]
pub struct Global {
    /// The project folder [default: `KTX_PROJECT_DIR`, else the nearest parent with `ktx.yaml`]
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        help_heading = "Global options"
    )]
    pub project_dir: Option<PathBuf>,
    /// Print what is done on stderr
    #[arg(long, global = true, help_heading = "Global options")]
    pub debug: bool,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people at a terminal
    Pretty,
    /// One record a line, tab-separated
    Plain,
    /// JSON on stdout, errors included
    Json,
}

/// `--output` and `--json`.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// How to print [default: `KTX_OUTPUT`, else pretty on a terminal and plain otherwise]
    #[arg(long, value_enum, global = true)]
    pub output: Option<OutputFormat>,
    /// Print JSON; the same as `--output json`
    #[arg(long, global = true)]
    pub json: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build a sample project with a warehouse full of traps and answer one question twice
    Demo(DemoArgs),
    /// Show what works in this project and what is missing
    Status(StatusArgs),
    /// List, show, test and change connections
    Connection(ConnectionArgs),
    /// Read the structure of a warehouse and find how its tables join; needs no model
    Scan(ScanArgs),
    /// Build context: scan databases and describe them with the configured model
    Ingest(IngestArgs),
    /// List, search, read, validate and query semantic sources
    Sl(SlArgs),
    /// Run one read-only SQL statement
    Sql(SqlArgs),
    /// List, search and read wiki pages
    Wiki(WikiArgs),
    /// Serve the project to agents over MCP
    Mcp(McpArgs),
    /// Show what models were used for and what it cost
    Usage(UsageArgs),
    /// Show the models of the project and their prices, or ask the backend
    Llm(LlmArgs),
    /// Create projects and print schemas
    Admin(AdminArgs),
    /// Print a shell completion script
    Completion(CompletionArgs),
    /// Start a program that ends with its parent
    #[command(name = "internal-exec", hide = true)]
    InternalExec(InternalExecArgs),
    /// Print completion candidates
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
}

/// `ktx demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The folder to make
    #[arg(long, value_name = "PATH", default_value = "ktx-demo")]
    pub dir: PathBuf,
    /// Replace the folder when it is an earlier demo
    #[arg(long)]
    pub force: bool,
    /// Also describe tables and columns with this backend's model
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<String>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx status`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Also show settings that are usually not needed
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// Only check `ktx.yaml`
    #[arg(long)]
    pub validate: bool,
    /// Ask nothing outside: no model probe, no connection
    #[arg(long)]
    pub fast: bool,
    /// Never ask questions
    #[arg(long)]
    pub no_input: bool,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx ingest`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// The connection to ingest [default: every warehouse]
    pub connection_id: Option<String>,
    /// Ingest every connection
    #[arg(long, conflicts_with = "connection_id")]
    pub all: bool,
    /// Stop before the model call that would make the run cost more than this, at list prices
    #[arg(long, value_name = "USD")]
    pub max_usd: Option<f64>,
    /// Stop before the model call that would make the run use more tokens than this
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Make no model call after so many minutes
    #[arg(long, value_name = "N")]
    pub max_minutes: Option<u64>,
    /// Print plain lines
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
    /// Agree to what would be asked
    #[arg(long, conflicts_with = "no_input")]
    pub yes: bool,
    /// Never ask questions
    #[arg(long)]
    pub no_input: bool,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx sl`
#[derive(Debug, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct SlArgs {
    /// Words to search for; without words all sources are listed
    pub query: Vec<String>,
    /// The connection [default: the only warehouse]
    #[arg(long, global = true, value_name = "ID")]
    pub connection_id: Option<String>,
    /// Show at most this many; for `query`, the row limit of the query
    #[arg(long, global = true, value_name = "N")]
    pub limit: Option<u64>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to do with sources
    #[command(subcommand)]
    pub command: Option<SlCommand>,
}

/// `ktx sl …`
#[derive(Debug, Subcommand)]
pub enum SlCommand {
    /// Print one source as YAML
    Read {
        /// The source's name
        name: String,
    },
    /// Check one source, or all of them
    Validate {
        /// The source's name [default: all sources]
        name: Option<String>,
        /// Check all sources
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Compile a semantic query to SQL, and run it with `--execute`
    Query(SlQueryArgs),
    /// Draw how the sources join, with the places where rows would multiply
    Graph {
        /// How to draw [default: mermaid]
        #[arg(long, value_enum)]
        format: Option<GraphFormat>,
    },
    /// Bring hand-written sources into the canonical layout
    Fmt {
        /// Write nothing; fail when a source would change
        #[arg(long)]
        check: bool,
    },
    /// Check sources against the warehouse: grain, joins, measures against raw totals
    Test {
        /// The source's name [default: all sources]
        name: Option<String>,
    },
    /// Answer conformance requests, one JSON line each, from stdin
    #[command(hide = true)]
    Conformance,
}

/// How `sl graph` draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// A picture
    Svg,
    /// Text for Mermaid
    Mermaid,
    /// Nodes, edges and warnings
    Json,
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
    /// Whether members without facts are shown
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub include_empty: Option<bool>,
    /// How to print the answer [default: json]
    #[arg(long, value_enum)]
    pub format: Option<QueryFormat>,
    /// Show how the query is answered instead of the answer
    #[arg(long)]
    pub explain: bool,
    /// Run the SQL on the warehouse
    #[arg(long)]
    pub execute: bool,
    /// Rows to fetch at most, from 1 to 10000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_rows: Option<u32>,
    /// Agree to what would be asked
    #[arg(long)]
    pub yes: bool,
    /// Never ask questions
    #[arg(long)]
    pub no_input: bool,
}

/// `ktx sql`
#[derive(Debug, Args)]
pub struct SqlArgs {
    /// The statement; several words are joined by spaces
    pub sql: Vec<String>,
    /// The connection [default: the only warehouse]
    #[arg(short = 'c', long, value_name = "ID")]
    pub connection: Option<String>,
    /// Rows to fetch at most, from 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_rows: u32,
    /// Seconds that the statement may run
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    /// Only say whether the statement is allowed; reads JSON lines from stdin without a statement
    #[arg(long)]
    pub check: bool,
    /// The dialect that `--check` judges by [default: the connection's]
    #[arg(long, value_name = "DIALECT", requires = "check")]
    pub dialect: Option<String>,
    /// How to print
    #[arg(long, value_enum)]
    pub output: Option<SqlFormat>,
    /// Print JSON; the same as `--output json`
    #[arg(long)]
    pub json: bool,
}

/// How `sql` prints rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SqlFormat {
    /// An aligned table
    Pretty,
    /// Tab-separated with a header
    Plain,
    /// JSON on stdout, errors included
    Json,
    /// The same as pretty
    Table,
    /// Comma-separated with a header
    Csv,
    /// The same as plain
    Tsv,
}

/// `ktx wiki`
#[derive(Debug, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct WikiArgs {
    /// Words to search for; without words all pages are listed
    pub query: Vec<String>,
    /// Whose private pages are included
    #[arg(long, global = true, value_name = "ID", default_value = "local")]
    pub user_id: String,
    /// Show at most this many
    #[arg(long, global = true, value_name = "N")]
    pub limit: Option<u64>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to do with pages
    #[command(subcommand)]
    pub command: Option<WikiCommand>,
}

/// `ktx wiki …`
#[derive(Debug, Subcommand)]
pub enum WikiCommand {
    /// Print one page
    Read {
        /// The page's key
        key: String,
    },
}

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

/// What rows of `ktx usage` stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UsageGroup {
    /// A row per run
    Run,
    /// A row per role
    Role,
    /// A row per stage
    Stage,
    /// A row per model
    Model,
    /// A row per connection
    Connection,
}

/// `ktx usage`
#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Only this run
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Only from this date on, or the last days (`7d`)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// What the rows stand for
    #[arg(long, value_enum)]
    pub by: Option<UsageGroup>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx mcp`
#[derive(Debug, Args)]
pub struct McpArgs {
    /// How to serve
    #[command(subcommand)]
    pub command: McpCommand,
}

/// `ktx mcp …`
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Serve over stdin and stdout, for one agent
    Stdio,
}

/// `ktx admin`
#[derive(Debug, Args)]
pub struct AdminArgs {
    /// What to do
    #[command(subcommand)]
    pub command: AdminCommand,
}

/// `ktx admin …`
#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// Create a project
    Init {
        /// The project folder [default: the current folder]
        dir: Option<PathBuf>,
        /// Also initialise a folder that is a project already, or another repository
        #[arg(long)]
        force: bool,
        /// How to print
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Print the JSON Schema of `ktx.yaml`
    Schema {
        /// Write to a file instead of stdout
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// `ktx completion`
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `ktx internal-exec`
#[derive(Debug, Args)]
pub struct InternalExecArgs {
    /// The parent's process id, the program, and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub words: Vec<std::ffi::OsString>,
}

/// `ktx __complete`
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The words typed so far
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}
