//! The loop of a chat.

use std::sync::Arc;

use ktx_agent_session::{ExecutionResult, ForkPoint, Session, Sessions};
use ktx_diagnostics::{Exit, Failure};
use ktx_llm_runtime::LlmRuntime;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::commands::{Asked, asked, help};
use super::input::{Input, Line};
use crate::cli::AgentChangeArgs;
use crate::commands::agent::failures::session_failure;
use crate::commands::agent::sessions;
use crate::commands::agent::turns::{Opening, Work};
use crate::commands::agent::vault;
use crate::compose;
use crate::report::{Outcome, Report as _};
use crate::totals::print_totals;

/// A chat: its session, and who speaks.
pub(super) struct Conversation<'a> {
    pub(super) work: Work<'a>,
    pub(super) sessions: Sessions,
    /// None before the first question of a new session.
    pub(super) session: Option<Arc<Session>>,
    /// The name that a new session gets.
    pub(super) name: Option<String>,
    pub(super) runtime: Arc<dyn LlmRuntime>,
    pub(super) input: Arc<Mutex<Input>>,
    /// Fires when the program is asked to end.
    pub(super) cancel: CancellationToken,
    /// How the last question that has no answer ended.
    pub(super) failed: Option<Exit>,
}

/// Whether the chat continues.
enum Next {
    Ask,
    Leave,
}

impl Conversation<'_> {
    /// Asks until the person leaves.
    pub(super) async fn talk(&mut self) -> Outcome {
        self.greet().await;
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
                Line::End => break,
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

    async fn greet(&self) {
        if !self.input.lock().await.is_terminal() {
            return;
        }
        let session = match &self.session {
            Some(session) => format!("session {}", session.id()),
            None => "new session".to_owned(),
        };
        let agent = &self.work.agent;
        self.note(&format!(
            "{} · {} · {} tools · {session} · /help lists commands",
            agent.name,
            self.runtime.describe().name,
            agent.tools.len(),
        ));
    }

    fn note(&self, text: &str) {
        self.work.context.printer.note(text);
    }

    /// Prints why a line failed; the chat continues.
    fn tell(&mut self, failure: &Failure) {
        self.failed = Some(failure.exit);
        self.work
            .context
            .printer
            .notes(failure.to_text().trim_end());
    }

    async fn follow(&mut self, asked: Asked) -> Outcome<Next> {
        match asked {
            Asked::Nothing => {}
            Asked::Exit => return Ok(Next::Leave),
            Asked::Question(question) => self.ask(&question).await?,
            Asked::Help => self.work.context.printer.notes(&help()),
            Asked::Tools => {
                for tool in self.work.tools.iter() {
                    self.note(&format!("  {}  {}", tool.name, tool.title));
                }
            }
            Asked::Usage => {
                let context = &self.work.context;
                print_totals(context.invocation, context.project, context.printer);
            }
            Asked::Model => {
                let backend = self.runtime.describe();
                self.note(&format!("{}, paid by {}", backend.name, backend.payer));
            }
            Asked::Sessions => {
                let context = self.work.context;
                sessions::print_all(&self.sessions, context.project, context.printer)?;
            }
            Asked::Resume(id) => self.resume(id.as_deref()).await?,
            Asked::Fork(turn) => {
                let point = turn.map_or(ForkPoint::Last, ForkPoint::Turn);
                self.fork(&point)?;
            }
            Asked::Retry => self.retry().await?,
            Asked::Name(name) => match &self.session {
                Some(session) => session.rename(&name).map_err(session_failure)?,
                None => self.name = Some(name),
            },
            Asked::Export(file) => self.export(&file)?,
            Asked::Wrong(reason) => self.note(&reason),
        }
        Ok(Next::Ask)
    }

    /// The session, which begins with its first question.
    pub(super) fn session_for(&mut self, question: &str) -> Outcome<Arc<Session>> {
        if let Some(session) = &self.session {
            return Ok(Arc::clone(session));
        }
        let invocation = self.work.context.invocation.next_run()?;
        let id = vault::new_id(&invocation, question)?;
        let session = self
            .sessions
            .create(&id, &self.work.agent)
            .map_err(session_failure)?;
        if let Some(name) = self.name.take() {
            session.rename(&name).map_err(session_failure)?;
        }
        let session = Arc::new(session);
        self.session = Some(Arc::clone(&session));
        Ok(session)
    }

    async fn ask(&mut self, question: &str) -> Outcome<()> {
        let session = self.session_for(question)?;
        self.turn(&session, Opening::Question(question)).await
    }

    /// Runs a turn that Ctrl-C ends, and only it.
    async fn turn(&mut self, session: &Arc<Session>, opening: Opening<'_>) -> Outcome<()> {
        let stop = self.cancel.child_token();
        let result = {
            let _only = compose::end_only(stop.clone());
            let runtime = self.runtime.as_ref();
            self.work.turn(session, runtime, opening, &stop).await
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
        if !self.work.is_live() && !result.response.is_empty() {
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
            Some(text) => vault::find(&self.sessions, text)?,
            None => vault::newest(&self.sessions)?,
        };
        if self.session.as_ref().is_some_and(|open| *open.id() == id) {
            self.note("this session is open already");
            return Ok(());
        }
        // Its lock is free before another is taken.
        let before = self.session.take();
        let as_recorded = AgentChangeArgs {
            adopt: false,
            as_recorded: true,
        };
        let session = vault::resume(&self.sessions, id, &self.work.agent, as_recorded);
        let session = match session {
            Ok(session) => session,
            Err(failure) => {
                self.session = before;
                return Err(failure);
            }
        };
        self.work.agent = vault::agent_of(&session)?;
        self.note(&format!("session {}", session.id()));
        self.session = Some(Arc::clone(&session));
        if session.history().is_unfinished() {
            self.note("its last question has no answer yet");
            self.turn(&session, Opening::Nothing).await?;
        }
        Ok(())
    }

    /// Continues in a copy of the session.
    fn fork(&mut self, point: &ForkPoint) -> Outcome<()> {
        let Some(session) = &self.session else {
            self.note("there is nothing to copy yet");
            return Ok(());
        };
        let invocation = self.work.context.invocation.next_run()?;
        let id = vault::new_id(&invocation, "copy")?;
        let copy = self
            .sessions
            .fork(session.id(), point, &id)
            .map_err(session_failure)?;
        self.note(&format!(
            "session {}, a copy of {}",
            copy.id(),
            session.id()
        ));
        self.session = Some(Arc::new(copy));
        Ok(())
    }

    async fn retry(&mut self) -> Outcome<()> {
        let Some(session) = self.session.clone() else {
            self.note("there is no question yet");
            return Ok(());
        };
        let history = session.history();
        let Some(question) = history.last_question() else {
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
        let report = self.sessions.read(session.id()).map_err(session_failure)?;
        let path = self.work.context.invocation.current.join(file);
        sessions::write_markdown(&report, &self.sessions, &path)?;
        self.note(&format!("wrote {}", path.display()));
        Ok(())
    }
}
