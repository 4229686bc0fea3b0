//! Logs and traces: redacted log lines, spans of model calls, their export as OTLP/JSON.
//!
//! Spans follow the `OpenTelemetry` semantic conventions for generative AI, version 1.41.0: a run
//! (`invoke_workflow`) holds calls (`chat`, `invoke_agent`), and calls hold tools (`execute_tool`).
//! Nothing leaves the machine unless the standard `OTEL_*` variables name a collector, and what people
//! and models say is left out unless a variable asks for it. An export never delays or fails what is
//! traced: its queue is bounded, what does not fit is counted, and the end waits a bounded time.
//!
//! This crate must never know any backend, `ktx.yaml`, the environment, or how HTTP is spoken.

mod collect;
mod events;
mod export;
mod logs;
mod otlp;
mod redaction;
mod runtime;
mod settings;
mod span;
mod tools;

pub use events::TracedEvents;
pub use export::{Delivery, Exporter, Receipt, Shipment};
pub use logs::{LogFormat, LogSettings, Shown, install};
pub use redaction::SharedRedactor;
pub use runtime::{RunFacts, TracedRuntime};
pub use settings::{Capture, ExportSettings, TraceSettings};
