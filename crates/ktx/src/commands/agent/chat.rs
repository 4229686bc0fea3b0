//! `ktx agent chat`: many questions in one session.

mod asking;
mod commands;
mod conversation;
mod input;
mod stdio;

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use ktx_agent_session::{Agent, Channels, ForkPoint, OnAsk, Session, Sessions};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_project_store::Layout;
use ktx_session_log::Channel;
use tokio::sync::Mutex;

use self::asking::AtTerminal;
use self::conversation::Conversation;
use self::input::Input;
use super::agents::{Place, Toolbox};
use super::display::Telling;
use super::failures::session_failure;
use super::session_store::Continued;
use super::turns::{TurnRunner, delegation, lower_limits};
use super::{agents, session_store};
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
    let sessions = session_store::sessions(invocation, &project.dir);
    let place = Place {
        invocation,
        project: &project,
        printer: &printer,
    };
    let ChatSession { session, agent } = opened(args, &sessions, place)?;
    agents::use_model(&mut project, &agent);
    let limits = lower_limits(limits, &agent);
    let invocation = &invocation.ending_after(limits.time);
    let interface = Interface::detect(args);
    let input = Arc::new(Mutex::new(opened_input(interface, &project.dir)?));
    let context = CommandContext {
        invocation,
        project: &project,
        printer: &printer,
    };
    let sink = Arc::new(LedgerSink::new(invocation, &project, printer.clone()));
    let work = TurnRunner {
        tools: Arc::new(Toolbox::open(&agent, invocation, &project)?),
        agent,
        context,
        delegation: Some(delegation(context, &sessions, limits, &sink)),
        on_ask: interface.on_ask(&input, &printer),
        telling: interface.telling(),
        channels: interface.channels(),
    };
    let backend = work.backend(limits, &sink)?;
    let session = session.map(|kept| work.conversation(&backend, kept));
    let session = session.transpose()?.map(Arc::new);
    let ended = compose::block_on(|cancel| async move {
        let mut conversation = Conversation {
            work,
            sessions,
            session,
            name: args.name.clone(),
            backend,
            input,
            cancel,
            failed: None,
        };
        let ended = match interface {
            Interface::Json => stdio::speak(&mut conversation).await,
            Interface::Terminal | Interface::Pipe => conversation.talk().await,
        };
        conversation.backend.teardown().await;
        let session = conversation.session.take();
        let session = session.map(|session| Arc::clone(session.kept()));
        let id = session.as_ref().map(|session| session.id().to_string());
        let session = session.filter(|session| session.history().turn() == 0);
        let is_empty = session.is_some();
        if let Some(session) = session {
            session_store::discard(&conversation.sessions, session);
        }
        ended.map(|exit| ChatEnd {
            exit,
            session: id.filter(|_| !is_empty),
        })
    });
    sink.finish();
    let ended = ended?;
    if interface != Interface::Json {
        print_totals(invocation, &project, &printer);
        if let Some(id) = ended.session {
            printer.note(&format!("to continue: ktx agent chat --session {id}"));
        }
    }
    Ok(ended.exit)
}

struct ChatEnd {
    exit: Exit,
    session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interface {
    Terminal,
    Pipe,
    Json,
}

impl Interface {
    fn detect(args: &AgentChatArgs) -> Self {
        if args.stdio {
            Self::Json
        } else if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            Self::Terminal
        } else {
            Self::Pipe
        }
    }

    fn on_ask(self, input: &Arc<Mutex<Input>>, printer: &Printer) -> OnAsk {
        match self {
            Self::Terminal => OnAsk::Ask(Arc::new(AtTerminal::new(
                Arc::clone(input),
                printer.clone(),
            ))),
            Self::Pipe => OnAsk::Deny,
            Self::Json => OnAsk::Ask(Arc::new(stdio::ByMessage)),
        }
    }

    const fn telling(self) -> Telling {
        match self {
            Self::Terminal => Telling::Chat,
            Self::Pipe => Telling::Whole,
            Self::Json => Telling::Events,
        }
    }

    fn channels(self) -> Channels {
        match self {
            Self::Terminal | Self::Pipe => Channels::new([Channel::Progress, Channel::Monitor]),
            Self::Json => Channels::new([Channel::Progress, Channel::Control, Channel::Monitor]),
        }
    }
}

fn opened_input(interface: Interface, dir: &Path) -> Outcome<Input> {
    let input = match interface {
        Interface::Terminal => {
            let folder = Layout::new(dir).sessions();
            Input::terminal(folder.with_file_name("questions.txt"))
        }
        Interface::Pipe | Interface::Json => Input::pipe(),
    };
    input.map_err(|error| {
        Failure::from_error(Code::Internal, &error).context("stdin cannot be read")
    })
}

struct ChatSession {
    session: Option<Arc<Session>>,
    agent: Agent,
}

fn opened(args: &AgentChatArgs, sessions: &Sessions, place: Place<'_>) -> Outcome<ChatSession> {
    let named = args.agent.as_deref();
    if let Some(origin) = &args.fork {
        let session = forked(origin, sessions, place.invocation)?;
        let agent = session_store::agent_of(&session)?;
        return Ok(ChatSession {
            session: Some(session),
            agent,
        });
    }
    let Some(id) = session_store::wanted(sessions, &args.session)? else {
        let agent = agents::current(named, None, place)?;
        let session = match args.session.session {
            Some(_) => {
                let invocation = place.invocation;
                let session =
                    session_store::begin(sessions, &args.session, &agent, invocation, "")?;
                Some(session)
            }
            None => None,
        };
        return Ok(ChatSession { session, agent });
    };
    let of_session = session_store::recorded(sessions, &id)?;
    let current = agents::current(named, of_session.as_ref(), place)?;
    let agent = Continued {
        before: of_session.as_ref(),
        now: &current,
    };
    let session = session_store::resume(sessions, id, agent, args.session.change)?;
    let agent = session_store::agent_of(&session)?;
    Ok(ChatSession {
        session: Some(session),
        agent,
    })
}

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
    let parent = session_store::find(sessions, id)?;
    let id = session_store::new_id(invocation, "copy")?;
    let copy = sessions.fork(&parent, &point, &id);
    copy.map(Arc::new).map_err(session_failure)
}
