//! What the records of a session amount to.

mod sent;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{ContentBlock, Message, MessageRole};
use ktx_session_log::{Record, SessionId};
use serde_json::Value;

use crate::event::{
    Breakpoint, Call, CallState, Cause, DecisionRecord, Event, Origin, Parent, TurnEnd,
};
use crate::schedule::Trigger;
use crate::session::SessionError;
use crate::todo::Task;
use sent::SentMessage;

/// The result of a call that no process has begun.
pub(crate) const NOT_BEGUN: &str = "the call was not begun; call it again if it is still needed";

/// How the last turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub reason: TurnEnd,
    pub cause: Option<Cause>,
}

/// The conversation of a session and the state of its turn.
#[derive(Debug, Clone, Default)]
pub struct History {
    messages: Vec<HistoryMessage>,
    /// The last size that the provider reported, in tokens, and the messages that it is the size of.
    reported: Option<(u64, usize)>,
    /// Whether the last compression has left almost everything.
    poorly_compressed: bool,
    /// The model's ids of calls that no message answers yet, in call order.
    unanswered: Vec<String>,
    /// Calls whose results no message holds yet, in call order.
    calls: Vec<Call>,
    decisions: BTreeMap<String, DecisionRecord>,
    call_count: usize,
    turn: u32,
    step: u32,
    end: Option<End>,
    /// The questions of the turn.
    question: String,
    /// Whether the model is done with the turn.
    answered: bool,
    /// The number of questions, those within turns included.
    questions: u32,
    /// Messages that wait for the next step.
    queued: Vec<String>,
    /// Messages by the keys of their senders.
    keys: BTreeMap<String, SentMessage>,
    /// Letters that were taken from the inbox.
    letters: BTreeSet<String>,
    tasks: Vec<Task>,
    /// The tools whose manuals the model reads.
    manuals: Vec<String>,
    fork_points: Vec<u64>,
    labels: Vec<Label>,
    pub(crate) breakpoint: Breakpoint,
    pub(crate) agent: AgentRecord,
    pub(crate) name: Option<String>,
    /// The schedule that began the session.
    trigger: Option<Trigger>,
    /// The last turn that a server has promised.
    promised: u32,
}

/// A message with its record.
#[derive(Debug, Clone)]
struct HistoryMessage {
    seq: u64,
    begins_turn: bool,
    message: Message,
}

/// A named point to fork from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Label {
    pub label: String,
    /// The record.
    pub seq: u64,
}

/// A call as the model's message has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WantedCall {
    /// The tool.
    pub(crate) name: String,
    /// The arguments.
    pub(crate) input: Value,
}

/// The agent that a session was opened with or has adopted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentRecord {
    pub name: String,
    /// A digest of everything that the agent is.
    pub digest: String,
    /// The agent as it was then.
    pub snapshot: Value,
    /// The session that this one comes from.
    pub parent: Option<Parent>,
}

impl History {
    /// Adds a record.
    ///
    /// # Errors
    /// An event of a known type whose fields are wrong.
    pub fn take_record(&mut self, record: &Record) -> serde_json::Result<Event> {
        let event: Event = serde_json::from_value(Value::Object(record.event.clone()))?;
        self.take(record.seq, &event);
        Ok(event)
    }

    pub(crate) fn take(&mut self, seq: u64, event: &Event) {
        match event {
            Event::SessionOpened {
                agent,
                agent_digest,
                agent_snapshot,
                parent,
                ..
            } => {
                self.agent = AgentRecord {
                    name: agent.clone(),
                    digest: agent_digest.clone(),
                    snapshot: agent_snapshot.clone(),
                    parent: parent.clone(),
                }
            }
            Event::AgentAdopted {
                agent_digest,
                agent_snapshot,
            } => {
                self.agent.digest.clone_from(agent_digest);
                self.agent.snapshot.clone_from(agent_snapshot);
            }
            Event::Message {
                message, origin, ..
            } => self.take_message(seq, message, *origin),
            Event::Answered => self.answered = true,
            Event::TokenUsage(tokens) if !self.answered => self.take_size(tokens),
            Event::Compaction(compaction) => self.compact(compaction),
            Event::TodoChanged { current, .. } => self.tasks.clone_from(current),
            Event::ToolManualUpdated { tools } => self.manuals.clone_from(tools),
            Event::Queued { message, key, turn } => {
                self.queued.push(message.clone());
                self.promised = self.promised.max(turn.unwrap_or_default());
                if let Some(key) = key {
                    let sent = SentMessage {
                        text: message.clone(),
                        seq,
                        turn: turn.unwrap_or_default(),
                    };
                    self.keys.insert(key.clone(), sent);
                }
            }
            Event::InboxTaken { uuid } => {
                self.letters.insert(uuid.clone());
            }
            Event::Call(call) => self.take_call(call),
            // A decision about a call of a sub-agent belongs to its own session.
            Event::PermissionDecided(record) if record.session.is_none() => {
                self.decisions
                    .insert(record.call_id.clone(), record.clone());
            }
            Event::Done { reason, cause } => {
                self.end = Some(End {
                    reason: *reason,
                    cause: *cause,
                });
            }
            Event::BreakpointChanged { current, .. } => {
                self.breakpoint = *current;
                self.step += u32::from(*current == Breakpoint::PreModel);
            }
            Event::SchedulerTriggered(trigger) if trigger.scheduled.is_some() => {
                self.trigger = Some(trigger.clone());
            }
            Event::Renamed { name } => self.name = Some(name.clone()),
            Event::Snapshot { label, seq } => self.labels.push(Label {
                label: label.clone(),
                seq: *seq,
            }),
            _ => {}
        }
    }

