//! Counts turns and tokens in the stream.

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{StopReason, TokenUsage, UsageKind};

use crate::protocol::{AssistantBlock, AssistantFrame, StreamFrame, ToolResult};

/// Allowed extra messages per turn: continuations and retries.
const MESSAGES_BESIDE: u32 = 8;

/// Allowed turns beyond the limit, which the program itself should enforce.
const TURNS_BESIDE: u32 = 4;

/// Counts assistant turns (KTX-68). A turn ends with the result, or when another message follows
/// after one of its tool calls was answered.
#[derive(Debug, Default)]
pub(crate) struct TurnCounter {
    message: Option<String>,
    turns: u32,
    messages: u32,
    calls: BTreeSet<String>,
    answered: bool,
}

impl TurnCounter {
    /// Takes a line of a main assistant message; true if it ended the previous turn.
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

    /// Whether the model will never end by itself. Some versions keep asking for a missing object
    /// and count no turns; a long answer continues in new messages, and an interrupted one starts
    /// over.
    pub(crate) fn is_endless(&self, most_turns: u32) -> bool {
        self.messages > 1 + MESSAGES_BESIDE || self.turns > most_turns.saturating_add(TURNS_BESIDE)
    }

    pub(crate) fn tool_results(&mut self, results: &[ToolResult]) {
        self.answered |= results
            .iter()
            .any(|result| self.calls.contains(&result.call_id));
    }

    /// True if the result ended a turn.
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

/// Bytes per token, to estimate the output of an unfinished message: prose has four, code and JSON
/// about three.
const BYTES_PER_TOKEN: u64 = 3;

/// Minimum and maximum of further output tokens after which an unfinished message is reported
/// again. A killed program misses at most a quarter of what was reported.
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

/// Counts tokens once per message id (COG-07…09): the input from the start of the message, the
/// output from its end. The output of an unfinished message is estimated.
#[derive(Debug, Default)]
pub(crate) struct UsageMeter {
    session_model: String,
    open: Vec<OpenMessage>,
    counted: BTreeSet<String>,
    begun: u32,
    /// The sums over counted messages, by model.
    used: BTreeMap<String, TokenUsage>,
    /// The message that is being written, by the tool call it is in.
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

    /// Its counts are final only if the message was not streamed.
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
        // Prices follow the model that answered the message, which the process also reports in
        // `modelUsage`. The surface names the model that the session began with; an alias, a
        // refusal or a missing model may let another one answer.
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
