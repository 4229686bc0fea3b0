//! `ktx agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::agent_files::{AgentInitArgs, AgentListArgs, AgentValidateArgs};
use super::{OutputArgs, SpendingArgs};

/// `ktx agent`
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// What to do with agents
    #[command(subcommand)]
    pub command: AgentCommand,
}

/// `ktx agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Ask one question; the answer comes from the wiki, the semantic sources and the warehouse
    ///
    /// The agent of `--agent`, or the built-in one, may call its own tools and nothing else. The built-in one has the
    /// tools of `agent.run_research.default_toolset` and at most `max_iterations` turns. The question, every tool call and the answer are kept in a session, which
    /// later questions continue.
    Run(AgentRunArgs),
    /// Talk with the agent: many questions, each seeing the answers before it
    ///
    /// Lines that begin with `/` are commands; `/help` lists them. Ctrl-C stops an answer, Ctrl-D leaves.
    Chat(AgentChatArgs),
    /// Create an agent file
    ///
    /// The file is `agents/NAME.yaml`, valid as it is, with the keys that are changed most often.
    #[command(alias = "new")]
    Init(AgentInitArgs),
    /// List the agent files of the project
    List(AgentListArgs),
    /// Check agent files and case files; every fault is reported with its place
    Validate(AgentValidateArgs),
    /// List, show, continue, copy, export and delete sessions
    Sessions(SessionsArgs),
    /// List the tool calls that wait for a decision
    Approvals(ApprovalsArgs),
    /// Allow or deny a tool call that waits
    Decide(DecideArgs),
}

/// Which session a question belongs to.
#[derive(Debug, Clone, Default, Args)]
pub struct SessionArgs {
    /// Continue this session; the first six letters of its id are enough
    #[arg(long, value_name = "ID", conflicts_with = "resume_newest")]
    pub session: Option<String>,
    /// Begin the session of `--session` if there is none
    #[arg(long, requires = "session")]
    pub create: bool,
    /// Continue the session that was used last
    #[arg(long = "continue")]
    pub resume_newest: bool,
    /// What happens if the agent has changed since the session began
    #[command(flatten)]
    pub change: AgentChangeArgs,
}

/// Which of two agents a session continues with.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct AgentChangeArgs {
    /// Continue with the agent as it is now
    #[arg(long, conflicts_with = "as_recorded")]
    pub adopt: bool,
    /// Continue with the agent as it was when the session began
    #[arg(long)]
    pub as_recorded: bool,
}