    fn take_call(&mut self, call: &Call) {
        if let Some(known) = self.calls.iter_mut().find(|known| known.id == call.id) {
            known.clone_from(call);
            return;
        }
        self.call_count += 1;
        self.calls.push(call.clone());
    }

    fn take_message(&mut self, seq: u64, message: &Message, origin: Origin) {
        match origin {
            Origin::User => {
                self.answer_left_calls();
                self.turn += 1;
                self.step = 0;
                self.end = None;
                self.question = text_of(message);
            }
            Origin::Queued => {
                self.question.push_str("\n\n");
                self.question.push_str(&text_of(message));
            }
            Origin::Model | Origin::Tools | Origin::Reminder => {}
        }
        if matches!(origin, Origin::User | Origin::Queued) {
            self.questions += 1;
            if self.queued.first() == Some(&text_of(message)) {
                self.queued.remove(0);
            }
        }
        self.answered = false;
        for block in &message.content {
            match block {
                ContentBlock::ToolUse { id, .. } => self.unanswered.push(id.clone()),
                ContentBlock::ToolResult { tool_use_id, .. } => {
                    self.unanswered.retain(|id| id != tool_use_id);
                    self.calls.retain(|call| call.tool_use != *tool_use_id);
                }
                _ => {}
            }
        }
        self.messages.push(HistoryMessage {
            seq,
            begins_turn: origin == Origin::User,
            message: message.clone(),
        });
        // Behind an open call the conversation does not stand by itself.
        if self.unanswered.is_empty() {
            self.fork_points.push(seq);
        }
    }

    /// Gives every call of a step that was cut off its result.
    fn answer_left_calls(&mut self) {
        if let Some(results) = self.left_results() {
            self.messages.push(HistoryMessage {
                seq: self.messages.last().map_or(0, |last| last.seq),
                begins_turn: false,
                message: results,
            });
        }
        self.unanswered.clear();
        self.calls.retain(|call| call.state.is_open());
    }

    /// The results of calls that no message holds; `None` if there are none. A call that waits for a decision has none.
    fn left_results(&self) -> Option<Message> {
        let results = self.unanswered.iter().filter_map(|id| {
            let call = self.calls.iter().find(|call| call.tool_use == *id);
            let (content, is_error) = match call {
                Some(call) if call.state.is_open() => return None,
                Some(call) => (
                    call.result.clone().unwrap_or_default(),
                    call.state != CallState::Completed,
                ),
                None => (NOT_BEGUN.to_owned(), true),
            };
            Some(ContentBlock::ToolResult {
                tool_use_id: id.clone(),
                content,
                is_error,
            })
        });
        let content: Vec<ContentBlock> = results.collect();
        (!content.is_empty()).then(|| Message::new(MessageRole::User, content))
    }

    /// Returns the tools whose manuals the model has read.
    pub(crate) fn manuals(&self) -> &[String] {
        &self.manuals
    }

    /// Returns the conversation so far, as a model may be sent it.
    pub fn messages(&self) -> Vec<Message> {
        let said = self.messages.iter().map(|said| said.message.clone());
        let mut messages: Vec<Message> = said.collect();
        messages.extend(self.left_results());
        messages
    }

