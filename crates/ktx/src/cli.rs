//! The command tree. Doc comments here are the help text and the generated reference.

mod agent;
mod agent_files;
mod agent_serve;
mod agent_test;
mod connection;
mod drift;
mod history;
mod ingest;
mod llm;
mod mcp;
mod report;
mod review;
mod runs;
mod scan;
mod semantic;
mod setup;
mod source;
mod statement;
mod sync;
mod tools;
mod usage;
mod wait;
mod why;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use agent::{
    AgentArgs, AgentChangeArgs, AgentChatArgs, AgentCommand, AgentRunArgs, ApprovalsArgs,
    DecideArgs, EventChannel, ExportFormat, Ruling, SessionArgs, SessionDeleteArgs,
    SessionEventsArgs, SessionExportArgs, SessionForkArgs, SessionListArgs, SessionOneArgs,
    SessionPruneArgs, SessionRenameArgs, SessionResumeArgs, SessionSearchArgs, SessionSendArgs,
    SessionShowArgs, SessionSnapshotArgs, SessionState, SessionsArgs, SessionsCommand, WhenAsked,
};
pub(crate) use agent_files::{AgentInitArgs, AgentListArgs, AgentTemplate, AgentValidateArgs};
pub(crate) use agent_serve::{
    AgentRoomArgs, AgentScheduleArgs, AgentServeArgs, AgentTickArgs, ScheduleCommand, ServeCommand,
};
pub(crate) use agent_test::{
    AgentTestArgs, CasesArgs, CasesCommand, CasesSuggestArgs, TestReportArgs, TestReportFormat,
    TestRunner,
};
pub(crate) use connection::{
    ConnectionAddArgs, ConnectionArgs, ConnectionCommand, ConnectionEditArgs, ConnectionSettings,
};
pub(crate) use drift::DriftArgs;
pub(crate) use history::QueryHistoryArgs;
pub(crate) use ingest::IngestArgs;
pub(crate) use llm::{LlmArgs, LlmAskArgs, LlmCommand};
pub(crate) use mcp::{McpArgs, McpCommand, McpOfferArgs, McpStartArgs, McpTools};
pub(crate) use report::ReportArgs;
pub(crate) use review::{ReviewArgs, ReviewCommand};
pub(crate) use runs::{RunsArgs, RunsCommand, RunsRetryArgs};
pub(crate) use scan::{ScanArgs, ScanCommand, ScanDecisionArgs, ScanReviewCommand};
pub(crate) use semantic::{
    DiffAlarm, GraphFormat, InterchangeFormat, QueryAcross, QueryFormat, SlArgs, SlCommand,
    SlDiffArgs, SlExportArgs, SlImportArgs, SlQueryArgs, SlSuggestArgs, SlValidateArgs,
};
pub(crate) use setup::{AgentTarget, SetupArgs};
pub(crate) use source::SetupSourceArgs;
pub(crate) use statement::as_values;
pub(crate) use sync::SyncArgs;
pub(crate) use tools::{ToolsArgs, ToolsCommand, ToolsRunArgs};
pub(crate) use usage::{UsageArgs, UsageGroup};
pub(crate) use wait::{LockWait, WaitArgs, duration_text};
pub(crate) use why::WhyArgs;

/// The context layer for data agents
///
/// ktx scans a warehouse, stores what the data means as plain files in git, and serves them to coding agents over
/// MCP and to you on the command line: search, metric queries compiled to SQL, read-only SQL.
#[derive(Debug, Parser)]
#[command(
    name = "ktx",
    bin_name = "ktx",
    version,
    disable_version_flag = true,
    arg_required_else_help = false
)]
pub struct Cli {
    /// Print the version
    #[arg(short = 'v', long = "version", action = clap::ArgAction::Version)]
    version: Option<bool>,
    #[command(flatten)]
    pub global: Global,
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
    /// Log progress to stderr
    #[arg(long, global = true, help_heading = "Global options")]
    pub debug: bool,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Human-readable, for a terminal
    Pretty,
    /// One record per line, tab-separated
    Plain,
    /// JSON on stdout, errors included
    Json,
}

