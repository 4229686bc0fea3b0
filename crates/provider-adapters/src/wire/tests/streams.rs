//! Recorded streams, split anywhere.

use ktx_llm_runtime::{ContentBlock, LlmError};
use ktx_vocabulary::Provider;
use serde_json::{Value, json};

use super::{encoded, message, settings, user};
use crate::preset::Protocol;
use crate::wire::Decoder;
use crate::wire::request::{CanonicalRequest, Thinking};
use crate::wire::response::{Response, ResponseEnd, StreamEvent};

fn read(protocol: Protocol, pieces: &[&[u8]]) -> (String, Result<Response, LlmError>) {
    let mut decoder = Decoder::new(protocol, "deepseek");
    let mut shown = String::new();
    for piece in pieces {
        for event in decoder.push(piece) {
            match event {
                StreamEvent::Text(text) => shown.push_str(&text),
                StreamEvent::Reasoning(text) => {
                    shown.push('(');
                    shown.push_str(&text);
                    shown.push(')');
                }
            }
        }
    }
    (shown, decoder.finish())
}

/// Reads the stream whole, byte by byte and split once at every byte; all must agree.
#[track_caller]
fn response(protocol: Protocol, stream: &str) -> Result<Response, LlmError> {
    let bytes = stream.as_bytes();
    let (_, whole) = read(protocol, &[bytes]);
    let (single, by_byte) = read(protocol, &bytes.chunks(1).collect::<Vec<_>>());
    assert_eq!(by_byte, whole);
    for cut in 0..bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        let (shown, outcome) = read(protocol, &[head, tail]);
        assert_eq!(outcome, whole, "cut at byte {cut}");
        assert_eq!(
            shown.replace(['(', ')'], ""),
            single.replace(['(', ')'], ""),
            "cut at byte {cut}"
        );
    }
    whole
}

#[track_caller]
fn check(protocol: Protocol, stream: &str, expected: &[&str]) -> Response {
    let response = response(protocol, stream).unwrap();
    let mut lines: Vec<String> = response
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text { text } => format!("text {text}"),
            ContentBlock::Reasoning { reasoning, meta } => {
                format!("reasoning {reasoning:?} {}", Value::Object(meta.clone()))
            }
            ContentBlock::ToolUse {
                id,
                name,
                input,
                meta,
            } => format!("call {id} {name} {input} {}", Value::Object(meta.clone())),
            ContentBlock::Opaque { provider, json } => format!("opaque {provider} {json}"),
            other => format!("{other:?}"),
        })
        .collect();
    let usage = response.draft.usage;
    lines.push(format!(
        "{} {} {:?} in {} w5m {} w1h {} read {} out {} unknown {} broken {} cost {:?}",
        response.draft.id.clone().unwrap_or_default(),
        response.draft.model.clone().unwrap_or_default(),
        response.stop,
        usage.input,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.cache_read,
        usage.output,
        response.draft.unknown,
        response.broken.len(),
        response.draft.reported_cost_usd,
    ));
    assert_eq!(lines, expected);
    response
}

#[track_caller]
fn check_error(protocol: Protocol, stream: &str, expected: &str) {
    let error = response(protocol, stream).unwrap_err();
    assert_eq!(format!("{} {error}", error.kind.code().as_str()), expected);
}

macro_rules! stream {
    ($name:literal) => {
        include_str!(concat!(
            "../../../../../fixtures/providers/streams/",
            $name,
            ".sse"
        ))
    };
}

