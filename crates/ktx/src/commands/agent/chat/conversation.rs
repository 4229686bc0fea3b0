//! The loop of a chat.

use std::sync::Arc;

use ktx_agent_session::{
    AgentBackend, AgentSession, AgentStage, ExecutionResult, ForkPoint, Session, Sessions,
    TurnStart,
};
use ktx_diagnostics::{Exit, Failure};
use ktx_session_log::SessionId;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::commands::{ChatInput, asked, help};
use super::input::{Input, Line};
use crate::cli::AgentChangeArgs;
use crate::commands::agent::failures::{backend_failure, session_failure};
use crate::commands::agent::session_store::{self, Continued};
use crate::commands::agent::sessions;
use crate::commands::agent::turns::TurnRunner;
use crate::compose;
use crate::report::{Outcome, Report as _};
use crate::totals::print_totals;

pub(super) struct Conversation<'a> {
    pub(super) work: TurnRunner<'a>,
    pub(super) sessions: Sessions,
    pub(super) session: Option<Arc<AgentSession<'a>>>,
    pub(super) name: Option<String>,
    pub(super) backend: AgentBackend<'a>,
    pub(super) input: Arc<Mutex<Input>>,
    pub(super) cancel: CancellationToken,
    /// The exit of the last unanswered question.
    pub(super) failed: Option<Exit>,
}

enum Next {
    Ask,
    Leave,
}

impl<'a> Conversation<'a> {
    pub(super) async fn talk(&mut self) -> Outcome {
        self.greet().await?;
        let mut was_interrupted = false;
        loop {
            let line = {
                let mut input = self.input.lock().await;
                tokio::select! {
                    line = input.next("> ") => line,
                    () = self.cancel.cancelled() => return Ok(Exit::Interrupted),
                }
            };
            match line {
                Line::End => {
                    if self.input.lock().await.is_terminal() {
                        // After Ctrl-D the cursor is on the prompt's line.
                        self.note("");
                    }
                    break;
                }
                Line::Interrupted if was_interrupted => return Ok(Exit::Interrupted),
                Line::Interrupted => {
                    was_interrupted = true;
                    self.note("Ctrl-C again or Ctrl-D leaves");
                }
                Line::Text(text) => {
                    was_interrupted = false;
                    match self.follow(asked(&text)).await {
                        Ok(Next::Ask) => {}
                        Ok(Next::Leave) => break,
                        Err(failure) => self.tell(&failure),
                    }
                    if self.cancel.is_cancelled() {
                        return Ok(Exit::Interrupted);
                    }
                }
            }
        }
        Ok(self.failed.unwrap_or(Exit::Success))
    }

    async fn greet(&self) -> Outcome<()> {
        if !self.input.lock().await.is_terminal() {
            return Ok(());
        }
        let backend = self.backend.describe().map_err(backend_failure)?;
        let session = match &self.session {
            Some(session) => format!("session {}", session.kept().id()),
            None => "new session".to_owned(),
        };
        let agent = &self.work.agent;
        self.note(&format!(
            "{} · {} · {} tools · {session} · /help lists commands",
            agent.name,
            backend.name,
            agent.tools.len(),
        ));
        Ok(())
    }

    fn note(&self, text: &str) {
        self.work.context.printer.note(text);
    }

    fn tell(&mut self, failure: &Failure) {
        self.failed = Some(failure.exit);
        self.work
            .context
            .printer
            .notes(failure.to_text().trim_end());
    }

    async fn follow(&mut self, asked: ChatInput) -> Outcome<Next> {
        match asked {
            ChatInput::Nothing => {}
            ChatInput::Exit => return Ok(Next::Leave),
            ChatInput::Question(question) => self.ask(&question).await?,
            ChatInput::Help => self.work.context.printer.notes(&help()),
            ChatInput::Tools => {
                for line in self.work.tools.lines().await {
                    self.note(&line);
                }
            }
            ChatInput::Usage => {
                let context = &self.work.context;
                print_totals(context.invocation, context.project, context.printer);
            }
            ChatInput::Model => {
                let backend = self.backend.describe().map_err(backend_failure)?;
                self.note(&format!("{}, paid by {}", backend.name, backend.payer));
            }
            ChatInput::Sessions => {
                let context = self.work.context;
                sessions::print_all(&self.sessions, context.project, context.printer)?;
            }
            ChatInput::Resume(id) => self.resume(id.as_deref()).await?,
            ChatInput::Fork(turn) => {
                let point = turn.map_or(ForkPoint::Last, ForkPoint::Turn);
                self.fork(&point)?;
            }
            ChatInput::Retry => self.retry().await?,
            ChatInput::Name(name) => match &self.session {
                Some(session) => session.kept().rename(&name).map_err(session_failure)?,
                None => self.name = Some(name),
            },
            ChatInput::Export(file) => self.export(&file)?,
            ChatInput::Wrong(reason) => self.note(&reason),
        }
        Ok(Next::Ask)
    }

