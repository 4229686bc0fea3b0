//! A finished span, and the names of its attributes.

use std::collections::BTreeMap;

/// Not exported.
pub(crate) const NAME: &str = "otel.name";
/// `client` or `internal`.
pub(crate) const KIND: &str = "otel.kind";
pub(crate) const FAILURE: &str = "otel.status_description";

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CACHE_CREATION: &str = "gen_ai.usage.cache_creation.input_tokens";
/// Also the trace id.
pub(crate) const RUN_ID: &str = "ktx.run_id";
/// US dollars.
pub(crate) const COST: &str = "ktx.cost_usd";
pub(crate) const MESSAGES: &str = "ktx.messages";
pub(crate) const CALLS: &str = "ktx.calls";
pub(crate) const TOOL_CALLS: &str = "ktx.tool_calls";

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AttributeValue {
    Text(String),
    Whole(i64),
    Number(f64),
    Flag(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Internal,
    Client,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FinishedSpan {
    pub(crate) trace: [u8; 16],
    pub(crate) id: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    /// Nanoseconds since 1970.
    pub(crate) start: u64,
    /// Never before `start`.
    pub(crate) end: u64,
    pub(crate) attributes: BTreeMap<&'static str, AttributeValue>,
    pub(crate) failure: Option<String>,
}
