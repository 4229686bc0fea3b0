//! OTLP/JSON (protocol 1.x): ids in hexadecimal, 64-bit numbers as text.

use serde_json::{Value as Json, json};

use crate::redaction::SharedRedactor;
use crate::span::{AttributeValue, FinishedSpan, SpanKind};

const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";
/// `STATUS_CODE_ERROR`.
const FAILED: u8 = 2;

pub(crate) fn body(
    resource: &[(String, String)],
    spans: &[FinishedSpan],
    redactor: &SharedRedactor,
) -> Json {
    let resource: Vec<Json> = resource
        .iter()
        .map(|(name, value)| attribute(name, &AttributeValue::Text(value.clone()), redactor))
        .collect();
    let spans: Vec<Json> = spans.iter().map(|span| wire(span, redactor)).collect();
    json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{
                "scope": { "name": "ktx", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans,
                "schemaUrl": SCHEMA,
            }],
            "schemaUrl": SCHEMA,
        }],
    })
}

fn wire(span: &FinishedSpan, redactor: &SharedRedactor) -> Json {
    let attributes: Vec<Json> = span
        .attributes
        .iter()
        .map(|(name, value)| attribute(name, value, redactor))
        .collect();
    let mut wire = json!({
        "traceId": hexadecimal(&span.trace),
        "spanId": hexadecimal(&span.id),
        "name": redactor.redact(&span.name),
        "kind": match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Client => 3,
        },
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes,
        "status": match &span.failure {
            Some(words) => json!({ "code": FAILED, "message": redactor.redact(words) }),
            None => json!({}),
        },
    });
    if let (Some(parent), Some(wire)) = (&span.parent, wire.as_object_mut()) {
        wire.insert("parentSpanId".to_owned(), hexadecimal(parent).into());
    }
    wire
}

fn attribute(name: &str, value: &AttributeValue, redactor: &SharedRedactor) -> Json {
    let value = match value {
        AttributeValue::Text(text) => json!({ "stringValue": redactor.redact(text) }),
        AttributeValue::Whole(number) => json!({ "intValue": number.to_string() }),
        AttributeValue::Number(number) => json!({ "doubleValue": number }),
        AttributeValue::Flag(flag) => json!({ "boolValue": flag }),
    };
    json!({ "key": name, "value": value })
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests;
