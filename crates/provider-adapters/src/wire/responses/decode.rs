//! OpenAI Responses: responses and streams.

use ktx_llm_runtime::{ContentBlock, LlmError, META_PROVIDER, TokenUsage};
use serde_json::{Map, Value};

use super::PROVIDER;
use crate::wire::json::{arguments, count, list, single_entry, text, written};
use crate::wire::response::{BrokenCall, MessageDraft, Response, ResponseEnd, StreamEvent};
use crate::wire::sse::SseEvent;
use crate::wire::{ProtocolDecoder, cut_stream, failure};

#[derive(Debug, Default)]
pub(crate) struct ResponsesDecoder {
    items: Vec<Value>,
    stop: Option<Result<ResponseEnd, LlmError>>,
    draft: MessageDraft,
}

impl ResponsesDecoder {
    fn head(&mut self, response: &Value) {
        if let Some(id) = text(response, "/id") {
            self.draft.id = Some(id.to_owned());
        }
        if let Some(model) = text(response, "/model") {
            self.draft.model = Some(model.to_owned());
        }
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            self.draft.usage = tokens(usage);
        }
    }

    fn end(&mut self, response: &Value) {
        self.head(response);
        // The terminal event of some streams has no items; those of `output_item.done` count then.
        if self.items.is_empty() {
            self.items = list(response, "/output").to_vec();
        }
        let reason = text(response, "/incomplete_details/reason");
        self.stop = Some(match text(response, "/status") {
            Some("completed") | None => Ok(ResponseEnd::Natural),
            Some("incomplete") => match reason {
                Some("max_output_tokens") => Ok(ResponseEnd::MaxOutput),
                Some("content_filter") => Ok(ResponseEnd::Refusal(None)),
                other => Err(failure::stopped(other.unwrap_or("incomplete"))),
            },
            Some("failed" | "cancelled") => Err(failure::in_stream(response)),
            Some(other) => Err(failure::stopped(other)),
        });
    }
}

impl ProtocolDecoder for ResponsesDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) -> Result<(), LlmError> {
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let data: Value = failure::event_json(&event.data)?;
        let grown = written(&data["delta"]);
        self.draft.seen = self.draft.seen.saturating_add(grown);
        let delta = || text(&data, "/delta").unwrap_or_default().to_owned();
        match text(&data, "/type").unwrap_or_default() {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.head(&data["response"]);
            }
            "response.output_text.delta" => out.push(StreamEvent::Text(delta())),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                out.push(StreamEvent::Reasoning(delta()));
            }
            "response.output_item.done" => {
                // In no other event.
                if text(&data, "/item/type") == Some("reasoning") {
                    let encrypted = written(&data["item"]["encrypted_content"]);
                    self.draft.seen = self.draft.seen.saturating_add(encrypted);
                }
                self.items.push(data["item"].clone());
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(&data["response"]);
            }
            "error" => return Err(failure::in_stream(&data)),
            "response.output_item.added"
            | "response.content_part.added"
            | "response.content_part.done"
            | "response.output_text.done"
            | "response.refusal.delta"
            | "response.refusal.done"
            | "response.function_call_arguments.delta"
            | "response.function_call_arguments.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done"
            | "response.reasoning_summary_text.done"
            | "response.reasoning_text.done" => {}
            _ => self.draft.unknown += 1,
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value) -> Result<(), LlmError> {
        self.head(body);
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failure::in_stream(body));
        }
        if body.get("output").is_none() {
            return Err(failure::not_a_model_response());
        }
        self.draft.seen = written(&body["output"]);
        self.end(body);
        Ok(())
    }

    fn ended(&self) -> bool {
        self.stop.is_some()
    }

    fn draft(&self) -> &MessageDraft {
        &self.draft
    }

    fn finish(mut self: Box<Self>) -> Result<Response, LlmError> {
        let mut stop = self.stop.ok_or_else(cut_stream)??;
        let mut content = Vec::new();
        let mut broken = Vec::new();
        for item in self.items {
            match text(&item, "/type").unwrap_or_default() {
                "message" => {
                    for part in list(&item, "/content") {
                        match text(part, "/type").unwrap_or_default() {
                            "output_text" => content.push(ContentBlock::Text {
                                text: text(part, "/text").unwrap_or_default().to_owned(),
                            }),
                            "refusal" => stop = ResponseEnd::Refusal(None),
                            _ => self.draft.unknown += 1,
                        }
                    }
                }
                "reasoning" => content.push(reasoning(item)),
                "function_call" => content.push(call(&item, &mut broken)),
                _ => {
                    self.draft.unknown += 1;
                    content.push(ContentBlock::Opaque {
                        provider: PROVIDER.to_owned(),
                        json: item,
                    });
                }
            }
        }
        Ok(Response {
            draft: self.draft,
            content,
            stop,
            broken,
        })
    }
}

fn reasoning(item: Value) -> ContentBlock {
    let words = |pointer| {
        list(&item, pointer)
            .iter()
            .filter_map(|part| text(part, "/text"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let summary = words("/summary");
    let readable = if summary.is_empty() {
        words("/content")
    } else {
        summary
    };
    let mut meta = single_entry(META_PROVIDER, PROVIDER);
    meta.insert("item".to_owned(), item);
    ContentBlock::Reasoning {
        reasoning: readable,
        meta,
    }
}

fn call(item: &Value, broken: &mut Vec<BrokenCall>) -> ContentBlock {
    let string = |pointer| text(item, pointer).unwrap_or_default().to_owned();
    let id = string("/call_id");
    let input = arguments(&string("/arguments")).unwrap_or_else(|| {
        broken.push(BrokenCall { id: id.clone() });
        Value::Object(Map::default())
    });
    ContentBlock::ToolUse {
        id,
        name: string("/name"),
        input,
        meta: Map::default(),
    }
}

fn tokens(usage: &Value) -> TokenUsage {
    let cache_read = count(usage, "/input_tokens_details/cached_tokens");
    let written = count(usage, "/input_tokens_details/cache_write_tokens");
    TokenUsage {
        input: count(usage, "/input_tokens")
            .saturating_sub(cache_read)
            .saturating_sub(written),
        cache_write_5m: written,
        cache_write_1h: 0,
        cache_read,
        output: count(usage, "/output_tokens"),
        reasoning: count(usage, "/output_tokens_details/reasoning_tokens"),
    }
}
