//! `ktx agent chat`: many questions in one session.

mod asking;
mod commands;
mod conversation;
mod input;
mod stdio;

use std::io::IsTerminal as _;
use std::sync::Arc;

use ktx_agent_session::{Agent, Channels, ForkPoint, OnAsk, Session, Sessions};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_session_log::Channel;
use tokio::sync::Mutex;

use self::asking::AtTerminal;
use self::conversation::Conversation;
use self::input::Input;
use super::agents::Place;
use super::display::Telling;
use super::failures::session_failure;
use super::turns::{Work, lower_limits};
use super::{agents, vault};
use crate::cli::AgentChatArgs;
use crate::compose::{self, LedgerSink};
use crate::invocation::{CommandContext, Invocation};
use crate::opening::open_project;
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};
use crate::totals::print_totals;

pub(super) fn run(args: &AgentChatArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let limits = compose::limits_of(&args.spending)?;
    let invocation = &invocation.ending_after(limits.time);
    let mut project = open_project(invocation, &printer)?;
    let sessions = vault::sessions(invocation, &project.dir);
    let place = Place {
        invocation,
        project: &project,
        printer: &printer,
    };
    let Opened { session, agent } = opened(args, &sessions, place)?;
    agents::use_model(&mut project, &agent);
    let limits = lower_limits(limits, &agent);
    let invocation = &invocation.ending_after(limits.time);
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let input = Arc::new(Mutex::new(opened_input(
        is_terminal && !args.stdio,
        &project.dir,
    )?));
    let way = Way::of(args, is_terminal);
    let work = Work {
        tools: agents::tools(&agent, invocation, &project)?,
        agent,
        context: CommandContext {
            invocation,
            project: &project,
            printer: &printer,
        },
        on_ask: way.on_ask(&input, &printer),
        telling: way.telling(),
        channels: way.channels(),
    };
    let sink = Arc::new(LedgerSink::new(invocation, &project, printer.clone()));
    let runtime = work.model(limits, &sink)?;
    let ended = compose::block_on(|cancel| async move {
        let mut conversation = Conversation {
            work,
            sessions,
            session,
            name: args.name.clone(),
            runtime,
            input,
            cancel,
            failed: None,
        };
        let ended = match way {
            Way::Programs => stdio::speak(&mut conversation).await,
            Way::Terminal | Way::Pipe => conversation.talk().await,
        };
        conversation.runtime.settle().await;
        ended.map(|exit| Ended {
            exit,
            session: conversation.session.map(|session| session.id().to_string()),
        })
    });
    sink.finish();
    let ended = ended?;
    if way != Way::Programs {
        print_totals(invocation, &project, &printer);
        if let Some(id) = ended.session {
            printer.note(&format!("to continue: ktx agent chat --session {id}"));
        }
    }
    Ok(ended.exit)
}

struct Ended {
    exit: Exit,
    session: Option<String>,
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A person.
    Terminal,
    /// One question a line.
    Pipe,
    /// A program that speaks JSON.
    Programs,
}

impl Way {
    const fn of(args: &AgentChatArgs, is_terminal: bool) -> Self {
        match (args.stdio, is_terminal) {
            (true, _) => Self::Programs,
            (false, true) => Self::Terminal,
            (false, false) => Self::Pipe,
        }
    }

    fn on_ask(self, input: &Arc<Mutex<Input>>, printer: &Printer) -> OnAsk {
        match self {
            Self::Terminal => OnAsk::Ask(Arc::new(AtTerminal::new(
                Arc::clone(input),
                printer.clone(),
            ))),
            Self::Pipe => OnAsk::Deny,
            Self::Programs => OnAsk::Ask(Arc::new(stdio::ByMessage)),
        }
    }

    const fn telling(self) -> Telling {
        match self {
            Self::Terminal => Telling::Chat,
            Self::Pipe => Telling::Whole,
            Self::Programs => Telling::Events,
        }
    }

    fn channels(self) -> Channels {
        match self {
            Self::Terminal | Self::Pipe => Channels::new([Channel::Progress, Channel::Monitor]),
            Self::Programs => {
                Channels::new([Channel::Progress, Channel::Control, Channel::Monitor])
            }
        }
    }
}

fn opened_input(is_terminal: bool, dir: &std::path::Path) -> Outcome<Input> {
    let input = if is_terminal {
        let history = ktx_project_store::Layout::new(dir).sessions();
        Input::terminal(history.with_file_name("questions.txt"))
    } else {
        Input::pipe()
    };
    input.map_err(|error| {
        Failure::from_error(Code::Internal, &error).context("stdin cannot be read")
    })
}

/// The session of a chat, unless a new one begins with its first question, and who answers.
struct Opened {
    session: Option<Arc<Session>>,
    agent: Agent,
}

fn opened(args: &AgentChatArgs, sessions: &Sessions, place: Place<'_>) -> Outcome<Opened> {
    let named = args.agent.as_deref();
    if let Some(origin) = &args.fork {
        let session = forked(origin, sessions, place.invocation)?;
        let agent = vault::agent_of(&session)?;
        return Ok(Opened {
            session: Some(session),
            agent,
        });
    }
    let Some(id) = vault::wanted(sessions, &args.session)? else {
        let agent = agents::current(named, None, place)?;
        let session = match args.session.session {
            Some(_) => {
                let invocation = place.invocation;
                let session = vault::begin(sessions, &args.session, &agent, invocation, "")?;
                Some(session)
            }
            None => None,
        };
        return Ok(Opened { session, agent });
    };
    let of_session = vault::recorded(sessions, &id)?;
    let current = agents::current(named, of_session.as_ref(), place)?;
    let session = vault::resume(sessions, id, &current, args.session.change)?;
    let agent = vault::agent_of(&session)?;
    Ok(Opened {
        session: Some(session),
        agent,
    })
}

/// Copies the session that `--fork` names.
fn forked(origin: &str, sessions: &Sessions, invocation: &Invocation) -> Outcome<Arc<Session>> {
    let (id, turn) = match origin.rsplit_once('@') {
        Some((id, turn)) => (id, Some(turn)),
        None => (origin, None),
    };
    let point = match turn.map(str::parse) {
        None => ForkPoint::Last,
        Some(Ok(turn)) => ForkPoint::Turn(turn),
        Some(Err(_)) => {
            return Err(Failure::new(
                Code::Usage,
                format!("`{origin}` names no turn: write a number behind `@`"),
            ));
        }
    };
    let parent = vault::find(sessions, id)?;
    let id = vault::new_id(invocation, "copy")?;
    let copy = sessions.fork(&parent, &point, &id);
    copy.map(Arc::new).map_err(session_failure)
}