/// `--output` and `--json`.
#[derive(Debug, Clone, Default, Args)]
pub struct OutputArgs {
    /// The output format [default: `KTX_OUTPUT`, else pretty on a terminal and plain otherwise]
    #[arg(long, value_enum, global = true)]
    pub output: Option<OutputFormat>,
    /// Print JSON; the same as `--output json`
    #[arg(long, global = true)]
    pub json: bool,
}

/// The question, as an argument or with `--message`.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct QuestionArgs {
    /// The question; `-` is standard input
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// The same as QUESTION
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
}

impl QuestionArgs {
    /// Returns the question as it was given.
    pub fn text(&self) -> &str {
        let given = self.question.as_deref().or(self.message.as_deref());
        given.unwrap_or_default()
    }
}

/// What a run may use of models.
#[expect(
    clippy::struct_field_names,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct SpendingArgs {
    /// Stop before the model call that would exceed this cost, at list prices
    #[arg(long, value_name = "USD")]
    pub max_usd: Option<f64>,
    /// Stop before the model call that would exceed this number of tokens
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Stop calling the model after N minutes
    #[arg(long, value_name = "N")]
    pub max_minutes: Option<u64>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build a sample project with a warehouse full of traps and answer one question twice
    Demo(DemoArgs),
    /// Configure a project step by step: model, warehouse, coding agent
    Setup(Box<SetupArgs>),
    /// Show what works in this project and what is missing
    #[command(visible_alias = "doctor")]
    Status(StatusArgs),
    /// List, show, test and change connections
    Connection(ConnectionArgs),
    /// Read the structure of a warehouse and find how its tables join; needs no model
    Scan(ScanArgs),
    /// Build context from warehouses, dbt, BI tools, documents and notes
    Ingest(IngestArgs),
    /// Scan, ingest what has changed and report, once or again and again
    Sync(SyncArgs),
    /// List, search, read, validate and query semantic sources
    Sl(SlArgs),
    /// Run one read-only SQL statement
    Sql(SqlArgs),
    /// Answer a metric query as an HTML page with a table, a chart and the joins
    Report(ReportArgs),
    /// List, search and read wiki pages
    Wiki(WikiArgs),
    /// Show where a page, a source, a measure or a column comes from
    Why(WhyArgs),
    /// Find outdated statements in sources and pages
    Drift(DriftArgs),
    /// Decide about changes of context sources that wait for a person
    Review(ReviewArgs),
    /// Ask, test and manage agents that answer from the context layer
    Agent(AgentArgs),
    /// Serve the project to agents over MCP
    Mcp(McpArgs),
    /// List, show, retry and end runs: scans, ingests, notes
    Runs(RunsArgs),
    /// List, check and call the tools that you describe in `tools/*.yaml`
    Tools(ToolsArgs),
    /// Show model usage and its cost
    Usage(UsageArgs),
    /// Show models and prices, test the backend, or ask a model
    Llm(LlmArgs),
    /// Create projects, update the search index, and print schemas
    Admin(AdminArgs),
    /// Print a shell completion script
    Completion(CompletionArgs),
    /// Print completion candidates
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    /// Write the man pages into a folder
    #[command(name = "__man", hide = true)]
    Man(ManArgs),
}

