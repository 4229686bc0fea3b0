//! The command tree. Doc comments here are the help text and the generated reference.

mod agent;
mod agent_files;
mod connection;
mod history;
mod llm;
mod mcp;
mod scan;
mod semantic;
mod setup;
mod source;
mod statement;
mod wait;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use agent::{
    AgentArgs, AgentChangeArgs, AgentChatArgs, AgentCommand, AgentRunArgs, ApprovalsArgs,
    DecideArgs, EventChannel, ExportFormat, Ruling, SessionArgs, SessionDeleteArgs,
    SessionEventsArgs, SessionExportArgs, SessionForkArgs, SessionListArgs, SessionOneArgs,
    SessionPruneArgs, SessionRenameArgs, SessionResumeArgs, SessionSearchArgs, SessionShowArgs,
    SessionSnapshotArgs, SessionState, SessionsArgs, SessionsCommand, WhenAsked,
};
pub(crate) use agent_files::{AgentInitArgs, AgentListArgs, AgentTemplate, AgentValidateArgs};
pub(crate) use connection::{
    ConnectionAddArgs, ConnectionArgs, ConnectionCommand, ConnectionEditArgs, ConnectionSettings,
};
pub(crate) use history::QueryHistoryArgs;
pub(crate) use llm::{LlmArgs, LlmAskArgs, LlmCommand};
pub(crate) use mcp::{McpArgs, McpCommand, McpOfferArgs, McpStartArgs, McpTools};
pub(crate) use scan::{ScanArgs, ScanCommand, ScanDecisionArgs, ScanReviewCommand};
pub(crate) use semantic::{
    DiffAlarm, GraphFormat, InterchangeFormat, QueryAcross, QueryFormat, SlArgs, SlCommand,
    SlDiffArgs, SlExportArgs, SlImportArgs, SlQueryArgs, SlSuggestArgs, SlValidateArgs,
};
pub(crate) use setup::{AgentTarget, SetupArgs};
pub(crate) use source::SetupSourceArgs;
pub(crate) use statement::as_values;
pub(crate) use wait::{LockWait, WaitArgs, duration_text};

/// The context layer for data agents
///
/// ktx scans a warehouse, keeps what it means as plain files in git, and serves them to coding
/// agents over MCP and to people here: search, metric queries compiled to SQL, read-only SQL.
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
#[derive(Debug, Default, Args)]
pub struct OutputArgs {
    /// How to print [default: `KTX_OUTPUT`, else pretty on a terminal and plain otherwise]
    #[arg(long, value_enum, global = true)]
    pub output: Option<OutputFormat>,
    /// Print JSON; the same as `--output json`
    #[arg(long, global = true)]
    pub json: bool,
}

/// What a run may use of models.
#[expect(
    clippy::struct_field_names,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Default, Args)]
pub struct SpendingArgs {
    /// Stop before the model call that would make the run cost more than this, at list prices
    #[arg(long, value_name = "USD")]
    pub max_usd: Option<f64>,
    /// Stop before the model call that would make the run use more tokens than this
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
    /// Build context: scan databases and describe them with the configured model
    Ingest(IngestArgs),
    /// List, search, read, validate and query semantic sources
    Sl(SlArgs),
    /// Run one read-only SQL statement
    Sql(SqlArgs),
    /// List, search and read wiki pages
    Wiki(WikiArgs),
    /// Ask an agent that answers from the context layer
    Agent(AgentArgs),
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
            Self::Sl(_) => "sl",
            Self::Sql(_) => "sql",
            Self::Wiki(_) => "wiki",
            Self::Agent(_) => "agent",
            Self::Mcp(_) => "mcp",
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
            Self::Connection(args) => args.lock_wait(),
            Self::Sl(args) => args.lock_wait(),
            _ => LockWait::NotOffered,
        }
    }
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
    /// Copy what the metadata of context sources says and defines, and ask no model
    #[arg(long, conflicts_with_all = ["text", "file"])]
    pub facts: bool,
    /// The warehouse that texts, files or the context source are about [default: none for texts and files, which
    /// only become pages then; the only one for a source]
    #[arg(
        id = "note_connection",
        long = "connection-id",
        alias = "connection",
        value_name = "ID"
    )]
    pub note_connection: Option<String>,
    /// Who hands texts and files in, for the commit message
    #[arg(long, value_name = "USER", default_value = "local-cli")]
    pub user_id: String,
    /// Stop at the first text or file that fails
    #[arg(long)]
    pub fail_fast: bool,
    /// What the run may use
    #[command(flatten)]
    pub spending: SpendingArgs,
    /// What past queries tell
    #[command(flatten)]
    pub history: QueryHistoryArgs,
    /// Whether to wait for another command
    #[command(flatten)]
    pub wait: WaitArgs,
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

/// `ktx sql`
#[derive(Debug, Args)]
pub struct SqlArgs {
    /// The statement; several words are joined by spaces, and `-` reads it from stdin
    pub sql: Vec<String>,
    /// The connection [default: the only warehouse that fits]
    #[arg(short = 'c', long, alias = "connection-id", value_name = "ID")]
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
    /// List all pages
    List,
    /// Search pages
    Search {
        /// Words to search for
        #[arg(required = true)]
        query: Vec<String>,
    },
    /// Print one page
    Read {
        /// The page's key
        key: String,
    },
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
    /// Only from this day or moment on (UTC, unless it has an offset), or the last days (`7d`)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// What the rows stand for
    #[arg(long, value_enum)]
    pub by: Option<UsageGroup>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
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
    /// Bring the search index up to date; searches do that too
    Reindex {
        /// Rebuild the index
        #[arg(long)]
        force: bool,
        /// How to print
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Say that there is no separate runtime
    #[command(hide = true)]
    Runtime(OtherWords),
    /// Print the JSON Schema of `ktx.yaml`, of source files, or of agent files
    Schema {
        /// The schema of the files in `semantic-layer/` instead
        #[arg(long)]
        sources: bool,
        /// The schema of the files in `agents/` instead
        #[arg(long, conflicts_with = "sources")]
        agent: bool,
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
    /// A folder that exists
    pub folder: PathBuf,
}