    /// Returns the calls without a result, in call order.
    pub fn open_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.state.is_open())
    }

    /// Whether every call of the model has its result in a message.
    pub(crate) const fn is_answered(&self) -> bool {
        self.unanswered.is_empty()
    }

    /// Returns the last call of the model with this id.
    pub(crate) fn wanted(&self, tool_use: &str) -> Option<WantedCall> {
        let blocks = self
            .messages
            .iter()
            .rev()
            .flat_map(|said| &said.message.content);
        let mut uses = blocks.filter_map(|block| match block {
            ContentBlock::ToolUse {
                id, name, input, ..
            } if id == tool_use => Some(WantedCall {
                name: name.clone(),
                input: input.clone(),
            }),
            _ => None,
        });
        uses.next()
    }

    /// Returns the message with the results of a step that was cut off; `None` if no call is without one, or some
    /// still wait.
    pub(crate) fn cut_step(&self) -> Option<Message> {
        let has_open = self.open_calls().next().is_some();
        if has_open { None } else { self.left_results() }
    }

    pub(crate) fn call(&self, id: &str) -> Option<&Call> {
        self.calls.iter().find(|call| call.id == id)
    }

    /// Whether a model's call has a record.
    pub(crate) fn knows(&self, tool_use: &str) -> bool {
        self.calls.iter().any(|call| call.tool_use == tool_use)
    }

    /// Returns the decision about a call, if there is one.
    pub fn decision(&self, call: &str) -> Option<&DecisionRecord> {
        self.decisions.get(call)
    }

    /// Returns the calls that wait for a decision, in call order.
    pub fn waiting_calls(&self) -> Vec<Call> {
        let waits = |call: &&Call| call.state == CallState::ApprovalRequired;
        self.calls.iter().filter(waits).cloned().collect()
    }

    /// Returns the call that a decision is about.
    pub(crate) fn check_decision(
        &self,
        session: &SessionId,
        record: &DecisionRecord,
    ) -> Result<Call, SessionError> {
        if let Some(earlier) = self.decision(&record.call_id) {
            return Err(SessionError::AlreadyDecided(earlier.clone()));
        }
        let waiting = self.waiting_calls();
        let call = waiting.iter().find(|call| call.id == record.call_id);
        call.cloned().ok_or_else(|| SessionError::NoWaitingCall {
            session: session.clone(),
            call: record.call_id.clone(),
            waiting: waiting.into_iter().map(|call| call.id).collect(),
        })
    }

    /// Returns the last question; `None` before the first.
    pub fn last_question(&self) -> Option<&str> {
        (self.turn > 0).then_some(self.question.as_str())
    }

    /// Returns the answer of a turn whose model is done; `None` if it is not.
    pub(crate) fn answer(&self) -> Option<String> {
        let last = self.messages.last().filter(|_| self.answered)?;
        Some(text_of(&last.message))
    }

    /// Returns the last words of the model.
    pub(crate) fn last_answer(&self) -> String {
        let mut said = self.messages.iter().rev();
        let last = said.find(|said| said.message.role == MessageRole::Assistant);
        last.map(|said| text_of(&said.message)).unwrap_or_default()
    }

    /// Returns the number of questions, those that came within turns included.
    pub const fn questions(&self) -> u32 {
        self.questions
    }

    /// Whether a letter of the inbox was taken before.
    pub(crate) fn has_taken(&self, letter: &str) -> bool {
        self.letters.contains(letter)
    }

    /// Returns the agent's list of tasks.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns the number of calls.
    pub const fn call_count(&self) -> usize {
        self.call_count
    }

    /// Returns the number of the last turn; 0 before the first.
    pub const fn turn(&self) -> u32 {
        self.turn
    }

    /// Returns the number of the last step in its turn; 0 before the first.
    pub const fn step(&self) -> u32 {
        self.step
    }

    /// Returns how the last turn ended; `None` if it has not.
    pub const fn end(&self) -> Option<End> {
        self.end
    }

    /// Whether the last turn has a question and no answer, and may be continued. A copy of an answered turn has no
    /// record of its end.
    pub fn is_unfinished(&self) -> bool {
        let is_copied_answer = self.breakpoint == Breakpoint::Ready
            && self.unanswered.is_empty()
            && self
                .messages
                .last()
                .is_some_and(|last| last.message.role == MessageRole::Assistant);
        self.turn > 0
            && match self.end {
                Some(end) => end.reason != TurnEnd::Completed,
                None => !is_copied_answer,
            }
    }

    /// Returns the records behind which the conversation stands by itself (KODE-54).
    pub fn fork_points(&self) -> &[u64] {
        &self.fork_points
    }

    /// Returns the named points with their records, oldest first.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Returns the agent.
    pub const fn agent(&self) -> &AgentRecord {
        &self.agent
    }

    /// Returns the name that a person gave the session.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the schedule that began the session; none if a person did.
    pub const fn trigger(&self) -> Option<&Trigger> {
        self.trigger.as_ref()
    }

    /// Returns the stage of the step.
    pub const fn breakpoint(&self) -> Breakpoint {
        self.breakpoint
    }
}

/// The words of a message.
pub(crate) fn text_of(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