/// `ktx agent run`
#[derive(Debug, Args)]
pub struct AgentRunArgs {
    /// The question; `-` is standard input
    #[arg(short, long, value_name = "TEXT")]
    pub message: String,
    /// The agent: a name or a file [default: the built-in `research`]
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// The session of the question
    #[command(flatten)]
    pub session: SessionArgs,
    /// Keep no record of the question and its answer
    #[arg(long, conflicts_with_all = ["session", "resume_newest", "create"])]
    pub no_session: bool,
    /// Print every event as a line of JSON, and the result as the last one
    #[arg(long)]
    pub events: bool,
    /// The channels of the events
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "progress",
        value_name = "LIST"
    )]
    pub channels: Vec<EventChannel>,
    /// What happens to a tool call that needs approval
    #[arg(long, value_enum, default_value_t = WhenAsked::Deny, value_name = "WHAT")]
    pub on_ask: WhenAsked,
    /// What the run may use
    #[command(flatten)]
    pub spending: SpendingArgs,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent chat`
#[derive(Debug, Args)]
pub struct AgentChatArgs {
    /// The agent: a name or a file [default: the built-in `research`]
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// The session of the chat
    #[command(flatten)]
    pub session: SessionArgs,
    /// Begin with a copy of a session; `@N` after the id copies its first N turns
    #[arg(long, value_name = "ID[@N]", conflicts_with_all = ["session", "resume_newest", "create"])]
    pub fork: Option<String>,
    /// Name the session
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Speak JSON: a message, a decision or a command in each line of stdin, events in each line of stdout
    #[arg(long)]
    pub stdio: bool,
    /// What the chat may use
    #[command(flatten)]
    pub spending: SpendingArgs,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The events of a session by who needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventChannel {
    /// What people see of a turn
    Progress,
    /// What has to be decided, and what was
    Control,
    /// States, tokens, errors, audits
    Monitor,
}

/// What happens to a tool call that needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhenAsked {
    /// The call is denied, and the model learns it
    Deny,
    /// The run ends and continues after `ktx agent decide`
    Park,
    /// The run fails
    Fail,
}

/// `ktx agent sessions`
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// What to do with sessions
    #[command(subcommand)]
    pub command: SessionsCommand,
}

/// `ktx agent sessions …`
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions, the one used last first
    List(SessionListArgs),
    /// Show the conversation of a session
    Show(SessionShowArgs),
    /// Find sessions in which all these words were said
    Search(SessionSearchArgs),
    /// Print the events of a session, one JSON object a line
    Events(SessionEventsArgs),
    /// Continue a turn that was interrupted, or ask the next question
    Resume(SessionResumeArgs),
    /// Copy a session up to a point; the copy continues on its own
    Fork(SessionForkArgs),
    /// Name the last point of a session, to fork from later
    Snapshot(SessionSnapshotArgs),
    /// Give a session a name
    Rename(SessionRenameArgs),
    /// Write a session to a file or to standard output
    Export(SessionExportArgs),
    /// End the turn that another process is running
    Interrupt(SessionOneArgs),
    /// Make a new session of the part of a damaged one that can be read
    Repair(SessionOneArgs),
    /// Remove a session for good
    Delete(SessionDeleteArgs),
    /// Remove sessions that were not used for some days
    Prune(SessionPruneArgs),
}

/// A session and how to print.
#[derive(Debug, Args)]
pub struct SessionOneArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions list`
#[derive(Debug, Args)]
pub struct SessionListArgs {
    /// Only sessions in this state
    #[arg(long, value_enum, value_name = "STATE")]
    pub state: Option<SessionState>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SessionState {
    /// It waits for a question
    Ready,
    /// A process works on it
    Running,
    /// A tool call waits for a decision
    Parked,
    /// Its last turn has no answer
    Interrupted,
}

/// `ktx agent sessions show`
#[derive(Debug, Args)]
pub struct SessionShowArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// Show whole tool results
    #[arg(long)]
    pub full: bool,
    /// Only this turn
    #[arg(long, value_name = "N")]
    pub turn: Option<u32>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions search`
#[derive(Debug, Args)]
pub struct SessionSearchArgs {
    /// The words
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions events`
#[derive(Debug, Args)]
pub struct SessionEventsArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// The channels of the events
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "progress",
        value_name = "LIST"
    )]
    pub channels: Vec<EventChannel>,
    /// Only events after this cursor
    #[arg(long, value_name = "CURSOR", default_value_t = 0)]
    pub since: u64,
    /// Wait for further events until Ctrl-C
    #[arg(long)]
    pub follow: bool,
    /// Events are always JSON
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions resume`
#[derive(Debug, Args)]
pub struct SessionResumeArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// The next question; `-` is standard input
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
    /// The agent: a name or a file [default: the agent of the session]
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// What happens if the agent has changed since the session began
    #[command(flatten)]
    pub change: AgentChangeArgs,
    /// What happens to a tool call that needs approval
    #[arg(long, value_enum, default_value_t = WhenAsked::Deny, value_name = "WHAT")]
    pub on_ask: WhenAsked,
    /// What the run may use
    #[command(flatten)]
    pub spending: SpendingArgs,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions fork`
#[derive(Debug, Args)]
pub struct SessionForkArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// Where the copy ends: a cursor, `turn:N`, or the name of a point [default: the last point]
    #[arg(long, value_name = "POINT")]
    pub at: Option<String>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions snapshot`
#[derive(Debug, Args)]
pub struct SessionSnapshotArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// The name of the point
    #[arg(value_name = "LABEL")]
    pub label: String,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions rename`
#[derive(Debug, Args)]
pub struct SessionRenameArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// The new name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The form of an exported session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The conversation as Markdown
    Md,
    /// What `sessions show --full --json` prints
    Json,
    /// The log as it is
    Jsonl,
}

/// `ktx agent sessions export`
#[derive(Debug, Args)]
pub struct SessionExportArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// The form
    #[arg(long, value_enum, default_value_t = ExportFormat::Md, value_name = "FORM")]
    pub format: ExportFormat,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions delete`
#[derive(Debug, Args)]
pub struct SessionDeleteArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// Remove it; without this flag, the command only says what it would remove
    #[arg(long)]
    pub yes: bool,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions prune`
#[derive(Debug, Args)]
pub struct SessionPruneArgs {
    /// Remove sessions that were not used for this many days
    #[arg(long, value_name = "DAYS")]
    pub older: u32,
    /// Keep sessions that have a name
    #[arg(long)]
    pub keep_named: bool,
    /// Remove them; without this flag, the command only lists what it would remove
    #[arg(long)]
    pub yes: bool,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent approvals`
#[derive(Debug, Args)]
pub struct ApprovalsArgs {
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Whether a call may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ruling {
    /// It may begin
    Allow,
    /// It may not, and the model learns it
    Deny,
}

/// `ktx agent decide`
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// The call, as `ktx agent approvals` lists it
    #[arg(value_name = "CALL")]
    pub call: String,
    /// The decision
    #[arg(value_enum, value_name = "DECISION")]
    pub ruling: Ruling,
    /// The reason, which the model learns
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}
