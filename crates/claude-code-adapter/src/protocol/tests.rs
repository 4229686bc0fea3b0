//! Tests of bytes, lines and frames.

use ktx_llm_runtime::TokenUsage;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::read::usage_of;
use super::{ControlRequest, DecodedLine, Frame, LineDecoder};

fn lines(pieces: &[&[u8]]) -> Vec<DecodedLine> {
    let mut decoder = LineDecoder::new(1024);
    let mut all = Vec::new();
    for piece in pieces {
        all.extend(decoder.push(piece).unwrap());
    }
    all.extend(decoder.finish());
    all
}

#[test]
fn a_character_in_two_pieces_is_one_character() {
    let text = "{\"a\":\"ü🙂\"}\n".as_bytes();
    for at in 0..text.len() {
        let (head, tail) = text.split_at(at);
        assert_eq!(
            lines(&[head, tail]),
            [DecodedLine::Json(json!({ "a": "ü🙂" }))]
        );
    }
}

#[test]
fn empty_and_stray_lines_do_not_end_the_reading() {
    assert_eq!(
        lines(&[b"\n\r\nWarning: x\n[1]\n{\"a\":1}\r\n{\"b\":", b"2}"]),
        [
            DecodedLine::Stray("Warning: x".to_owned()),
            DecodedLine::Stray("[1]".to_owned()),
            DecodedLine::Json(json!({ "a": 1 })),
            DecodedLine::Json(json!({ "b": 2 })),
        ]
    );
    assert_eq!(
        lines(&[b"\xff\xfe\n"]),
        [DecodedLine::Stray("\u{fffd}\u{fffd}".to_owned())]
    );
}

#[test]
fn half_a_surrogate_pair_loses_no_line() {
    for (line, text) in [
        (r#"{"a":"x\ud83d"}"#, "x\u{fffd}"),
        (r#"{"a":"\udc4by"}"#, "\u{fffd}y"),
        (r#"{"a":"\ud83d\ud83d\ude42"}"#, "\u{fffd}🙂"),
        (r#"{"a":"\\ud83d \ud83d\n"}"#, "\\ud83d \u{fffd}\n"),
    ] {
        assert_eq!(
            lines(&[line.as_bytes()]),
            [DecodedLine::Json(json!({ "a": text }))],
            "{line}"
        );
    }
    let stray = r#"{"a":"\ud8"}"#;
    assert_eq!(
        lines(&[stray.as_bytes()]),
        [DecodedLine::Stray(stray.to_owned())]
    );
}

#[test]
fn a_line_without_end_is_refused() {
    let mut decoder = LineDecoder::new(8);
    assert_eq!(
        decoder.push(b"12345678\n123").map(|lines| lines.len()),
        Ok(1)
    );
    let error = decoder.push(b"456789").map_err(|error| error.to_string());
    assert_eq!(
        error,
        Err("a line of output is longer than 8 bytes".to_owned())
    );
}

/// COG-09, COG-10.
#[test]
fn usage_counts_cache_writes_by_lifetime() {
    let usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 60, "cache_read_input_tokens": 50,
        "cache_creation": { "ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 40 },
        "output_tokens": 77,
    });
    assert_eq!(
        usage_of(&usage),
        TokenUsage {
            input: 10,
            cache_write_5m: 20,
            cache_write_1h: 40,
            cache_read: 50,
            output: 77,
            reasoning: 0,
        }
    );
}

#[test]
fn unknown_frames_are_named() {
    let read = |value: Value| Frame::read(&value);
    assert_eq!(
        read(json!({ "type": "news" })),
        Frame::Unknown("news".to_owned())
    );
    assert_eq!(
        read(json!({ "type": "system", "subtype": "dream" })),
        Frame::Unknown("system/dream".to_owned())
    );
    assert_eq!(
        read(
            json!({ "type": "control_request", "request_id": "1", "request": { "subtype": "elicitation" } })
        ),
        Frame::ControlRequest {
            id: "1".to_owned(),
            ask: ControlRequest::Other("elicitation".to_owned())
        }
    );
    assert_eq!(read(json!({})), Frame::Unknown(String::new()));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z_]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(
                prop_oneof![
                    Just("type"),
                    Just("subtype"),
                    Just("message"),
                    Just("content"),
                    Just("usage"),
                    Just("request"),
                    Just("response"),
                    Just("event"),
                    Just("delta"),
                    Just("id"),
                    Just("tools"),
                    Just("plugins"),
                    Just("mcp_servers"),
                    Just("errors"),
                    Just("retry_delay_ms"),
                    Just("modelUsage"),
                    Just("rate_limit_info"),
                ],
                inner,
                0..6,
            )
            .prop_map(|map| {
                Value::Object(
                    map.into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_a_frame(
        kind in prop_oneof![
            Just("control_request"), Just("control_response"), Just("control_cancel_request"),
            Just("system"), Just("assistant"), Just("user"), Just("stream_event"),
            Just("rate_limit_event"), Just("result"),
        ],
        body in json_value(),
    ) {
        let mut line = match body {
            Value::Object(map) => map,
            other => serde_json::Map::from_iter([("content".to_owned(), other)]),
        };
        line.insert("type".to_owned(), Value::from(kind));
        let frame = Frame::read(&Value::Object(line));
        prop_assert_ne!(frame, Frame::Unknown(kind.to_owned()));
    }
}
