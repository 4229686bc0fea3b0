//! What the records of a session amount to.

use ktx_llm_runtime::{ContentBlock, Message, MessageRole};
use ktx_session_log::Record;
use serde_json::Value;

use crate::event::{Call, Event, TurnEnd};

/// The conversation of a session and the state of its turn.
#[derive(Debug, Clone, Default)]
pub struct History {
    messages: Vec<Message>,
    /// Calls since the last message, in call order.
    calls: Vec<Call>,
    /// All calls so far.
    call_count: usize,
    turn: u32,
    end: Option<TurnEnd>,
    fork_points: Vec<u64>,
}

impl History {
    /// Adds a record.
    ///
    /// # Errors
    /// An event of a known type whose fields are wrong.
    pub fn take_record(&mut self, record: &Record) -> serde_json::Result<()> {
        let event = serde_json::from_value(Value::Object(record.event.clone()))?;
        self.take(record.seq, &event);
        Ok(())
    }

    pub(crate) fn take(&mut self, seq: u64, event: &Event) {
        match event {
            Event::Message { message } => self.take_message(seq, message),
            Event::Call(call) => self.take_call(call),
            Event::Done { reason } => self.end = Some(*reason),
            Event::SessionOpened { .. } | Event::AgentResumed { .. } | Event::Unknown => {}
        }
    }

    fn take_call(&mut self, call: &Call) {
        if let Some(known) = self.calls.iter_mut().find(|known| known.id == call.id) {
            known.clone_from(call);
            return;
        }
        self.close_step();
        self.call_count += 1;
        self.calls.push(call.clone());
    }

    fn take_message(&mut self, seq: u64, message: &Message) {
        // An answer or a question behind an open call would leave a call without a result.
        if self.open_calls().next().is_none() {
            self.fork_points.push(seq);
        }
        self.close_step();
        if message.role == MessageRole::User {
            self.turn += 1;
            self.end = None;
        }
        self.messages.push(message.clone());
    }

    /// Turns the calls of a step into messages once each has a result.
    fn close_step(&mut self) {
        if self.open_calls().next().is_none() {
            let calls = std::mem::take(&mut self.calls);
            self.messages.extend(messages_of(&calls));
        }
    }

    /// Returns the conversation so far, as a model may be sent it. Open calls are left out.
    pub fn messages(&self) -> Vec<Message> {
        let closed = self.calls.iter().filter(|call| !call.state.is_open());
        let closed: Vec<Call> = closed.cloned().collect();
        let mut messages = self.messages.clone();
        messages.extend(messages_of(&closed));
        messages
    }

    /// Returns the calls without a result.
    pub fn open_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.state.is_open())
    }

    /// Returns the number of calls.
    pub const fn call_count(&self) -> usize {
        self.call_count
    }

    /// Returns the number of the last turn; 0 before the first.
    pub const fn turn(&self) -> u32 {
        self.turn
    }

    /// Returns how the last turn ended; `None` if it has not.
    pub const fn end(&self) -> Option<TurnEnd> {
        self.end
    }

    /// Returns the records behind which the conversation stands by itself (KODE-54).
    pub fn fork_points(&self) -> &[u64] {
        &self.fork_points
    }
}

fn messages_of(calls: &[Call]) -> Vec<Message> {
    if calls.is_empty() {
        return Vec::new();
    }
    let message = |role, content| Message {
        role,
        content,
        transport: ktx_llm_runtime::Transport::default(),
    };
    let uses = calls.iter().map(|call| ContentBlock::ToolUse {
        id: call.id.clone(),
        name: call.name.clone(),
        input: call.input.clone(),
        meta: serde_json::Map::new(),
    });
    let results = calls.iter().map(|call| ContentBlock::ToolResult {
        tool_use_id: call.id.clone(),
        content: call.result.clone().unwrap_or_default(),
        is_error: call.state != crate::CallState::Completed,
    });
    vec![
        message(MessageRole::Assistant, uses.collect()),
        message(MessageRole::User, results.collect()),
    ]
}
