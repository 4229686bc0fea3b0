//! Counts turns and tokens in the stream.

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{StopReason, TokenUsage, UsageKind};

use crate::protocol::{AssistantBlock, AssistantFrame, StreamFrame, ToolResult};

/// Continuations and retries.
const MESSAGES_BESIDE: u32 = 8;

/// The program itself should enforce the limit.
const TURNS_BESIDE: u32 = 4;

/// A turn ends with the result, or with a message after an answered tool call (KTX-68).
#[derive(Debug, Default)]
pub(crate) struct TurnCounter {
    message: Option<String>,
    turns: u32,
    messages: u32,
    calls: BTreeSet<String>,
    answered: bool,
}

impl TurnCounter {
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
            if let AssistantBlock::ToolUse { id, .. } = block {
                self.calls.insert(id.clone());
            }
        }
        ended
    }

    /// Some versions ask forever for a missing object; long answers continue in new messages.
    pub(crate) fn is_endless(&self, most_turns: u32) -> bool {
        self.messages > 1 + MESSAGES_BESIDE || self.turns > most_turns.saturating_add(TURNS_BESIDE)
    }

    pub(crate) fn tool_results(&mut self, results: &[ToolResult]) {
        self.answered |= results
            .iter()
            .any(|result| self.calls.contains(&result.call_id));
    }

    pub(crate) fn result(&mut self, stop: StopReason) -> bool {
        self.answered || (self.message.is_some() && stop == StopReason::Natural)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageUsage {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) usage: TokenUsage,
    pub(crate) kind: UsageKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UsageUpdate {
    Begun(MessageUsage),
    Whole(MessageUsage),
}

/// Estimate: prose has four, code and JSON about three.
const BYTES_PER_TOKEN: u64 = 3;

/// Bounds of output tokens between reports. A kill loses at most a quarter of what was reported.
const REPORT_EVERY: [u64; 2] = [4, 200];

#[derive(Debug)]
struct OpenMessage {
    message: MessageUsage,
    written: u64,
    reported: u64,
}

impl OpenMessage {
    fn grow(&mut self, bytes: usize) -> Option<UsageUpdate> {
        self.written = self
            .written
            .saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let output = &mut self.message.usage.output;
        *output = (*output).max(self.written / BYTES_PER_TOKEN);
        let [least, most] = REPORT_EVERY;
        let further = (self.reported / 4).clamp(least, most);
        if *output < self.reported.saturating_add(further) {
            return None;
        }
        self.reported = *output;
        Some(UsageUpdate::Begun(self.message.clone()))
    }
}

/// Counts each message id once (COG-07…09): input from the start, output from the end or estimated.
#[derive(Debug, Default)]
pub(crate) struct UsageMeter {
    session_model: String,
    open: Vec<OpenMessage>,
    counted: BTreeSet<String>,
    begun: u32,
    used: BTreeMap<String, TokenUsage>,
    /// By enclosing tool call.
    streaming: BTreeMap<String, String>,
}

impl UsageMeter {
    pub(crate) fn session_model(&mut self, model: &str) {
        model.clone_into(&mut self.session_model);
    }

    pub(crate) fn stream(
        &mut self,
        piece: &StreamFrame,
        parent: Option<&str>,
    ) -> Option<UsageUpdate> {
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
                self.count(&id).map(UsageUpdate::Whole)
            }
            StreamFrame::Other => None,
        }
    }

    /// Final if not streamed.
    pub(crate) fn assistant(&mut self, frame: &AssistantFrame) -> Option<UsageUpdate> {
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
        self.count(&frame.id).map(UsageUpdate::Whole)
    }

    pub(crate) fn flush(&mut self) -> Vec<MessageUsage> {
        let ids = self.open.iter().map(|open| open.message.id.clone());
        let open: Vec<String> = ids.collect();
        open.iter().filter_map(|id| self.count(id)).collect()
    }

    pub(crate) fn into_counted(self) -> (BTreeSet<String>, BTreeMap<String, TokenUsage>) {
        (self.counted, self.used)
    }

    fn keep(&mut self, id: &str, model: &str, usage: TokenUsage) -> Option<UsageUpdate> {
        if id.is_empty() || self.counted.contains(id) || self.open_message(id).is_some() {
            return None;
        }
        // The model that answered sets the price; it can differ from the surface after an alias, a
        // refusal or a missing model.
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
            reported: usage.output,
        });
        self.begun = self.begun.saturating_add(1);
        Some(UsageUpdate::Begun(message))
    }

    pub(crate) fn is_later_turn(&self) -> bool {
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
