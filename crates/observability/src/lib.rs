//! Redacted log lines, and spans of model calls as OTLP/JSON.
//!
//! `OpenTelemetry` conventions for generative AI 1.41.0: `invoke_workflow` contains `chat` and
//! `invoke_agent`, which contain `execute_tool`. Without `OTEL_*` variables nothing leaves the
//! machine; content needs another variable. Export never delays or fails traced work. This crate
//! must never know backends, `ktx.yaml`, the environment, or HTTP.

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
pub use export::{Delivery, DeliveryReceipt, Exporter, SpanShipment};
pub use logs::{LineEscape, LogFormat, LogSettings, install};
pub use recorded::{RecordSink, RecordedRuntime};
pub use redaction::SharedRedactor;
pub use runtime::{RunFacts, TracedRuntime};
pub use settings::{ContentCapture, ExportSettings, TraceSettings};
pub use tools::traced_calls;
