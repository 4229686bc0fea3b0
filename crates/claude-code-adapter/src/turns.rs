//! Counting turns and tokens over the stream.

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{StopReason, TokenUsage, UsageKind};

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
    /// Whether they are final.
    pub(crate) kind: UsageKind,
}

/// What a line says about the cost of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Counted {
    /// It has begun, or its output has grown: what it costs so far.
    Begun(MessageUsage),
    /// It is whole.
    Whole(MessageUsage),
}

/// Bytes of an answer per token, for the output of a message that is not whole: prose has four, code
/// and JSON about three.
const BYTES_PER_TOKEN: u64 = 3;

/// After how many more output tokens an unfinished message is told again, at least and at most: a quarter
/// of what was told is the most that a killed program knows too little.
const TOLD_EVERY: [u64; 2] = [4, 200];

#[derive(Debug)]
struct OpenMessage {
    message: MessageUsage,
    /// Bytes of the answer so far.
    written: u64,
    /// The output that was told last.
    told: u64,
}

impl OpenMessage {
    /// Takes more of the answer; gives the message when it has grown by much.
    fn grow(&mut self, bytes: usize) -> Option<Counted> {
        self.written = self
            .written
            .saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let output = &mut self.message.usage.output;
        *output = (*output).max(self.written / BYTES_PER_TOKEN);
        let [least, most] = TOLD_EVERY;
        let further = (self.told / 4).clamp(least, most);
        if *output < self.told.saturating_add(further) {
            return None;
        }
        self.told = *output;
        Some(Counted::Begun(self.message.clone()))
    }
}

/// Counts tokens, once per message id (COG-07…09): the input from the start of the message, the
/// output from its end. The output of a message without an end is estimated from what was seen of it.
#[derive(Debug, Default)]
pub(crate) struct UsageMeter {
    /// The model that the session was begun with.
    session_model: String,
    open: Vec<OpenMessage>,
    counted: BTreeSet<String>,
    /// Messages that have begun.
    begun: u32,
    /// The sums over counted messages, by model.
    used: BTreeMap<String, TokenUsage>,
    /// The message that is being written, by the tool call inside which that happens.
    streaming: BTreeMap<String, String>,
}

impl UsageMeter {
    /// Takes the model that the surface names.
    pub(crate) fn session_model(&mut self, model: &str) {
        model.clone_into(&mut self.session_model);
    }

    /// Takes a piece of a message; gives the message when it begins, has grown, or is whole.
    pub(crate) fn stream(&mut self, piece: &StreamFrame, parent: Option<&str>) -> Option<Counted> {
        let parent = parent.unwrap_or_default();
        match piece {
            StreamFrame::Start { id, model, usage } => {
                self.streaming.insert(parent.to_owned(), id.clone());
                self.keep(id, model, *usage)
            }
            StreamFrame::Text(text) => self.streaming_message(parent)?.grow(text.len()),
            StreamFrame::Written(bytes) => self.streaming_message(parent)?.grow(*bytes),
            StreamFrame::Delta { output } => {
                let message = &mut self.streaming_message(parent)?.message;
                if let Some(output) = output {
                    message.usage.output = *output;
                    message.kind = UsageKind::Message;
                }
                None
            }
            StreamFrame::Stop => {
                let id = self.streaming.remove(parent)?;
                self.count(&id).map(Counted::Whole)
            }
            StreamFrame::Other => None,
        }
    }

    /// Takes a line of an assistant message. Its numbers are final only when it was not streamed.
    pub(crate) fn assistant(&mut self, frame: &AssistantFrame) -> Option<Counted> {
        if frame.is_synthetic() {
            return None;
        }
        let begun = self.keep(&frame.id, &frame.model, frame.usage);
        if frame.stop_reason.is_none() {
            return begun;
        }
        if let Some(open) = self.open_message(&frame.id) {
            open.message.usage = frame.usage;
            open.message.kind = UsageKind::Message;
        }
        self.count(&frame.id).map(Counted::Whole)
    }

    /// Gives the messages that never became whole, with what is known of them.
    pub(crate) fn flush(&mut self) -> Vec<MessageUsage> {
        let ids = self.open.iter().map(|open| open.message.id.clone());
        let open: Vec<String> = ids.collect();
        open.iter().filter_map(|id| self.count(id)).collect()
    }

    /// The ids of counted messages, and the sums over them by model.
    pub(crate) fn into_counted(self) -> (BTreeSet<String>, BTreeMap<String, TokenUsage>) {
        (self.counted, self.used)
    }

    fn keep(&mut self, id: &str, model: &str, usage: TokenUsage) -> Option<Counted> {
        if id.is_empty() || self.counted.contains(id) || self.open_message(id).is_some() {
            return None;
        }
        // The model of a message is the one that answered it, and that its process adds it to
        // (`modelUsage`): what it costs has that model's price. The surface names what the session
        // was begun with, which an alias, a refusal or a missing model lets another one answer for.
        let model = match model {
            "" => self.session_model.clone(),
            model => model.to_owned(),
        };
        let message = MessageUsage {
            id: id.to_owned(),
            model,
            usage,
            kind: UsageKind::Incomplete,
        };
        self.open.push(OpenMessage {
            message: message.clone(),
            written: 0,
            told: usage.output,
        });
        self.begun = self.begun.saturating_add(1);
        Some(Counted::Begun(message))
    }

    /// Whether the message that began last is not the first.
    pub(crate) fn is_further(&self) -> bool {
        self.begun > 1
    }

    fn open_message(&mut self, id: &str) -> Option<&mut OpenMessage> {
        self.open.iter_mut().find(|open| open.message.id == id)
    }

    fn streaming_message(&mut self, parent: &str) -> Option<&mut OpenMessage> {
        let id = self.streaming.get(parent)?.clone();
        self.open_message(&id)
    }

    fn count(&mut self, id: &str) -> Option<MessageUsage> {
        let at = self.open.iter().position(|open| open.message.id == id)?;
        let message = self.open.remove(at).message;
        self.counted.insert(message.id.clone());
        *self.used.entry(message.model.clone()).or_default() += message.usage;
        Some(message)
    }
}
