//! OpenAI Chat Completions: responses and streams.

use ktx_llm_runtime::{ContentBlock, LlmError, META_PROVIDER, TokenUsage};
use serde_json::{Map, Value};

use super::think::{SplitText, ThinkSplitter};
use crate::wire::json::{arguments, count, dollars, list, single_entry, text, written};
use crate::wire::response::{BrokenCall, MessageDraft, Response, ResponseEnd, StreamEvent};
use crate::wire::sse::SseEvent;
use crate::wire::{ProtocolDecoder, cut_stream, failure};

const REASONING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];

const COSTS: &[&str] = &[
    "/usage/cost",
    "/providerMetadata/gateway/cost",
    "/provider_metadata/gateway/cost",
    "/choices/0/message/provider_metadata/gateway/cost",
    "/choices/0/delta/provider_metadata/gateway/cost",
];

#[derive(Debug)]
struct GrowingCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Debug)]
pub(crate) struct ChatDecoder {
    provider: String,
    text: String,
    reasoning: String,
    details: Vec<Value>,
    field: Option<&'static str>,
    think: ThinkSplitter,
    calls: Vec<GrowingCall>,
    finish_reason: Option<String>,
    refused: bool,
    draft: MessageDraft,
    ended: bool,
}

impl ChatDecoder {
    pub(crate) fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            text: String::new(),
            reasoning: String::new(),
            details: Vec::new(),
            field: None,
            think: ThinkSplitter::default(),
            calls: Vec::new(),
            finish_reason: None,
            refused: false,
            draft: MessageDraft::default(),
            ended: false,
        }
    }

    fn head(&mut self, chunk: &Value) {
        if self.draft.id.is_none() {
            self.draft.id = text(chunk, "/id")
                .filter(|id| !id.is_empty())
                .map(str::to_owned);
        }
        if let Some(model) = text(chunk, "/model") {
            self.draft.model = Some(model.to_owned());
        }
        // Groq nests the counters of a stream.
        for usage in [chunk.get("usage"), chunk.pointer("/x_groq/usage")] {
            if let Some(usage) = usage.filter(|usage| usage.is_object()) {
                self.draft.usage = tokens(usage);
            }
        }
        if let Some(cost) = dollars(chunk, COSTS) {
            self.draft.reported_cost_usd = Some(cost);
        }
    }

    fn message(&mut self, message: &Value, out: &mut Vec<StreamEvent>) {
        self.draft.seen = self.draft.seen.saturating_add(written(message));
        for field in REASONING_FIELDS {
            if let Some(piece) = text(message, &format!("/{field}")).filter(|p| !p.is_empty()) {
                self.field.get_or_insert(field);
                self.reason(piece, out);
                break;
            }
        }
        let details = list(message, "/reasoning_details");
        if !details.is_empty() {
            let first = self.field.get_or_insert("reasoning_details");
            if *first == "reasoning_details" {
                self.detail(details, out);
            } else {
                self.details.extend(details.iter().cloned());
            }
        }
        if let Some(piece) = text(message, "/content").filter(|piece| !piece.is_empty()) {
            let split = self.think.push(piece);
            self.push_split(split, out);
        }
        if let Some(piece) = text(message, "/refusal").filter(|piece| !piece.is_empty()) {
            self.refused = true;
            tracing::debug!(length = piece.len(), "the model refused in words");
        }
        for call in list(message, "/tool_calls") {
            self.call(call);
        }
    }

    fn finish_with(&mut self, choice: &Value) {
        // Some servers send empty reasons in between.
        if let Some(reason) = text(choice, "/finish_reason").filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason.to_owned());
        }
    }

    fn reason(&mut self, piece: &str, out: &mut Vec<StreamEvent>) {
        self.reasoning.push_str(piece);
        out.push(StreamEvent::Reasoning(piece.to_owned()));
    }

    /// Some versions repeat all details.
    fn detail(&mut self, details: &[Value], out: &mut Vec<StreamEvent>) {
        let words: String = details
            .iter()
            .filter_map(|detail| text(detail, "/text"))
            .collect();
        let grown = words
            .strip_prefix(self.reasoning.as_str())
            .filter(|_| !self.reasoning.is_empty())
            .map(str::to_owned);
        if let Some(rest) = grown {
            self.details = details.to_vec();
            if !rest.is_empty() {
                self.reason(&rest, out);
            }
            return;
        }
        self.details.extend(details.iter().cloned());
        if !words.is_empty() {
            self.reason(&words, out);
        }
    }

    fn push_split(&mut self, split: SplitText, out: &mut Vec<StreamEvent>) {
        if !split.reasoning.is_empty() {
            self.reason(&split.reasoning, out);
        }
        if !split.text.is_empty() {
            self.text.push_str(&split.text);
            out.push(StreamEvent::Text(split.text));
        }
    }

    /// A new id begins a new call, even at a used index.
    fn call(&mut self, piece: &Value) {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = text(piece, "/id").unwrap_or_default();
        let place = self.calls.iter().rposition(|call| match index {
            Some(index) => call.index == index && (id.is_empty() || call.id == id),
            None => !id.is_empty() && call.id == id,
        });
        let place = place.unwrap_or_else(|| {
            let next = u64::try_from(self.calls.len()).unwrap_or(u64::MAX);
            self.calls.push(GrowingCall {
                index: index.unwrap_or(next),
                id: id.to_owned(),
                name: String::new(),
                arguments: String::new(),
            });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(place) else {
            return;
        };
        if call.name.is_empty() {
            text(piece, "/function/name")
                .unwrap_or_default()
                .clone_into(&mut call.name);
        }
        match piece.pointer("/function/arguments") {
            Some(Value::String(arguments)) => call.arguments.push_str(arguments),
            Some(object @ Value::Object(_)) => call.arguments = object.to_string(),
            _ => {}
        }
    }
}

impl ProtocolDecoder for ChatDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) -> Result<(), LlmError> {
        if event.data.trim() == "[DONE]" {
            self.ended = true;
            return Ok(());
        }
        let chunk: Value = failure::event_json(&event.data)?;
        self.head(&chunk);
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failure::in_stream(&chunk));
        }
        match list(&chunk, "/choices").first() {
            Some(choice) => {
                self.message(&choice["delta"], out);
                self.finish_with(choice);
            }
            None if chunk.get("choices").is_none() => self.draft.unknown += 1,
            None => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value) -> Result<(), LlmError> {
        self.head(body);
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failure::in_stream(body));
        }
        let Some(choice) = list(body, "/choices").first() else {
            return Err(failure::not_a_model_response());
        };
        self.message(&choice["message"], &mut Vec::new());
        self.finish_with(choice);
        self.ended = true;
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn draft(&self) -> &MessageDraft {
        &self.draft
    }

    fn finish(mut self: Box<Self>) -> Result<Response, LlmError> {
        // Some servers omit `[DONE]`.
        if !self.ended && self.finish_reason.is_none() {
            return Err(cut_stream());
        }
        let rest = self.think.finish();
        self.push_split(rest, &mut Vec::new());
        let mut content = Vec::new();
        if !self.reasoning.is_empty() || !self.details.is_empty() {
            let mut meta = single_entry(META_PROVIDER, self.provider.as_str());
            if let Some(field) = self.field {
                meta.insert("field".to_owned(), field.into());
            }
            if !self.details.is_empty() {
                meta.insert("details".to_owned(), self.details.into());
            }
            content.push(ContentBlock::Reasoning {
                reasoning: self.reasoning,
                meta,
            });
        }
        if !self.text.is_empty() {
            content.push(ContentBlock::Text { text: self.text });
        }
        let mut broken = Vec::new();
        for (number, call) in (1..).zip(self.calls) {
            content.push(finished(call, number, &mut broken));
        }
        let stop = match self.finish_reason.as_deref() {
            _ if self.refused => ResponseEnd::Refusal(None),
            None => ResponseEnd::Natural,
            Some(reason) => stop(reason)?,
        };
        Ok(Response {
            draft: self.draft,
            content,
            stop,
            broken,
        })
    }
}

