//! Tests of the wire format.

use std::collections::BTreeMap;

use ktx_secrets::Secret;
use serde_json::json;

use super::body;
use crate::redaction::SharedRedactor;
use crate::span::{AttributeValue, FinishedSpan, SpanKind};

#[test]
fn a_span_is_written_as_otlp_json_without_secrets() {
    let redactor = SharedRedactor::default();
    redactor.learn(&Secret::new("planted-value"));
    let span = FinishedSpan {
        trace: [0xab; 16],
        id: [1, 2, 3, 4, 5, 6, 7, 0x0f],
        parent: Some([9; 8]),
        name: "chat planted-value".to_owned(),
        kind: SpanKind::Client,
        start: 1_795_356_300_000_000_001,
        end: 1_795_356_300_000_000_002,
        attributes: BTreeMap::from([
            ("a", AttributeValue::Text("key planted-value".to_owned())),
            ("b", AttributeValue::Whole(-7)),
            ("c", AttributeValue::Number(0.25)),
            ("d", AttributeValue::Flag(true)),
        ]),
        failure: Some("sk-planted-0123456789 was refused".to_owned()),
    };
    let resource = [("service.name".to_owned(), "ktx".to_owned())];
    let schema = "https://opentelemetry.io/schemas/1.41.0";
    assert_eq!(
        body(&resource, &[span], &redactor),
        json!({ "resourceSpans": [{
            "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "ktx" } }] },
            "scopeSpans": [{
                "scope": { "name": "ktx", "version": env!("CARGO_PKG_VERSION") },
                "spans": [{
                    "traceId": "abababababababababababababababab",
                    "spanId": "010203040506070f",
                    "parentSpanId": "0909090909090909",
                    "name": "chat ***",
                    "kind": 3,
                    "startTimeUnixNano": "1795356300000000001",
                    "endTimeUnixNano": "1795356300000000002",
                    "attributes": [
                        { "key": "a", "value": { "stringValue": "key ***" } },
                        { "key": "b", "value": { "intValue": "-7" } },
                        { "key": "c", "value": { "doubleValue": 0.25 } },
                        { "key": "d", "value": { "boolValue": true } },
                    ],
                    "status": { "code": 2, "message": "*** was refused" },
                }],
                "schemaUrl": schema,
            }],
            "schemaUrl": schema,
        }] })
    );
}