impl Command {
    /// The word that names it.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Demo(_) => "demo",
            Self::Setup(_) => "setup",
            Self::Status(_) => "status",
            Self::Connection(_) => "connection",
            Self::Scan(_) => "scan",
            Self::Ingest(_) => "ingest",
            Self::Sync(_) => "sync",
            Self::Sl(_) => "sl",
            Self::Sql(_) => "sql",
            Self::Report(_) => "report",
            Self::Wiki(_) => "wiki",
            Self::Why(_) => "why",
            Self::Runs(_) => "runs",
            Self::Drift(_) => "drift",
            Self::Review(_) => "review",
            Self::Agent(_) => "agent",
            Self::Mcp(_) => "mcp",
            Self::Tools(_) => "tools",
            Self::Usage(_) => "usage",
            Self::Llm(_) => "llm",
            Self::Admin(_) => "admin",
            Self::Completion(_) => "completion",
            Self::Complete(_) => "__complete",
            Self::Man(_) => "__man",
        }
    }

    /// Whether the command waits for the project's lock.
    pub(crate) const fn lock_wait(&self) -> LockWait {
        match self {
            Self::Scan(args) => args.lock_wait(),
            Self::Ingest(args) => args.wait.lock_wait(),
            Self::Runs(args) => args.lock_wait(),
            Self::Sync(args) => args.wait.lock_wait(),
            Self::Connection(args) => args.lock_wait(),
            Self::Sl(args) => args.lock_wait(),
            _ => LockWait::NotOffered,
        }
    }
}

/// `ktx demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The folder to create
    #[arg(long, value_name = "PATH", default_value = "ktx-demo")]
    pub dir: PathBuf,
    /// Replace the folder if it is an earlier demo
    #[arg(long)]
    pub force: bool,
    /// Also describe tables and columns with this backend's model
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<String>,
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
    /// Check only `ktx.yaml`
    #[arg(long)]
    pub validate: bool,
    /// Contact nothing outside: no model probe, no connection
    #[arg(long)]
    pub fast: bool,
    /// Never ask questions
    #[arg(long)]
    pub no_input: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx sql`
#[derive(Debug, Args)]
pub struct SqlArgs {
    /// The statement; several words are joined by spaces, and `-` reads it from stdin
    pub sql: Vec<String>,
    /// The connection [default: the only warehouse that fits]
    #[arg(short = 'c', long, alias = "connection-id", value_name = "ID")]
    pub connection: Option<String>,
    /// Fetch at most N rows, from 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_rows: u32,
    /// Stop the statement after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    /// Only report whether the statement is allowed; without one, read JSON lines from stdin
    #[arg(long)]
    pub check: bool,
    /// The SQL dialect for `--check` [default: the connection's]
    #[arg(long, value_name = "DIALECT", requires = "check")]
    pub dialect: Option<String>,
    /// The output format
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
    /// The words to search for [default: list all pages]
    pub query: Vec<String>,
    /// The user whose private pages to include
    #[arg(long, global = true, value_name = "ID", default_value = "local")]
    pub user_id: String,
    /// Show at most N results
    #[arg(long, global = true, value_name = "N")]
    pub limit: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(subcommand)]
    pub command: Option<WikiCommand>,
}

/// `ktx wiki …`
#[derive(Debug, Subcommand)]
pub enum WikiCommand {
    /// List all pages
    List,
    /// Search pages
    Search {
        /// The words to search for
        #[arg(required = true)]
        query: Vec<String>,
    },
    /// Print one page
    Read {
        /// The page's key
        key: String,
    },
}

/// Words of KTX 0.12 that are read and not used.
#[derive(Debug, Args)]
pub struct OtherWords {
    /// Whatever was given
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub words: Vec<String>,
}

/// `ktx admin`
#[derive(Debug, Args)]
pub struct AdminArgs {
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
        /// Also initialize a folder that is already a project or another repository
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Update the search index; every search does that, too
    Reindex {
        /// Rebuild the index
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Say that there is no separate runtime
    #[command(hide = true)]
    Runtime(OtherWords),
    /// Print the JSON Schema of `ktx.yaml`, of source files, of agent files, or of events
    Schema {
        /// Print the schema of the files in `semantic-layer/` instead
        #[arg(long)]
        sources: bool,
        /// Print the schema of the files in `agents/` instead
        #[arg(long, conflicts_with = "sources")]
        agent: bool,
        /// The schema of the lines of `ktx agent run --events` instead
        #[arg(long, conflicts_with_all = ["sources", "agent"])]
        events: bool,
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

/// `ktx __complete`
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The words typed so far
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// `ktx __man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// An existing folder
    pub folder: PathBuf,
}