/// KODE-10, KODE-32: interleaved thinking, two calls, split usage; the replay is byte for byte.
#[test]
fn anthropic_keeps_order_signatures_and_counters_and_replays_them() {
    let response = check(
        Protocol::Anthropic,
        stream!("anthropic_interleaved"),
        &[
            r#"reasoning "Zuerst schaue ich nach: größer?" {"provider":"anthropic","signature":"c2lnLTE="}"#,
            "text I look at two tables 😀.",
            r#"reasoning "" {"provider":"anthropic","signature":"c2lnLTI="}"#,
            r#"reasoning "" {"provider":"anthropic","redacted_data":"cmVkYWN0ZWQ="}"#,
            r#"call toolu_1 sql {"query":"select 'ü'"} {}"#,
            "call toolu_2 tables {} {}",
            r#"opaque anthropic {"type":"brand_new_block","x":[1,2]}"#,
            "msg_01 claude-sonnet-5-5 Natural in 10 w5m 40 w1h 60 read 1000 out 77 unknown 2 broken 0 cost None",
        ],
    );
    let request = CanonicalRequest {
        messages: vec![
            user("go"),
            message(ktx_llm_runtime::MessageRole::Assistant, response.content),
        ],
        thinking: Thinking::On,
        ..CanonicalRequest::default()
    };
    let body = encoded(&settings(Provider::Anthropic, "sonnet"), &request).body;
    assert_eq!(
        body["messages"][1]["content"].to_string(),
        json!([
            {"type": "thinking", "thinking": "Zuerst schaue ich nach: größer?", "signature": "c2lnLTE="},
            {"type": "text", "text": "I look at two tables 😀."},
            {"type": "thinking", "thinking": "", "signature": "c2lnLTI="},
            {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="},
            {"type": "tool_use", "id": "toolu_1", "name": "sql", "input": {"query": "select 'ü'"}},
            {"type": "tool_use", "id": "toolu_2", "name": "tables", "input": {}},
            {"type": "brand_new_block", "x": [1, 2]},
        ])
        .to_string()
    );
}

#[test]
fn anthropic_errors_truncations_and_refusals_are_distinguished() {
    let protocol = Protocol::Anthropic;
    check_error(
        protocol,
        stream!("anthropic_error_first"),
        "llm_overloaded the provider is overloaded",
    );
    check_error(
        protocol,
        stream!("anthropic_error_after_text"),
        "llm_server the provider failed",
    );
    check_error(
        protocol,
        stream!("anthropic_cut"),
        "llm_transport the provider's answer ended early",
    );
    check(
        protocol,
        stream!("anthropic_cut_arguments"),
        &[
            "call toolu_9 write {} {}",
            "msg_04 claude-haiku-5-5 MaxOutput in 5 w5m 0 w1h 0 read 0 out 9 unknown 0 broken 1 cost None",
        ],
    );
    let refused = response(protocol, stream!("anthropic_refusal")).unwrap();
    assert_eq!(refused.stop, ResponseEnd::Refusal(Some("cyber".to_owned())));
}

/// KODE-11, KODE-16, KODE-23: calls joined by index, usage in the last chunk.
#[test]
fn chat_joins_calls_by_index_and_reads_the_usage_of_the_last_chunk() {
    check(
        Protocol::OpenAiChat,
        stream!("chat_two_calls"),
        &[
            r#"reasoning "Erst überlegen, dann fragen." {"provider":"deepseek","field":"reasoning_content"}"#,
            "text Two calls.",
            r#"call call_a sql {"query":"select 1"} {}"#,
            "call call_b tables {} {}",
            "chatcmpl-1 deepseek-v4-pro Natural in 56 w5m 0 w1h 0 read 64 out 30 unknown 0 broken 0 cost None",
        ],
    );
}

#[test]
fn chat_takes_a_new_id_at_a_used_index_as_a_new_call_and_needs_no_done() {
    check(
        Protocol::OpenAiChat,
        stream!("chat_same_index"),
        &[
            r#"call x1 sql {"query":"a"} {}"#,
            r#"call x2 sql {"query":"b"} {}"#,
            "c2 m Natural in 5 w5m 2 w1h 0 read 3 out 4 unknown 0 broken 0 cost None",
        ],
    );
}

/// KODE-04: the text transport is read back.
#[test]
fn chat_splits_thoughts_off_the_text_and_joins_cumulative_details() {
    check(
        Protocol::OpenAiChat,
        stream!("chat_think"),
        &[
            r#"reasoning "a < b" {"provider":"deepseek"}"#,
            "text yes <ok>",
            "c3 qwq Natural in 0 w5m 0 w1h 0 read 0 out 0 unknown 0 broken 0 cost None",
        ],
    );
    check(
        Protocol::OpenAiChat,
        stream!("chat_details"),
        &[
            r#"reasoning "first, second" {"provider":"deepseek","field":"reasoning_details","details":[{"type":"reasoning.text","text":"first, second"}]}"#,
            "text done",
            "c4 MiniMax-M3 Natural in 7 w5m 0 w1h 0 read 0 out 3 unknown 0 broken 0 cost Some(0.25)",
        ],
    );
    check_error(
        Protocol::OpenAiChat,
        stream!("chat_error"),
        "llm_rate_limit the provider's rate limit is reached",
    );
}

/// KODE-13: encrypted reasoning, items of `output_item.done`, usage of the terminal event.
#[test]
fn responses_takes_finished_items_and_the_terminal_usage() {
    check(
        Protocol::OpenAiResponses,
        stream!("responses_loop"),
        &[
            r#"reasoning "Weighing." {"provider":"openai","item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Weighing."}],"encrypted_content":"sealed"}}"#,
            "text Grüße, looking.",
            r#"call call_1 sql {"query":"select 1"} {}"#,
            "resp_1 gpt-5.5-2026-04-23 Natural in 25 w5m 5 w1h 0 read 20 out 9 unknown 1 broken 0 cost None",
        ],
    );
    check(
        Protocol::OpenAiResponses,
        stream!("responses_incomplete"),
        &[
            "text cut",
            "resp_2 gpt-5.5 MaxOutput in 0 w5m 0 w1h 0 read 0 out 0 unknown 0 broken 0 cost None",
        ],
    );
    check_error(
        Protocol::OpenAiResponses,
        stream!("responses_failed"),
        "llm_billing the provider's account has no credit",
    );
}

/// KODE-15: thoughts, signatures on parts, counters without double counting.
#[test]
fn gemini_keeps_signatures_on_their_parts_and_replays_them() {
    let response = check(
        Protocol::Gemini,
        stream!("gemini_loop"),
        &[
            r#"reasoning "Ich denke größer." {"provider":"gemini"}"#,
            "text Two calls.",
            r#"reasoning "" {"provider":"gemini","thought_signature":"dGV4dA=="}"#,
            r#"call call-1 sql {"query":"select 1"} {"provider":"gemini","thought_signature":"Y2FsbA=="}"#,
            r#"call f2 tables {} {"provider":"gemini","id":"f2"}"#,
            "g1 gemini-3.7-flash Natural in 27 w5m 0 w1h 0 read 15 out 13 unknown 0 broken 0 cost None",
        ],
    );
    let request = CanonicalRequest {
        messages: vec![
            user("go"),
            message(ktx_llm_runtime::MessageRole::Assistant, response.content),
        ],
        ..CanonicalRequest::default()
    };
    let body = encoded(&settings(Provider::Gemini, "gemini-3.7-flash"), &request).body;
    assert_eq!(
        body["contents"][1]["parts"].to_string(),
        json!([
            {"text": "Ich denke größer.", "thought": true},
            {"text": "Two calls."},
            {"text": "", "thoughtSignature": "dGV4dA=="},
            {"functionCall": {"name": "sql", "args": {"query": "select 1"}}, "thoughtSignature": "Y2FsbA=="},
            {"functionCall": {"id": "f2", "name": "tables", "args": {}}},
        ])
        .to_string()
    );
    let blocked = response_of_blocked();
    assert_eq!(
        blocked.stop,
        ResponseEnd::Refusal(Some("prohibited_content".to_owned()))
    );
}

fn response_of_blocked() -> Response {
    response(Protocol::Gemini, stream!("gemini_blocked")).unwrap()
}

fn whole(protocol: Protocol, body: &Value) -> Result<Response, LlmError> {
    let mut decoder = Decoder::new(protocol, "x");
    decoder.whole(body.to_string().as_bytes());
    decoder.finish()
}

fn ended(protocol: Protocol, chunk: &Value) -> Result<ResponseEnd, (&'static str, u64)> {
    let mut decoder = Decoder::new(protocol, "x");
    decoder.push(format!("data: {chunk}\n\n").as_bytes());
    let counted = decoder.draft().usage.output;
    let outcome = decoder.finish();
    let outcome = outcome.map(|response| response.stop);
    outcome.map_err(|error| (error.kind.code().as_str(), counted))
}

/// KTX-67: only a known stop reason completes an answer; counted tokens are kept either way.
#[test]
fn only_known_reasons_end_an_answer() {
    let chat = |reason: &str| {
        let chunk = json!({
            "choices": [{"delta": {"content": "a"}, "finish_reason": reason}],
            "usage": {"completion_tokens": 3},
        });
        ended(Protocol::OpenAiChat, &chunk)
    };
    for reason in ["stop", "tool_calls", "eos"] {
        assert_eq!(chat(reason), Ok(ResponseEnd::Natural), "{reason}");
    }
    assert_eq!(chat("length"), Ok(ResponseEnd::MaxOutput));
    assert_eq!(
        chat("insufficient_system_resource"),
        Err(("llm_overloaded", 3))
    );
    assert_eq!(chat("brand_new"), Err(("llm_protocol", 3)));
    assert_eq!(chat(""), Err(("llm_transport", 3)));
    let gemini = |reason: &str| {
        let chunk = json!({
            "candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": reason}],
            "usageMetadata": {"candidatesTokenCount": 3},
        });
        ended(Protocol::Gemini, &chunk)
    };
    assert_eq!(gemini("STOP"), Ok(ResponseEnd::Natural));
    assert_eq!(
        gemini("IMAGE_SAFETY"),
        Ok(ResponseEnd::Refusal(Some("image_safety".to_owned())))
    );
    assert_eq!(gemini("OTHER"), Err(("llm_server", 3)));
    for reason in [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "BRAND_NEW",
    ] {
        assert_eq!(gemini(reason), Err(("llm_protocol", 3)), "{reason}");
    }
    let responses = |status: &str, reason: &str| {
        let chunk = json!({"type": "response.incomplete", "response": {
            "status": status, "incomplete_details": {"reason": reason},
            "usage": {"output_tokens": 3},
        }});
        ended(Protocol::OpenAiResponses, &chunk)
    };
    assert_eq!(
        responses("incomplete", "max_output_tokens"),
        Ok(ResponseEnd::MaxOutput)
    );
    assert_eq!(
        responses("incomplete", "brand_new"),
        Err(("llm_protocol", 3))
    );
    assert_eq!(responses("brand_new", ""), Err(("llm_protocol", 3)));
    let anthropic = |reason: &str| {
        let body = json!({"type": "message", "content": [], "stop_reason": reason});
        whole(Protocol::Anthropic, &body).map(|response| response.stop)
    };
    assert_eq!(anthropic("end_turn"), Ok(ResponseEnd::Natural));
    assert_eq!(
        anthropic("brand_new").unwrap_err().kind.code().as_str(),
        "llm_protocol"
    );
}

