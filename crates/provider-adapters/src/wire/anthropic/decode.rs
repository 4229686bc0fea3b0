//! Anthropic Messages: responses and streams.

use std::collections::BTreeMap;

use ktx_llm_runtime::{ContentBlock, LlmError, META_PROVIDER, TokenUsage};
use serde_json::{Map, Value};

use super::PROVIDER;
use crate::wire::json::{arguments, count, single_entry, text, written};
use crate::wire::response::{BrokenCall, MessageDraft, Response, ResponseEnd, StreamEvent};
use crate::wire::sse::SseEvent;
use crate::wire::{ProtocolDecoder, cut_stream, failure};

#[derive(Debug)]
enum OpenBlock {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    ToolUse {
        id: String,
        name: String,
        json: String,
        input: Value,
    },
    Other(Value),
}

#[derive(Debug, Default)]
pub(crate) struct AnthropicDecoder {
    blocks: BTreeMap<u64, OpenBlock>,
    usage: Map<String, Value>,
    stop_reason: Option<String>,
    refusal: Option<String>,
    draft: MessageDraft,
    ended: bool,
}

impl ProtocolDecoder for AnthropicDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) -> Result<(), LlmError> {
        let data: Value = failure::event_json(&event.data)?;
        match text(&data, "/type").unwrap_or_default() {
            "message_start" => {
                let message = data.get("message").cloned().unwrap_or_default();
                self.head(&message);
            }
            "content_block_start" => {
                let block = data.get("content_block").cloned().unwrap_or_default();
                self.start(count(&data, "/index"), block, out);
            }
            "content_block_delta" => self.delta(&data, out),
            "content_block_stop" | "ping" => {}
            "message_delta" => {
                self.stop(&data["delta"]);
                self.count(&data["usage"]);
            }
            "message_stop" => self.ended = true,
            "error" => return Err(failure::in_stream(&data)),
            _ => self.draft.unknown += 1,
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value) -> Result<(), LlmError> {
        if text(body, "/type") == Some("error") {
            return Err(failure::in_stream(body));
        }
        if body
            .get("content")
            .is_none_or(|content| !content.is_array())
        {
            return Err(failure::not_a_model_response());
        }
        self.head(body);
        let mut shown = Vec::new();
        for (index, block) in (0_u64..).zip(super::super::json::list(body, "/content")) {
            self.start(index, block.clone(), &mut shown);
        }
        self.stop(body);
        self.ended = true;
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn draft(&self) -> &MessageDraft {
        &self.draft
    }

    fn finish(self: Box<Self>) -> Result<Response, LlmError> {
        if !self.ended {
            return Err(cut_stream());
        }
        let mut content = Vec::new();
        let mut broken = Vec::new();
        for growing in self.blocks.into_values() {
            content.push(finished(growing, &mut broken));
        }
        let stop = match self.stop_reason.as_deref() {
            None | Some("end_turn" | "tool_use" | "stop_sequence") => ResponseEnd::Natural,
            Some("max_tokens") => ResponseEnd::MaxOutput,
            Some("model_context_window_exceeded") => ResponseEnd::ContextFull,
            Some("pause_turn") => ResponseEnd::Pause,
            Some("refusal") => ResponseEnd::Refusal(self.refusal),
            Some(other) => return Err(failure::stopped(other)),
        };
        Ok(Response {
            draft: self.draft,
            content,
            stop,
            broken,
        })
    }
}

impl AnthropicDecoder {
    fn head(&mut self, message: &Value) {
        self.draft.id = text(message, "/id").map(str::to_owned);
        self.draft.model = text(message, "/model").map(str::to_owned);
        self.count(&message["usage"]);
    }

    /// Later counters replace earlier ones, except for null.
    fn count(&mut self, usage: &Value) {
        for (key, value) in usage.as_object().into_iter().flatten() {
            if !value.is_null() {
                self.usage.insert(key.clone(), value.clone());
            }
        }
        self.draft.usage = tokens(&Value::Object(self.usage.clone()));
    }

    fn stop(&mut self, holder: &Value) {
        if let Some(reason) = text(holder, "/stop_reason") {
            self.stop_reason = Some(reason.to_owned());
        }
        if let Some(category) = text(holder, "/stop_details/category") {
            self.refusal = Some(category.to_owned());
        }
    }

