//! The `tracing` targets of model calls.

/// Target of spans with `OpenTelemetry` attributes for generative AI.
pub const SPANS: &str = "ktx::gen_ai";

/// Target of events for billed messages, inside the call's span.
pub const USAGE: &str = "ktx::usage";