/// KTX-67: whatever stop reason follows.
#[test]
fn chat_refusals_are_not_answers() {
    let stream = concat!(
        "data: {\"choices\":[{\"delta\":{\"refusal\":\"I can't\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"refusal\":\" do that.\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let streamed = response(Protocol::OpenAiChat, stream).unwrap();
    let body = json!({"choices": [
        {"message": {"content": null, "refusal": "no"}, "finish_reason": "stop"},
    ]});
    let whole = whole(Protocol::OpenAiChat, &body).unwrap();
    assert_eq!(
        [streamed.stop, whole.stop],
        [ResponseEnd::Refusal(None), ResponseEnd::Refusal(None)]
    );
}

#[test]
fn counters_of_failed_answers_are_kept() {
    let error = json!({"code": 502, "message": "m"});
    for (protocol, body) in [
        (
            Protocol::OpenAiChat,
            json!({"error": error, "usage": {"completion_tokens": 3}}),
        ),
        (
            Protocol::OpenAiResponses,
            json!({"error": error, "usage": {"output_tokens": 3}}),
        ),
        (
            Protocol::Gemini,
            json!({"error": error, "usageMetadata": {"candidatesTokenCount": 3}}),
        ),
    ] {
        let mut decoder = Decoder::new(protocol, "x");
        decoder.whole(body.to_string().as_bytes());
        assert_eq!(decoder.draft().usage.output, 3, "{protocol:?}");
        assert_eq!(
            decoder.finish().unwrap_err().kind.code().as_str(),
            "llm_server"
        );
    }
}

/// Providers may send any counter, however high.
#[test]
fn counters_without_end_do_not_overflow() {
    let most = u64::MAX;
    let body = json!({
        "candidates": [{"content": {"parts": []}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": most, "toolUsePromptTokenCount": most,
            "candidatesTokenCount": most, "thoughtsTokenCount": most,
        },
    });
    let mut usage = whole(Protocol::Gemini, &body).unwrap().draft.usage;
    usage += usage;
    assert_eq!(
        (usage.input, usage.output, usage.total()),
        (most, most, most)
    );
}

#[test]
fn whole_responses_are_read_as_well() {
    let check = |protocol, body: Value, text: &str| {
        let response = whole(protocol, &body).unwrap();
        assert_eq!(response.text(), text);
        assert_eq!(response.draft.usage.output, 2, "{protocol:?}");
    };
    check(
        Protocol::Anthropic,
        json!({"type": "message", "id": "m", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "usage": {"output_tokens": 2}}),
        "ok",
    );
    check(
        Protocol::OpenAiChat,
        json!({"id": "m", "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 2}}),
        "ok",
    );
    check(
        Protocol::OpenAiResponses,
        json!({"id": "m", "status": "completed", "error": null, "output": [{"type": "message", "content": [{"type": "output_text", "text": "ok"}]}], "usage": {"output_tokens": 2}}),
        "ok",
    );
    check(
        Protocol::Gemini,
        json!({"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}], "usageMetadata": {"candidatesTokenCount": 2}}),
        "ok",
    );
    for protocol in [
        Protocol::Anthropic,
        Protocol::OpenAiChat,
        Protocol::OpenAiResponses,
        Protocol::Gemini,
    ] {
        let error = whole(protocol, &json!({})).unwrap_err();
        assert_eq!(error.kind.code().as_str(), "llm_protocol");
    }
}
