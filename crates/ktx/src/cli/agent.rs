//! `ktx agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::agent_files::{AgentInitArgs, AgentListArgs, AgentValidateArgs};
use super::agent_serve::{AgentRoomArgs, AgentScheduleArgs, AgentServeArgs, AgentTickArgs};
use super::agent_test::{AgentTestArgs, CasesArgs};
use super::{OutputArgs, QuestionArgs, SpendingArgs};

/// `ktx agent`
#[derive(Debug, Args)]
pub struct AgentArgs {
    #[command(subcommand)]
    pub command: AgentCommand,
}

/// `ktx agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Ask one question; the answer comes from the wiki, the semantic sources and the warehouse
    ///
    /// The agent may call its own tools and nothing else. The built-in agent has the tools of
    /// `agent.run_research.default_toolset` and at most `max_iterations` turns. ktx keeps the question, every tool
    /// call and the answer in a session, which later questions can continue.
    Run(AgentRunArgs),
    /// Ask many questions in one session; each sees the answers before it
    ///
    /// Lines that begin with `/` are commands; `/help` lists them. Ctrl-C stops an answer, Ctrl-D leaves.
    Chat(AgentChatArgs),
    /// Ask an agent test cases, judge its answers, and report whether the context layer helps
    ///
    /// Cases come from the agent file (`test_cases`, `test_cases_file`) or from a file of their own. Each case is a
    /// separate session, which `ktx agent sessions` shows. The exit code is 0 if all cases pass, 8 if one fails,
    /// and 7 if one could not be judged.
    Test(Box<AgentTestArgs>),
    /// Propose test cases
    Cases(CasesArgs),
    /// Create an agent file
    ///
    /// The file is `agents/NAME.yaml`. It is valid and contains the keys that you are most likely to change.
    #[command(alias = "new")]
    Init(AgentInitArgs),
    /// List the agent files of the project
    List(AgentListArgs),
    /// Check agent files and case files, and report every error with its place
    Validate(AgentValidateArgs),
    /// List, show, continue, copy, export and delete sessions
    Sessions(SessionsArgs),
    /// List the tool calls that wait for a decision
    Approvals(ApprovalsArgs),
    /// Allow or deny a tool call that waits
    Decide(DecideArgs),
    /// Serve the agents to other programs over HTTP, with events as they come
    ///
    /// The server runs until Ctrl-C and asks what `schedule` in agent files says. Sessions are those of
    /// `ktx agent sessions`; a waiting one uses no memory, file or lock.
    Serve(AgentServeArgs),
    /// Let several agents answer a question, and each other
    ///
    /// `@NAME` in a message sends it to that member; a question without a name goes to all. An answer goes to those that
    /// it names, at most `--hops` times. Each member has a session of its own.
    Room(AgentRoomArgs),
    /// Ask what is due in the schedules of the agents, and end
    ///
    /// For cron, systemd and CI. Two of them at the same time ask nothing twice. Of missed questions the newest one is
    /// made up for, if `catch_up` and `within` say so.
    Tick(AgentTickArgs),
    /// Show the schedules of the agents
    Schedule(AgentScheduleArgs),
}

