//! The four wire protocols as pure functions.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod failure;
pub(crate) mod gemini;
mod json;
pub(crate) mod media;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod responses;
pub(crate) mod sse;

#[cfg(test)]
mod tests;

use ktx_llm_runtime::{LlmError, LlmErrorKind, Message};

use crate::preset::Protocol;
use request::{CanonicalRequest, EncodedRequest, RequestTarget};
use response::{MessageDraft, Response, StreamEvent};
use sse::{SseEvent, SseParser};

pub(crate) fn encode(request: &CanonicalRequest, target: &RequestTarget<'_>) -> EncodedRequest {
    match target.protocol {
        Protocol::Anthropic => anthropic::encode(request, target),
        Protocol::OpenAiChat => chat::encode(request, target),
        Protocol::OpenAiResponses => responses::encode(request, target),
        Protocol::Gemini => gemini::encode(request, target),
    }
}

pub(crate) trait ProtocolDecoder: Send {
    /// `out`: for immediate display.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) -> Result<(), LlmError>;

    /// Not a stream.
    fn whole(&mut self, body: &serde_json::Value) -> Result<(), LlmError>;

    fn ended(&self) -> bool;

    fn draft(&self) -> &MessageDraft;

    fn finish(self: Box<Self>) -> Result<Response, LlmError>;
}

/// Pieces can end anywhere, even within a character.
pub(crate) struct Decoder {
    sse: SseParser,
    protocol: Box<dyn ProtocolDecoder>,
    failed: Option<LlmError>,
    progress: u64,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder")
            .field("draft", self.protocol.draft())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    pub(crate) fn new(protocol: Protocol, provider: &str) -> Self {
        let protocol: Box<dyn ProtocolDecoder> = match protocol {
            Protocol::Anthropic => Box::new(anthropic::AnthropicDecoder::default()),
            Protocol::OpenAiChat => Box::new(chat::ChatDecoder::new(provider)),
            Protocol::OpenAiResponses => Box::new(responses::ResponsesDecoder::default()),
            Protocol::Gemini => Box::new(gemini::GeminiDecoder::default()),
        };
        Self {
            sse: SseParser::default(),
            protocol,
            failed: None,
            progress: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let events = self.sse.push(bytes);
        self.take(events)
    }

    fn take(&mut self, events: Result<Vec<SseEvent>, LlmError>) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        match events {
            Ok(events) => {
                for event in events {
                    if self.is_over() {
                        break;
                    }
                    if !event.is_keep_alive() {
                        self.progress += 1;
                    }
                    if let Err(error) = self.protocol.event(&event, &mut out) {
                        self.failed = Some(error);
                    }
                }
            }
            Err(error) => self.failed = Some(error),
        }
        out
    }

    /// Events with content; not comments and pings.
    pub(crate) fn progress(&self) -> u64 {
        self.progress
    }

    pub(crate) fn is_over(&self) -> bool {
        self.failed.is_some() || self.protocol.ended()
    }

    /// Includes counters.
    pub(crate) fn is_whole(&self) -> bool {
        self.failed.is_none() && self.protocol.ended() && self.draft().usage.total() > 0
    }

    pub(crate) fn draft(&self) -> &MessageDraft {
        self.protocol.draft()
    }

    /// Output bytes, even of an incomplete event.
    pub(crate) fn seen(&self) -> usize {
        self.draft().seen.saturating_add(self.sse.pending())
    }

    pub(crate) fn finish(mut self) -> Result<Response, LlmError> {
        let rest = self.sse.finish();
        if !self.is_over() {
            self.take(Ok(rest));
            // An unreadable last line without an end was truncated.
            if let Some(error) = self.failed.take() {
                self.failed = Some(match error.kind {
                    LlmErrorKind::Protocol => LlmError {
                        detail: error.detail,
                        ..cut_stream()
                    },
                    _ => error,
                });
            }
        }
        match self.failed {
            Some(error) => Err(error),
            None => self.protocol.finish(),
        }
    }

    /// Not a stream. Even errors can have counters.
    pub(crate) fn whole(&mut self, body: &[u8]) {
        let value: Result<serde_json::Value, _> = serde_json::from_slice(body);
        let taken = match value {
            Ok(value) => self.protocol.whole(&value),
            Err(error) => Err(LlmError::new(
                LlmErrorKind::Protocol,
                "the provider answered with invalid JSON",
            )
            .hint(failure::NO_PROTOCOL)
            .detail(error.to_string())),
        };
        self.failed = taken.err();
    }
}

pub(crate) fn ready(
    request: &CanonicalRequest,
    target: &RequestTarget<'_>,
) -> (String, Vec<Message>) {
    let normalized = ktx_llm_runtime::normalize(&request.messages, &target.dialect());
    let system = [request.system.as_str(), normalized.system.as_str()]
        .into_iter()
        .filter(|text| !text.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    (system, normalized.turns)
}

pub(crate) fn cut_stream() -> LlmError {
    LlmError::new(LlmErrorKind::Transport, "the provider's answer ended early")
}
