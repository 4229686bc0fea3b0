//! Under which `tracing` targets model calls and what they used are told.

/// The target of spans: runs, calls, turns and tools, with the attribute names of the `OpenTelemetry`
/// semantic conventions for generative AI.
pub const SPANS: &str = "ktx::gen_ai";

/// The target of the event that one paid message makes inside the span of its call.
pub const USAGE: &str = "ktx::usage";