/// Which session a question belongs to.
#[derive(Debug, Clone, Default, Args)]
pub struct SessionArgs {
    /// Continue this session; the first six letters of its id are enough
    #[arg(long, value_name = "ID", conflicts_with = "resume_newest")]
    pub session: Option<String>,
    /// Create the session of `--session` if there is none
    #[arg(long, requires = "session")]
    pub create: bool,
    /// Continue the most recently used session
    #[arg(long = "continue")]
    pub resume_newest: bool,
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
    #[command(flatten)]
    pub question: QuestionArgs,
    /// The agent: a name or a file [default: the built-in `research`]
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub session: SessionArgs,
    /// Do not store the question and the answer
    #[arg(long, conflicts_with_all = ["session", "resume_newest", "create"])]
    pub no_session: bool,
    /// Print every event as a line of JSON, then the result
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
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent chat`
#[derive(Debug, Args)]
pub struct AgentChatArgs {
    /// The agent: a name or a file [default: the built-in `research`]
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub session: SessionArgs,
    /// Begin with a copy of a session; `@N` after the id copies its first N turns
    #[arg(long, value_name = "ID[@N]", conflicts_with_all = ["session", "resume_newest", "create"])]
    pub fork: Option<String>,
    /// Name the session
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Read JSON lines from stdin (messages, decisions, commands) and write events as JSON lines to stdout
    #[arg(long)]
    pub stdio: bool,
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The events of a session by who needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventChannel {
    /// What a user sees of a turn
    Progress,
    /// Decisions, open and made
    Control,
    /// States, tokens, errors, audits
    Monitor,
}

/// What happens to a tool call that needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhenAsked {
    /// Deny the call and tell the model
    Deny,
    /// End the run; it continues after `ktx agent decide`
    Park,
    /// Fail the run
    Fail,
}

/// `ktx agent sessions`
#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub command: SessionsCommand,
}

/// `ktx agent sessions …`
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions, most recently used first
    List(SessionListArgs),
    /// Show the conversation of a session
    Show(SessionShowArgs),
    /// Find sessions that contain all these words
    Search(SessionSearchArgs),
    /// Print the events of a session, one JSON object per line
    Events(SessionEventsArgs),
    /// Continue a turn that was interrupted, or ask the next question
    Resume(SessionResumeArgs),
    /// Copy a session up to a point
    Fork(SessionForkArgs),
    /// Name the last point of a session, to fork from it later
    Snapshot(SessionSnapshotArgs),
    /// Give a session a name
    Rename(SessionRenameArgs),
    /// Write a session to a file or to standard output
    Export(SessionExportArgs),
    /// Send a message to the turn that another process is running
    ///
    /// The model sees the message before its next step; with `claude-code`, after its answer.
    Send(SessionSendArgs),
    /// End the turn that another process is running
    Interrupt(SessionOneArgs),
    /// Create a new session from the readable part of a damaged one
    Repair(SessionOneArgs),
    /// Delete a session permanently
    Delete(SessionDeleteArgs),
    /// Delete sessions that were not used for some days
    Prune(SessionPruneArgs),
}

/// A session and how to print.
#[derive(Debug, Args)]
pub struct SessionOneArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions send`
#[derive(Debug, Args)]
pub struct SessionSendArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// The message; `-` is standard input
    #[arg(short, long, value_name = "TEXT")]
    pub message: String,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions list`
#[derive(Debug, Args)]
pub struct SessionListArgs {
    /// List only sessions in this state
    #[arg(long, value_enum, value_name = "STATE")]
    pub state: Option<SessionState>,
    /// List at most N sessions
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SessionState {
    /// Waits for a question
    Ready,
    /// A process is running it
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
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions search`
#[derive(Debug, Args)]
pub struct SessionSearchArgs {
    /// The words
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
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
    #[command(flatten)]
    pub change: AgentChangeArgs,
    /// What happens to a tool call that needs approval
    #[arg(long, value_enum, default_value_t = WhenAsked::Deny, value_name = "WHAT")]
    pub on_ask: WhenAsked,
    #[command(flatten)]
    pub spending: SpendingArgs,
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
    /// A test case with the tools that were used and the last query of each turn
    Case,
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
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent sessions delete`
#[derive(Debug, Args)]
pub struct SessionDeleteArgs {
    /// The session; the first six letters of its id are enough
    #[arg(value_name = "ID")]
    pub id: String,
    /// Remove it; without this flag, the command only prints what it would remove
    #[arg(long)]
    pub yes: bool,
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
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `ktx agent approvals`
#[derive(Debug, Args)]
pub struct ApprovalsArgs {
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Whether a call may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ruling {
    /// Run the call
    Allow,
    /// Do not run it, and tell the model
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
    /// The reason, for the model
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}
