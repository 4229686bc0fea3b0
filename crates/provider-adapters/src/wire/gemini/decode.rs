//! Gemini `generateContent`: responses and streams.

use ktx_llm_runtime::{ContentBlock, LlmError, META_PROVIDER, TokenUsage};
use serde_json::{Map, Value};

use super::PROVIDER;
use crate::wire::json::{count, list, single_entry, text, written};
use crate::wire::response::{MessageDraft, Response, ResponseEnd, StreamEvent};
use crate::wire::sse::SseEvent;
use crate::wire::{ProtocolDecoder, cut_stream, failure};

#[derive(Debug, Default)]
pub(crate) struct GeminiDecoder {
    content: Vec<ContentBlock>,
    stop: Option<Result<ResponseEnd, LlmError>>,
    calls: u32,
    draft: MessageDraft,
    whole: bool,
}

impl GeminiDecoder {
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) -> Result<(), LlmError> {
        if let Some(id) = text(chunk, "/responseId") {
            self.draft.id = Some(id.to_owned());
        }
        if let Some(model) = text(chunk, "/modelVersion") {
            self.draft.model = Some(model.to_owned());
        }
        if let Some(usage) = chunk.get("usageMetadata") {
            self.draft.usage = tokens(usage);
        }
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failure::in_stream(chunk));
        }
        if let Some(reason) = text(chunk, "/promptFeedback/blockReason") {
            self.stop = Some(Ok(ResponseEnd::Refusal(Some(reason.to_lowercase()))));
        }
        if let Some(candidate) = list(chunk, "/candidates").first() {
            for part in list(candidate, "/content/parts") {
                self.draft.seen = self.draft.seen.saturating_add(written(part));
                self.part(part, out);
            }
            if let Some(reason) = text(candidate, "/finishReason") {
                self.stop = Some(stop(reason));
            }
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, out: &mut Vec<StreamEvent>) {
        let signature = part
            .get("thoughtSignature")
            .filter(|value| !value.is_null());
        if let Some(call) = part.get("functionCall") {
            self.call(call, signature);
            return;
        }
        let Some(piece) = text(part, "/text") else {
            self.draft.unknown += 1;
            self.content.push(ContentBlock::Opaque {
                provider: PROVIDER.to_owned(),
                json: part.clone(),
            });
            return;
        };
        if part.get("thought") == Some(&Value::Bool(true)) {
            out.push(StreamEvent::Reasoning(piece.to_owned()));
            self.reason(piece, signature);
            return;
        }
        if !piece.is_empty() {
            out.push(StreamEvent::Text(piece.to_owned()));
            match self.content.last_mut() {
                Some(ContentBlock::Text { text }) => text.push_str(piece),
                _ => self.content.push(ContentBlock::Text {
                    text: piece.to_owned(),
                }),
            }
        }
        // The signature of a text is returned on an empty part after it.
        if signature.is_some() {
            self.push_reasoning("", signature);
        }
    }

    fn reason(&mut self, piece: &str, signature: Option<&Value>) {
        match self.content.last_mut() {
            Some(ContentBlock::Reasoning { reasoning, meta })
                if !reasoning.is_empty() && !meta.contains_key("thought_signature") =>
            {
                reasoning.push_str(piece);
                if let Some(signature) = signature {
                    meta.insert("thought_signature".to_owned(), signature.clone());
                }
            }
            _ => self.push_reasoning(piece, signature),
        }
    }

    fn push_reasoning(&mut self, piece: &str, signature: Option<&Value>) {
        let mut meta = single_entry(META_PROVIDER, PROVIDER);
        if let Some(signature) = signature {
            meta.insert("thought_signature".to_owned(), signature.clone());
        }
        self.content.push(ContentBlock::Reasoning {
            reasoning: piece.to_owned(),
            meta,
        });
    }

    fn call(&mut self, call: &Value, signature: Option<&Value>) {
        self.calls += 1;
        let mut meta = single_entry(META_PROVIDER, PROVIDER);
        let given = text(call, "/id").filter(|id| !id.is_empty());
        if let Some(id) = given {
            meta.insert("id".to_owned(), id.into());
        }
        if let Some(signature) = signature {
            meta.insert("thought_signature".to_owned(), signature.clone());
        }
        let input = call
            .get("args")
            .filter(|args| args.is_object())
            .cloned()
            .unwrap_or_else(|| Value::Object(Map::default()));
        self.content.push(ContentBlock::ToolUse {
            id: given.map_or_else(|| format!("call-{}", self.calls), str::to_owned),
            name: text(call, "/name").unwrap_or_default().to_owned(),
            input,
            meta,
        });
    }
}

impl ProtocolDecoder for GeminiDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) -> Result<(), LlmError> {
        let chunk: Value = failure::event_json(&event.data)?;
        self.chunk(&chunk, out)
    }

    fn whole(&mut self, body: &Value) -> Result<(), LlmError> {
        // A stream without `alt=sse` is a list of chunks.
        if let Value::Array(chunks) = body {
            for chunk in chunks {
                self.chunk(chunk, &mut Vec::new())?;
            }
        } else {
            if body.get("candidates").is_none()
                && body.get("promptFeedback").is_none()
                && body.get("error").is_none()
            {
                return Err(failure::not_a_model_response());
            }
            self.chunk(body, &mut Vec::new())?;
        }
        self.whole = true;
        Ok(())
    }

    /// Counters can follow the finish reason.
    fn ended(&self) -> bool {
        self.whole
    }

    fn draft(&self) -> &MessageDraft {
        &self.draft
    }

    fn finish(self: Box<Self>) -> Result<Response, LlmError> {
        let stop = self.stop.ok_or_else(cut_stream)??;
        Ok(Response {
            draft: self.draft,
            content: self.content,
            stop,
            broken: Vec::new(),
        })
    }
}

fn stop(reason: &str) -> Result<ResponseEnd, LlmError> {
    Ok(match reason {
        "STOP" => ResponseEnd::Natural,
        "MAX_TOKENS" => ResponseEnd::MaxOutput,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => ResponseEnd::Refusal(Some(reason.to_lowercase())),
        other => return Err(failure::stopped(other)),
    })
}

fn tokens(usage: &Value) -> TokenUsage {
    let cache_read = count(usage, "/cachedContentTokenCount");
    let sum = |one, other| count(usage, one).saturating_add(count(usage, other));
    TokenUsage {
        input: sum("/promptTokenCount", "/toolUsePromptTokenCount").saturating_sub(cache_read),
        cache_write_5m: 0,
        cache_write_1h: 0,
        cache_read,
        output: sum("/candidatesTokenCount", "/thoughtsTokenCount"),
        reasoning: count(usage, "/thoughtsTokenCount"),
    }
}
