//! `ktx agent run`: one question.

use std::sync::Arc;

use ktx_agent_session::{Agent, ExecutionResult, Session, Sessions, TurnStart};
use ktx_diagnostics::{Exit, Failure};
use ktx_project_store::Layout;
use ktx_session_log::{SessionId, SessionStore};
use ktx_usage_ledger::Limits;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::future::FutureExt as _;

use super::agents::{Place, Toolbox};
use super::display::{Telling, heard};
use super::session_store::Continued;
use super::turns::{TurnRunner, delegation, lower_limits};
use super::{agents, session_store};
use crate::cli::{
    AgentRunArgs, EventChannel, OutputArgs, SessionResumeArgs, SpendingArgs, WhenAsked,
};
use crate::compose::{self, LedgerSink};
use crate::input::read_message;
use crate::invocation::{CommandContext, Invocation, OpenProject};
use crate::opening::open_project;
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};
use crate::totals::print_totals;

#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    result: &'a ExecutionResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a SessionId>,
    turn: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    Kept,
    Dropped,
}

struct TurnFlags<'a> {
    spending: &'a SpendingArgs,
    output: &'a OutputArgs,
    on_ask: WhenAsked,
    events: Option<&'a [EventChannel]>,
}

pub(super) fn run(args: &AgentRunArgs, invocation: &Invocation) -> Outcome {
    let flags = TurnFlags {
        spending: &args.spending,
        output: &args.output,
        on_ask: args.on_ask,
        events: args.events.then_some(&args.channels),
    };
    flags.reported(invocation, |started| {
        let message = read_message(args.question.text())?;
        let mut project = started.open_project()?;
        let (sessions, keeping) = if args.no_session {
            let once = Layout::new(&project.dir).sessions().with_file_name("once");
            let sessions = session_store::sessions_in(started.invocation, SessionStore::new(once));
            (sessions, Keeping::Dropped)
        } else {
            let sessions = session_store::sessions(started.invocation, &project.dir);
            (sessions, Keeping::Kept)
        };
        let id = session_store::wanted(&sessions, &args.session)?;
        let of_session = id.as_ref().map(|id| session_store::recorded(&sessions, id));
        let of_session = of_session.transpose()?.flatten();
        let place = started.place(&project);
        let current = agents::current(args.agent.as_deref(), of_session.as_ref(), place)?;
        let session = if let Some(id) = id {
            let agent = Continued {
                before: of_session.as_ref(),
                now: &current,
            };
            session_store::resume(&sessions, id, agent, args.session.change)?
        } else {
            let topic = if args.no_session { "" } else { &message };
            session_store::begin(&sessions, &args.session, &current, invocation, topic)?
        };
        let agent = session_store::agent_of(&session)?;
        agents::use_model(&mut project, &agent);
        let question = TurnStart::from(message.as_str());
        let question = Opening {
            sessions: &sessions,
            session: &session,
            keeping,
            start: question,
        };
        let outcome = started.answer(&project, agent, &question);
        if keeping == Keeping::Dropped || session.history().turn() == 0 {
            session_store::discard(&sessions, session);
        }
        outcome
    })
}

pub(super) fn resume(args: &SessionResumeArgs, invocation: &Invocation) -> Outcome {
    let flags = TurnFlags {
        spending: &args.spending,
        output: &args.output,
        on_ask: args.on_ask,
        events: None,
    };
    flags.reported(invocation, |started| {
        let message = args.message.as_deref().map(read_message).transpose()?;
        let mut project = started.open_project()?;
        let sessions = session_store::sessions(started.invocation, &project.dir);
        let id = session_store::find(&sessions, &args.id)?;
        let of_session = session_store::recorded(&sessions, &id)?;
        let place = started.place(&project);
        let current = agents::current(args.agent.as_deref(), of_session.as_ref(), place)?;
        let agent = Continued {
            before: of_session.as_ref(),
            now: &current,
        };
        let session = session_store::resume(&sessions, id, agent, args.change)?;
        let agent = session_store::agent_of(&session)?;
        agents::use_model(&mut project, &agent);
        let start = message.as_deref();
        let opening = Opening {
            sessions: &sessions,
            session: &session,
            keeping: Keeping::Kept,
            start: start.map_or(TurnStart::Resumed, TurnStart::from),
        };
        started.answer(&project, agent, &opening)
    })
}

struct Opening<'a> {
    sessions: &'a Sessions,
    session: &'a Arc<Session>,
    keeping: Keeping,
    start: TurnStart<'a>,
}

struct TurnCommand<'a> {
    invocation: &'a Invocation,
    printer: &'a Printer,
    limits: Limits,
    flags: &'a TurnFlags<'a>,
    telling: Telling,
}

