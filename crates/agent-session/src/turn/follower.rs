//! Records a run's messages and calls in order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ktx_llm_runtime::{
    ContentBlock, LlmError, LlmErrorKind, Message, MessageRole, RunEvent, StepPlan, TurnHook,
    UsageFact, UsageKind,
};
use ktx_tool_descriptors::ToolSet;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::chunks::{Chunks, Stream};
use crate::event::{Breakpoint, CallState, Effect, Event, MessageTokens, Origin};
use crate::execution::Seen;
use crate::history::{History, text_of};
use crate::reminders::Reminders;
use crate::session::{Session, SessionError};

/// The backend calls it as the run's hook; the turn passes it the events.
pub(super) struct Follower {
    session: Arc<Session>,
    state: Mutex<State>,
    between: Between,
    /// Later results are those of stopped calls.
    stop: CancellationToken,
}

#[derive(Debug, Default)]
pub(super) struct Between {
    pub(super) most_questions: u32,
    pub(super) reminders: Option<Arc<Reminders>>,
    /// Report changed files.
    pub(super) tools: Option<ToolSet>,
    pub(super) compress: Option<mpsc::UnboundedSender<Compress>>,
}

/// The reply says whether the conversation changed.
pub(super) type Compress = oneshot::Sender<Result<bool, LlmError>>;

#[derive(Default)]
struct State {
    chunks: Chunks,
    told_step: u32,
    has_answer: bool,
    failed: Option<SessionError>,
}