/// Includes the variants of other servers.
fn stop(reason: &str) -> Result<ResponseEnd, LlmError> {
    Ok(match reason {
        "stop" | "tool_calls" | "function_call" | "tool_use" | "end_turn" | "stop_sequence"
        | "eos" | "eos_token" => ResponseEnd::Natural,
        "length" | "max_tokens" => ResponseEnd::MaxOutput,
        "model_length" | "model_context_window_exceeded" => ResponseEnd::ContextFull,
        "content_filter" | "refusal" => ResponseEnd::Refusal(None),
        "sensitive" => ResponseEnd::Refusal(Some(reason.to_owned())),
        other => return Err(failure::stopped(other)),
    })
}

fn finished(call: GrowingCall, number: u32, broken: &mut Vec<BrokenCall>) -> ContentBlock {
    let id = if call.id.is_empty() {
        format!("call-{number}")
    } else {
        call.id
    };
    let input = arguments(&call.arguments).unwrap_or_else(|| {
        broken.push(BrokenCall { id: id.clone() });
        Value::Object(Map::default())
    });
    ContentBlock::ToolUse {
        id,
        name: call.name,
        input,
        meta: Map::default(),
    }
}

/// The prompt counter includes cached reads and writes.
fn tokens(usage: &Value) -> TokenUsage {
    let first = |pointers: &[&str]| {
        pointers
            .iter()
            .map(|pointer| count(usage, pointer))
            .find(|count| *count > 0)
            .unwrap_or(0)
    };
    let cache_read = first(&[
        "/prompt_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cached_tokens",
    ]);
    let written = first(&[
        "/prompt_tokens_details/cache_write_tokens",
        "/prompt_tokens_details/cache_creation_input_tokens",
    ]);
    TokenUsage {
        input: count(usage, "/prompt_tokens")
            .saturating_sub(cache_read)
            .saturating_sub(written),
        cache_write_5m: written,
        cache_write_1h: 0,
        cache_read,
        output: count(usage, "/completion_tokens"),
        reasoning: count(usage, "/completion_tokens_details/reasoning_tokens"),
    }
}
