//! Counting turns and tokens over the stream.

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{StopReason, TokenUsage};

use crate::protocol::{AssistantFrame, Block, StreamFrame, ToolResult};

/// Messages of one turn beside its first: continuations and new tries.
const MESSAGES_BESIDE: u32 = 8;

/// Turns beyond those that were allowed, which the program itself has to stop at.
const TURNS_BESIDE: u32 = 4;

/// Counts assistant turns (KTX-68). A turn ends when its message has been followed by another one,
/// after at least one of its tool calls was answered, or by the result.
#[derive(Debug, Default)]
pub(crate) struct TurnCounter {
    message: Option<String>,
    /// Turns that have ended behind tool calls.
    turns: u32,
    /// Messages of the turn that goes on.
    messages: u32,
    calls: BTreeSet<String>,
    answered: bool,
}

impl TurnCounter {
    /// Takes a line of a main assistant message; true when it ended the turn before.
    pub(crate) fn assistant(&mut self, frame: &AssistantFrame) -> bool {
        let mut ended = false;
        if self.message.as_deref() != Some(&*frame.id) {
            ended = std::mem::take(&mut self.answered);
            if ended {
                self.turns = self.turns.saturating_add(1);
                self.messages = 0;
            }
            self.message = Some(frame.id.clone());
            self.messages = self.messages.saturating_add(1);
            self.calls.clear();
        }
        for block in &frame.blocks {
            if let Block::ToolUse { id, .. } = block {
                self.calls.insert(id.clone());
            }
        }
        ended
    }

    /// Whether the model will never come to an end by itself. Some versions go on asking for an
    /// object that it does not give, and count no turns; a long answer is continued in new messages,
    /// and one that broke off is begun again.
    pub(crate) fn is_endless(&self, most_turns: u32) -> bool {
        self.messages > 1 + MESSAGES_BESIDE || self.turns > most_turns.saturating_add(TURNS_BESIDE)
    }

    /// Takes results of tool calls.
    pub(crate) fn tool_results(&mut self, results: &[ToolResult]) {
        self.answered |= results
            .iter()
            .any(|result| self.calls.contains(&result.call_id));
    }

    /// Takes the result; true when it ended a turn.
    pub(crate) fn result(&mut self, stop: StopReason) -> bool {
        self.answered || (self.message.is_some() && stop == StopReason::Natural)
    }
}

/// What one message used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageUsage {
    /// The id of the message.
    pub(crate) id: String,
    /// The model.
    pub(crate) model: String,
    /// The counters.
    pub(crate) usage: TokenUsage,
}

/// Counts tokens, once per message id (COG-07…09): the input from the start of the message, the
/// output from its end.
#[derive(Debug, Default)]
pub(crate) struct UsageMeter {
    open: Vec<MessageUsage>,
    counted: BTreeSet<String>,
    /// The sums over counted messages, by model.
    used: BTreeMap<String, TokenUsage>,
    /// The message that is being written, by the tool call inside which that happens.
    streaming: BTreeMap<String, String>,
}

impl UsageMeter {
    /// Takes a piece of a message; gives the message when its numbers are final.
    pub(crate) fn stream(
        &mut self,
        piece: &StreamFrame,
        parent: Option<&str>,
    ) -> Option<MessageUsage> {
        let parent = parent.unwrap_or_default();
        match piece {
            StreamFrame::Start { id, model, usage } => {
                self.streaming.insert(parent.to_owned(), id.clone());
                self.keep(id, model, *usage);
                None
            }
            StreamFrame::Delta { output } => {
                let message = self.streaming_message(parent)?;
                message.usage.output = output.unwrap_or(message.usage.output);
                None
            }
            StreamFrame::Stop => {
                let id = self.streaming.remove(parent)?;
                self.count(&id)
            }
            StreamFrame::Text(_) | StreamFrame::Other => None,
        }
    }

    /// Takes a line of an assistant message. Its numbers are final only when it was not streamed.
    pub(crate) fn assistant(&mut self, frame: &AssistantFrame) -> Option<MessageUsage> {
        if frame.is_synthetic() {
            return None;
        }
        self.keep(&frame.id, &frame.model, frame.usage);
        frame.stop_reason.as_ref()?;
        if let Some(message) = self.open.iter_mut().find(|open| open.id == frame.id) {
            message.usage = frame.usage;
        }
        self.count(&frame.id)
    }

    /// Gives the messages that never became whole, with what is known of them.
    pub(crate) fn flush(&mut self) -> Vec<MessageUsage> {
        let open: Vec<String> = self.open.iter().map(|message| message.id.clone()).collect();
        open.iter().filter_map(|id| self.count(id)).collect()
    }

    /// The sums over counted messages, by model.
    pub(crate) fn used(self) -> BTreeMap<String, TokenUsage> {
        self.used
    }

    fn keep(&mut self, id: &str, model: &str, usage: TokenUsage) {
        let known = self.counted.contains(id) || self.open.iter().any(|open| open.id == id);
        if !known && !id.is_empty() {
            self.open.push(MessageUsage {
                id: id.to_owned(),
                model: model.to_owned(),
                usage,
            });
        }
    }

    fn streaming_message(&mut self, parent: &str) -> Option<&mut MessageUsage> {
        let id = self.streaming.get(parent)?;
        self.open.iter_mut().find(|open| open.id == *id)
    }

    fn count(&mut self, id: &str) -> Option<MessageUsage> {
        let at = self.open.iter().position(|open| open.id == id)?;
        let message = self.open.remove(at);
        self.counted.insert(message.id.clone());
        *self.used.entry(message.model.clone()).or_default() += message.usage;
        Some(message)
    }
}
