//! The state of a session, computed from its records.

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

/// Result of a call that no process has begun.
pub(crate) const NOT_BEGUN: &str = "the call was not begun; call it again if it is still needed";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub reason: TurnEnd,
    pub cause: Option<Cause>,
}

#[derive(Debug, Clone, Default)]
pub struct History {
    messages: Vec<HistoryMessage>,
    /// Last reported size in tokens, and the number of messages that it covers.
    reported: Option<(u64, usize)>,
    /// True if the last compaction left almost everything.
    poorly_compressed: bool,
    /// The model's ids of calls that no message answers yet, in order.
    unanswered: Vec<String>,
    /// Calls whose results are in no message yet, in order.
    calls: Vec<Call>,
    decisions: BTreeMap<String, DecisionRecord>,
    call_count: usize,
    turn: u32,
    step: u32,
    end: Option<End>,
    question: String,
    answered: bool,
    questions: u32,
    queued: Vec<String>,
    keys: BTreeMap<String, SentMessage>,
    letters: BTreeSet<String>,
    tasks: Vec<Task>,
    manuals: Vec<String>,
    fork_points: Vec<u64>,
    labels: Vec<Label>,
    pub(crate) breakpoint: Breakpoint,
    pub(crate) agent: AgentRecord,
    pub(crate) name: Option<String>,
    trigger: Option<Trigger>,
    /// The last turn that a server has promised.
    promised: u32,
}

#[derive(Debug, Clone)]
struct HistoryMessage {
    seq: u64,
    begins_turn: bool,
    message: Message,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Label {
    pub label: String,
    pub seq: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WantedCall {
    pub(crate) name: String,
    pub(crate) input: Value,
}

/// The agent that a session was opened with or adopted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentRecord {
    pub name: String,
    pub digest: String,
    pub snapshot: Value,
    pub parent: Option<Parent>,
}

impl History {
    /// Adds a record; fails on wrong fields of a known type.
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
            // A decision on a sub-agent's call belongs to that agent's session.
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
        // A conversation cannot be forked while a call is open.
        if self.unanswered.is_empty() {
            self.fork_points.push(seq);
        }
    }

    /// Completes an interrupted step.
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

    /// Returns results without a message. A call that waits for a decision has none.
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

    pub(crate) fn manuals(&self) -> &[String] {
        &self.manuals
    }

    /// Returns the conversation for a model.
    pub fn messages(&self) -> Vec<Message> {
        let said = self.messages.iter().map(|said| said.message.clone());
        let mut messages: Vec<Message> = said.collect();
        messages.extend(self.left_results());
        messages
    }

    /// Returns the calls without a result, in order.
    pub fn open_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.state.is_open())
    }

    /// True if every call has its result in a message.
    pub(crate) const fn is_answered(&self) -> bool {
        self.unanswered.is_empty()
    }

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

    /// Returns the results of an interrupted step; `None` if none is missing or a call still waits.
    pub(crate) fn cut_step(&self) -> Option<Message> {
        let has_open = self.open_calls().next().is_some();
        if has_open { None } else { self.left_results() }
    }

    pub(crate) fn call(&self, id: &str) -> Option<&Call> {
        self.calls.iter().find(|call| call.id == id)
    }

    pub(crate) fn knows(&self, tool_use: &str) -> bool {
        self.calls.iter().any(|call| call.tool_use == tool_use)
    }

    pub fn decision(&self, call: &str) -> Option<&DecisionRecord> {
        self.decisions.get(call)
    }

    pub fn waiting_calls(&self) -> Vec<Call> {
        let waits = |call: &&Call| call.state == CallState::ApprovalRequired;
        self.calls.iter().filter(waits).cloned().collect()
    }

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

    pub fn last_question(&self) -> Option<&str> {
        (self.turn > 0).then_some(self.question.as_str())
    }

    /// Returns the answer if the model is done.
    pub(crate) fn answer(&self) -> Option<String> {
        let last = self.messages.last().filter(|_| self.answered)?;
        Some(text_of(&last.message))
    }

    pub(crate) fn last_answer(&self) -> String {
        let mut said = self.messages.iter().rev();
        let last = said.find(|said| said.message.role == MessageRole::Assistant);
        last.map(|said| text_of(&said.message)).unwrap_or_default()
    }

    /// Returns the number of questions, including those within turns.
    pub const fn questions(&self) -> u32 {
        self.questions
    }

    pub(crate) fn has_taken(&self, letter: &str) -> bool {
        self.letters.contains(letter)
    }

    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    pub const fn call_count(&self) -> usize {
        self.call_count
    }

    /// Returns the number of the last turn; 0 before the first.
    pub const fn turn(&self) -> u32 {
        self.turn
    }

    /// Returns the number of the last step; 0 before the first.
    pub const fn step(&self) -> u32 {
        self.step
    }

    pub const fn end(&self) -> Option<End> {
        self.end
    }

    /// True if the last turn has no answer and can continue. A copy of an answered turn has no
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

    /// Returns the records at which the session can be forked (KODE-54).
    pub fn fork_points(&self) -> &[u64] {
        &self.fork_points
    }

    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    pub const fn agent(&self) -> &AgentRecord {
        &self.agent
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the schedule that began the session.
    pub const fn trigger(&self) -> Option<&Trigger> {
        self.trigger.as_ref()
    }

    pub const fn breakpoint(&self) -> Breakpoint {
        self.breakpoint
    }
}

pub(crate) fn text_of(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