impl Follower {
    pub(super) fn new(session: &Arc<Session>, stop: CancellationToken, between: Between) -> Self {
        let state = State {
            told_step: session.look(History::step).saturating_sub(1),
            ..State::default()
        };
        Self {
            session: Arc::clone(session),
            state: Mutex::new(state),
            between,
            stop,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.lock().chunks.due()
    }

    pub(super) fn flush(&self) {
        let mut state = self.lock();
        let event = state.chunks.flush(Instant::now());
        self.tell(&mut state, event.as_slice());
    }

    /// Records what came at the same time together.
    pub(super) fn hear(&self, events: Vec<RunEvent>) {
        let mut state = self.lock();
        let now = Instant::now();
        let mut heard = Vec::with_capacity(events.len());
        for event in events {
            match event {
                RunEvent::TextDelta(text) => {
                    heard.extend(state.chunks.piece(Stream::Text, &text, now));
                }
                RunEvent::ReasoningDelta(text) => {
                    heard.extend(state.chunks.piece(Stream::Thought, &text, now));
                }
                RunEvent::UsageReport(fact) if fact.kind != UsageKind::Unattributed => {
                    heard.push(Event::TokenUsage(tokens(fact)));
                }
                RunEvent::Status(text) => heard.push(Event::Status { text }),
                RunEvent::UsageReport(_)
                | RunEvent::ToolCallStart { .. }
                | RunEvent::ToolCallResult { .. }
                | RunEvent::Error(_)
                | RunEvent::AssistantFinal(_)
                | RunEvent::Done => {}
            }
        }
        self.tell(&mut state, &heard);
    }

    /// `answer` is `None` if the run failed. Returns the log's first failure.
    pub(super) fn close(&self, answer: Option<&str>, seen: &Seen) -> Option<SessionError> {
        let mut state = self.lock();
        let unfinished = state.chunks.unfinished_text().map(str::to_owned);
        let events = state.chunks.end();
        self.tell(&mut state, &events);
        let kept = match (answer, unfinished) {
            // The backend has already sent it.
            (Some(_), _) if state.has_answer => Ok(()),
            // A backend that sends no messages.
            (Some(answer), _) if !answer.is_empty() => self
                .session
                .say(Message::text(MessageRole::Assistant, answer), Origin::Model),
            (None, Some(text)) if !text.is_empty() && seen.is_within_answer() => {
                self.session.say_interrupted(&text)
            }
            _ => Ok(()),
        };
        note(&mut state, kept);
        self.complete_step(&mut state);
        state.failed.take()
    }

    fn complete_step(&self, state: &mut State) {
        let step = self.session.look(History::step);
        if step > state.told_step {
            state.told_step = step;
            self.tell(state, &[Event::StepComplete { step }]);
        }
    }

    fn tell(&self, state: &mut State, events: &[Event]) {
        if !events.is_empty() {
            note(state, self.session.record_all(events));
        }
    }

    fn said(&self, state: &mut State, message: &Message) -> Result<(), SessionError> {
        let now = Instant::now();
        let thought = thought_of(message);
        if !thought.is_empty() {
            let events = state.chunks.whole(Stream::Thought, &thought, now);
            self.tell(state, &events);
        }
        let text = text_of(message);
        state.has_answer |= !text.is_empty();
        let events = state.chunks.whole(Stream::Text, &text, now);
        self.tell(state, &events);
        self.session.say(message.clone(), Origin::Model)?;
        if uses_tools(message) {
            self.session.reach(Breakpoint::ToolPending)?;
        }
        Ok(())
    }

    fn said_between(&self) -> Result<StepPlan, SessionError> {
        let mut messages = Vec::new();
        let steps = self.session.look(History::step).saturating_sub(1);
        if let Some(reminders) = &self.between.reminders
            && let Some(note) = reminders.due(&self.session, steps)?
        {
            let message = Message::text(MessageRole::User, note);
            self.session.say(message.clone(), Origin::Reminder)?;
            messages.push(message);
        }
        if let Some(tools) = &self.between.tools {
            messages.extend(self.session.remind_of_files(tools)?);
        }
        messages.extend(self.session.join_queued(self.between.most_questions)?);
        Ok(if messages.is_empty() {
            StepPlan::Continue
        } else {
            StepPlan::Append(messages)
        })
    }

    /// Includes calls without a handler.
    fn answered(&self, state: &mut State, message: &Message) -> Result<(), SessionError> {
        for block in &message.content {
            if let ContentBlock::ToolResult {
                tool_use_id,
                content,
                is_error,
            } = block
                && !self.session.look(|history| history.knows(tool_use_id))
            {
                let ended = if *is_error {
                    CallState::Failed
                } else {
                    CallState::Completed
                };
                self.answered_elsewhere(tool_use_id, content, ended)?;
            }
        }
        state.has_answer = false;
        self.session.say(message.clone(), Origin::Tools)?;
        if self.session.look(History::is_answered) {
            self.session.reach(Breakpoint::PostTool)?;
            self.complete_step(state);
            self.session.reach(Breakpoint::PreModel)?;
            self.session.reach(Breakpoint::StreamingModel)?;
        }
        Ok(())
    }

    /// Records a call that reached no tool of the session, such as an unknown name.
    fn answered_elsewhere(
        &self,
        tool_use: &str,
        content: &str,
        ended: CallState,
    ) -> Result<(), SessionError> {
        let Some(wanted) = self.session.look(|history| history.wanted(tool_use)) else {
            return Ok(());
        };
        let session = &self.session;
        let mut call = session.begin_call(&wanted.name, Effect::Reads, wanted.input, tool_use)?;
        call.state = ended;
        call.result = Some(content.to_owned());
        session.end_call(&call)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl TurnHook for Follower {
    async fn before_step(&self) -> Result<StepPlan, LlmError> {
        let said = self.said_between().map_err(|error| {
            let told = not_kept(&error);
            note(&mut self.lock(), Err(error));
            told
        })?;
        let Some(compress) = &self.between.compress else {
            return Ok(said);
        };
        let (reply, answer) = oneshot::channel();
        if compress.send(reply).is_err() {
            return Ok(said);
        }
        // The turn has ended.
        let is_shorter = answer.await.unwrap_or(Ok(false))?;
        Ok(if is_shorter {
            StepPlan::Replace(self.session.messages())
        } else {
            said
        })
    }

    fn after_message(&self, message: &Message) -> Result<(), LlmError> {
        let mut state = self.lock();
        let kept = match message.role {
            MessageRole::Assistant => self.said(&mut state, message),
            MessageRole::User if self.stop.is_cancelled() => Ok(()),
            MessageRole::User => self.answered(&mut state, message),
            MessageRole::System => Ok(()),
        };
        note(&mut state, kept);
        match &state.failed {
            None => Ok(()),
            Some(error) => Err(not_kept(error)),
        }
    }
}

fn not_kept(error: &SessionError) -> LlmError {
    LlmError::new(
        LlmErrorKind::Internal,
        format!("the session cannot keep the conversation: {error}"),
    )
}

/// Keeps the first failure.
fn note(state: &mut State, kept: Result<(), SessionError>) {
    if let Err(error) = kept {
        state.failed.get_or_insert(error);
    }
}

fn tokens(fact: UsageFact) -> MessageTokens {
    let usage = fact.usage;
    MessageTokens {
        run_id: fact.run_id,
        message_id: fact.message_id,
        model: fact.model,
        input_tokens: usage.input,
        cache_creation_input_tokens: usage.cache_write_5m.saturating_add(usage.cache_write_1h),
        cache_read_input_tokens: usage.cache_read,
        output_tokens: usage.output,
    }
}

fn thought_of(message: &Message) -> String {
    let thoughts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Reasoning { reasoning, .. } => Some(reasoning.as_str()),
        _ => None,
    });
    thoughts.collect()
}

fn uses_tools(message: &Message) -> bool {
    let is_use = |block: &ContentBlock| matches!(block, ContentBlock::ToolUse { .. });
    message.content.iter().any(is_use)
}

#[cfg(test)]
mod tests;
