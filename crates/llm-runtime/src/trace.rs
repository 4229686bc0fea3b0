//! The `tracing` targets of model calls and their usage.

/// The target of spans for runs, calls, turns and tools, with the attribute names of the
/// `OpenTelemetry` semantic conventions for generative AI.
pub const SPANS: &str = "ktx::gen_ai";

/// The target of the event for a billed message, inside the span of its call.
pub const USAGE: &str = "ktx::usage";