impl TurnFlags<'_> {
    /// With `--events`, a failure is also the last event.
    fn reported(
        &self,
        invocation: &Invocation,
        work: impl FnOnce(&TurnCommand<'_>) -> Outcome,
    ) -> Outcome {
        let told = |failure: Failure| {
            let failure = failure.of_run(&invocation.run_id);
            if self.events.is_some()
                && let Ok(printer) = invocation.printer(self.output)
            {
                let line = json!({ "type": "failure", "error": failure.to_json()["error"] });
                if let Err(unheard) = printer.json_line(&line) {
                    tracing::debug!(?unheard, "no one reads the events of the run");
                }
            }
            failure
        };
        let done = || {
            let printer = invocation.printer(self.output)?;
            let limits = compose::limits_of(self.spending)?;
            let invocation = &invocation.ending_after(limits.time);
            let telling = match self.events {
                Some(_) => Telling::Events,
                None => Telling::of(printer.mode),
            };
            work(&TurnCommand {
                invocation,
                printer: &printer,
                limits,
                flags: self,
                telling,
            })
        };
        done().map_err(told)
    }
}

impl TurnCommand<'_> {
    fn open_project(&self) -> Outcome<OpenProject> {
        open_project(self.invocation, self.printer)
    }

    const fn place<'b>(&'b self, project: &'b OpenProject) -> Place<'b> {
        Place {
            invocation: self.invocation,
            project,
            printer: self.printer,
        }
    }

    fn answer(&self, project: &OpenProject, agent: Agent, opening: &Opening<'_>) -> Outcome {
        let limits = lower_limits(self.limits, &agent);
        let invocation = &self.invocation.ending_after(limits.time);
        let context = CommandContext {
            invocation,
            project,
            printer: self.printer,
        };
        let sink = Arc::new(LedgerSink::new(invocation, project, self.printer.clone()));
        let work = TurnRunner {
            delegation: Some(delegation(context, opening.sessions, limits, &sink)),
            tools: Arc::new(Toolbox::open(&agent, invocation, project)?),
            agent,
            context,
            on_ask: self.flags.on_ask.into(),
            telling: self.telling,
            channels: heard(self.telling, self.flags.events.unwrap_or_default()),
        };
        let result = ask(&work, limits, opening, &sink);
        sink.finish();
        if result.is_err() && self.telling != Telling::Result {
            print_totals(self.invocation, project, self.printer);
        }
        let result = result?;
        let kept = (opening.keeping == Keeping::Kept).then_some(opening.session.as_ref());
        self.print(&work, &result, kept)?;
        Ok(if result.is_error {
            Exit::Partial
        } else {
            Exit::Success
        })
    }

    fn print(
        &self,
        work: &TurnRunner<'_>,
        result: &ExecutionResult,
        session: Option<&Session>,
    ) -> Outcome<()> {
        let answer = || Answer {
            result,
            session: session.map(Session::id),
            turn: session.map_or(1, |session| session.history().turn()),
            cost_usd: work.cost_usd(),
        };
        match self.telling {
            Telling::Result => return self.printer.json(&answer()),
            Telling::Events => {
                let mut line = json!({ "type": "result" });
                if let (Some(line), Ok(Value::Object(result))) =
                    (line.as_object_mut(), serde_json::to_value(answer()))
                {
                    line.extend(result);
                }
                return self.printer.json_line(&line);
            }
            Telling::Whole if result.response.is_empty() => {}
            Telling::Whole => self
                .printer
                .page(&format!("{}\n", result.response.trim_end()))?,
            Telling::Live | Telling::Chat if result.structured_output.is_some() => {
                self.printer.page(&format!("{}\n", result.response))?;
            }
            Telling::Live | Telling::Chat => {}
        }
        print_totals(self.invocation, work.context.project, self.printer);
        if let Some(reason) = &result.error_reason {
            let turns = work.agent.max_turns;
            self.printer.note(&format!(
                "warning: the answer is incomplete: {reason}; {} is {turns}",
                work.agent.turns_key()
            ));
        }
        if let Some(session) = session {
            self.printer.note(&format!(
                "to continue: ktx agent run --session {} -m …",
                session.id()
            ));
        }
        Ok(())
    }
}

fn ask(
    work: &TurnRunner<'_>,
    limits: Limits,
    opening: &Opening<'_>,
    sink: &Arc<LedgerSink>,
) -> Outcome<ExecutionResult> {
    let backend = work.backend(limits, sink)?;
    let conversation = work.conversation(&backend, Arc::clone(opening.session))?;
    compose::block_on(|cancel| async move {
        let result = work.turn(&conversation, opening.start, &cancel).await;
        // After Ctrl-C, does not wait any longer.
        backend.teardown().with_cancellation_token(&cancel).await;
        result
    })
}