    fn start(&mut self, index: u64, block: Value, out: &mut Vec<StreamEvent>) {
        self.draft.seen = self.draft.seen.saturating_add(written(&block));
        let string = |pointer| text(&block, pointer).unwrap_or_default().to_owned();
        let growing = match text(&block, "/type").unwrap_or_default() {
            "text" => {
                let start = string("/text");
                if !start.is_empty() {
                    out.push(StreamEvent::Text(start.clone()));
                }
                OpenBlock::Text(start)
            }
            "thinking" => OpenBlock::Thinking {
                thinking: string("/thinking"),
                signature: string("/signature"),
            },
            "tool_use" => OpenBlock::ToolUse {
                id: string("/id"),
                name: string("/name"),
                json: String::new(),
                input: block.get("input").cloned().unwrap_or_default(),
            },
            "redacted_thinking" => OpenBlock::Other(block),
            _ => {
                self.draft.unknown += 1;
                OpenBlock::Other(block)
            }
        };
        self.blocks.insert(index, growing);
    }

    fn delta(&mut self, data: &Value, out: &mut Vec<StreamEvent>) {
        self.draft.seen = self.draft.seen.saturating_add(written(&data["delta"]));
        let Some(growing) = self.blocks.get_mut(&count(data, "/index")) else {
            self.draft.unknown += 1;
            return;
        };
        let kind = text(data, "/delta/type").unwrap_or_default();
        let piece = |pointer| text(data, pointer).unwrap_or_default();
        match (kind, growing) {
            ("text_delta", OpenBlock::Text(grown)) => {
                let piece = piece("/delta/text");
                grown.push_str(piece);
                out.push(StreamEvent::Text(piece.to_owned()));
            }
            ("thinking_delta", OpenBlock::Thinking { thinking, .. }) => {
                let piece = piece("/delta/thinking");
                thinking.push_str(piece);
                out.push(StreamEvent::Reasoning(piece.to_owned()));
            }
            ("signature_delta", OpenBlock::Thinking { signature, .. }) => {
                piece("/delta/signature").clone_into(signature);
            }
            ("input_json_delta", OpenBlock::ToolUse { json, .. }) => {
                json.push_str(piece("/delta/partial_json"));
            }
            ("citations_delta", OpenBlock::Text(_)) => {}
            _ => self.draft.unknown += 1,
        }
    }
}

fn finished(growing: OpenBlock, broken: &mut Vec<BrokenCall>) -> ContentBlock {
    match growing {
        OpenBlock::Text(text) => ContentBlock::Text { text },
        OpenBlock::Thinking {
            thinking,
            signature,
        } => {
            let mut meta = single_entry(META_PROVIDER, PROVIDER);
            meta.insert("signature".to_owned(), signature.into());
            ContentBlock::Reasoning {
                reasoning: thinking,
                meta,
            }
        }
        OpenBlock::ToolUse {
            id,
            name,
            json,
            input,
        } => {
            // A whole response has the input at once; a stream sends it as text.
            let given = input
                .as_object()
                .is_some_and(|input| !input.is_empty() && json.is_empty());
            let input = if given {
                input
            } else {
                arguments(&json).unwrap_or_else(|| {
                    broken.push(BrokenCall { id: id.clone() });
                    Value::Object(Map::default())
                })
            };
            ContentBlock::ToolUse {
                id,
                name,
                input,
                meta: Map::default(),
            }
        }
        OpenBlock::Other(block) if text(&block, "/type") == Some("redacted_thinking") => {
            let mut meta = single_entry(META_PROVIDER, PROVIDER);
            let data = block.get("data").cloned().unwrap_or_default();
            meta.insert("redacted_data".to_owned(), data);
            ContentBlock::Reasoning {
                reasoning: String::new(),
                meta,
            }
        }
        OpenBlock::Other(json) => ContentBlock::Opaque {
            provider: PROVIDER.to_owned(),
            json,
        },
    }
}

/// Without details, all cache writes count as five-minute writes.
fn tokens(usage: &Value) -> TokenUsage {
    let hour = count(usage, "/cache_creation/ephemeral_1h_input_tokens");
    let short = count(usage, "/cache_creation/ephemeral_5m_input_tokens");
    let written = count(usage, "/cache_creation_input_tokens");
    TokenUsage {
        input: count(usage, "/input_tokens"),
        cache_write_5m: if (hour, short) == (0, 0) {
            written
        } else {
            short
        },
        cache_write_1h: hour,
        cache_read: count(usage, "/cache_read_input_tokens"),
        output: count(usage, "/output_tokens"),
        reasoning: count(usage, "/output_tokens_details/thinking_tokens"),
    }
}