    /// Returns the session; the first question creates it.
    pub(super) fn session_for(&mut self, question: &str) -> Outcome<Arc<AgentSession<'a>>> {
        if let Some(session) = &self.session {
            return Ok(Arc::clone(session));
        }
        let invocation = self.work.context.invocation.next_run()?;
        let id = session_store::new_id(&invocation, question)?;
        let session = self
            .sessions
            .create(&id, &self.work.agent)
            .map_err(session_failure)?;
        if let Some(name) = self.name.take() {
            session.rename(&name).map_err(session_failure)?;
        }
        self.converse(Arc::new(session))
    }

    fn converse(&mut self, kept: Arc<Session>) -> Outcome<Arc<AgentSession<'a>>> {
        let session = Arc::new(self.work.conversation(&self.backend, kept)?);
        self.session = Some(Arc::clone(&session));
        Ok(session)
    }

    async fn ask(&mut self, question: &str) -> Outcome<()> {
        let session = self.session_for(question)?;
        self.turn(&session, TurnStart::from(question)).await
    }

    /// Ctrl-C ends only this turn.
    async fn turn(&mut self, session: &AgentSession<'_>, start: TurnStart<'_>) -> Outcome<()> {
        let stop = self.cancel.child_token();
        let result = {
            let _only = compose::end_only(stop.clone());
            self.work.turn(session, start, &stop).await
        };
        let is_stopped = stop.is_cancelled() && !self.cancel.is_cancelled();
        match result {
            Err(_) if is_stopped => {
                self.note("stopped");
                Ok(())
            }
            Err(failure) => Err(failure),
            Ok(result) => self.print(&result),
        }
    }

    fn print(&self, result: &ExecutionResult) -> Outcome<()> {
        let printer = self.work.context.printer;
        let is_shown = self.work.is_live() && result.structured_output.is_none();
        if !is_shown && !result.response.is_empty() {
            printer.page(&format!("{}\n", result.response.trim_end()))?;
        }
        if let Some(reason) = &result.error_reason {
            self.note(&format!("warning: the answer is incomplete: {reason}"));
        }
        if self.work.is_live() {
            let steps = result.num_turns;
            let tokens = result.token_usage.total_tokens;
            let total = self.work.cost_usd();
            let total = total.map_or_else(String::new, |cost| format!(" · total ${cost:.4}"));
            let noun = if steps == 1 { "step" } else { "steps" };
            self.note(&format!("  {steps} {noun} · {tokens} tokens{total}"));
        }
        Ok(())
    }

    async fn resume(&mut self, id: Option<&str>) -> Outcome<()> {
        let id = match id {
            Some(text) => session_store::find(&self.sessions, text)?,
            None => session_store::newest(&self.sessions)?,
        };
        let open = self.session.as_ref().filter(|open| *open.kept().id() == id);
        let kept = match open {
            Some(open) if open.stage() != AgentStage::Closed => {
                self.note("this session is open already");
                return Ok(());
            }
            // The model's process has ended; the session has every message.
            Some(open) => Arc::clone(open.kept()),
            None => self.reopened(id)?,
        };
        self.note(&format!("session {}", kept.id()));
        let session = self.converse(kept)?;
        if session.kept().history().is_unfinished() {
            self.note("its last question has no answer yet");
            self.turn(&session, TurnStart::Resumed).await?;
        }
        Ok(())
    }

    fn reopened(&mut self, id: SessionId) -> Outcome<Arc<Session>> {
        // Releases the lock before another is taken.
        let before = self.session.take();
        let as_recorded = AgentChangeArgs {
            adopt: false,
            as_recorded: true,
        };
        let agent = Continued {
            before: None,
            now: &self.work.agent,
        };
        match session_store::resume(&self.sessions, id, agent, as_recorded) {
            Ok(session) => {
                self.work.agent = session_store::agent_of(&session)?;
                Ok(session)
            }
            Err(failure) => {
                self.session = before;
                Err(failure)
            }
        }
    }

    fn fork(&mut self, point: &ForkPoint) -> Outcome<()> {
        let Some(session) = &self.session else {
            self.note("there is nothing to copy yet");
            return Ok(());
        };
        let invocation = self.work.context.invocation.next_run()?;
        let id = session_store::new_id(&invocation, "copy")?;
        let copy = self
            .sessions
            .fork(session.kept().id(), point, &id)
            .map_err(session_failure)?;
        self.note(&format!(
            "session {}, a copy of {}",
            copy.id(),
            session.kept().id()
        ));
        self.converse(Arc::new(copy))?;
        Ok(())
    }

    async fn retry(&mut self) -> Outcome<()> {
        let Some(session) = self.session.clone() else {
            self.note("there is no question yet");
            return Ok(());
        };
        let history = session.kept().history();
        let Some(question) = history.last_question().map(str::to_owned) else {
            self.note("there is no question yet");
            return Ok(());
        };
        match history.turn() {
            0 | 1 => self.session = None,
            turn => self.fork(&ForkPoint::Turn(turn - 1))?,
        }
        self.ask(&question).await
    }

    fn export(&self, file: &str) -> Outcome<()> {
        let Some(session) = &self.session else {
            self.note("there is nothing to write yet");
            return Ok(());
        };
        let id = session.kept().id();
        let report = self.sessions.read(id).map_err(session_failure)?;
        let path = self.work.context.invocation.current.join(file);
        sessions::write_markdown(&report, &self.sessions, &path)?;
        self.note(&format!("wrote {}", path.display()));
        Ok(())
    }
}
