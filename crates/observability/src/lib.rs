//! Logs and traces: redacted log lines, spans of model calls, their export as OTLP/JSON.
//!
//! Spans follow the `OpenTelemetry` semantic conventions for generative AI, version 1.41.0: a run
//! (`invoke_workflow`) contains calls (`chat`, `invoke_agent`), and calls contain tools
//! (`execute_tool`). No data leaves the machine unless the standard `OTEL_*` variables name a
//! collector; content of users and models is omitted unless a variable enables it. An export never
//! delays or fails the traced work: its queue is bounded, dropped spans are counted, and the end
//! waits a bounded time.
//!
//! This crate must never know any backend, `ktx.yaml`, the environment, or how HTTP works.

mod collect;
mod events;
mod export;
mod logs;
mod otlp;
mod recorded;
mod redaction;
mod runtime;
mod settings;
mod span;
mod tools;

pub use events::TracedEvents;
pub use export::{Delivery, Exporter, Receipt, Shipment};
pub use logs::{LineEscape, LogFormat, LogSettings, install};
pub use recorded::{RecordSink, RecordedRuntime};
pub use redaction::SharedRedactor;
pub use runtime::{RunFacts, TracedRuntime};
pub use settings::{Capture, ExportSettings, TraceSettings};
pub use tools::traced_calls;
