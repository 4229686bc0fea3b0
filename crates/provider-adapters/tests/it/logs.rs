//! What the adapter writes to the log.

use std::io::Write;
use std::sync::{Arc, Mutex};

use ktx_llm_runtime::{LlmRuntime as _, StopReason};
use ktx_test_support::loopback::{Answer, Loopback};
use ktx_tool_descriptors::{ToolDescriptor, ToolOutput, WriteEffect, handler_fn};
use ktx_vocabulary::Provider;
use serde_json::json;

use crate::agent::request;
use crate::fake::{runtime, settings, stream_text, tool_use};

#[derive(Debug, Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no poison").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl LogBuffer {
    fn begin(&self) -> tracing::subscriber::DefaultGuard {
        let lines = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .with_writer(move || lines.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn with(&self, words: &str) -> Vec<String> {
        let bytes = self.0.lock().expect("no poison").clone();
        let text = String::from_utf8(bytes).expect("text");
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| line.contains(words))
            .map(str::to_owned)
            .collect()
    }
}

/// KTX-69: the same words on every backend.
#[tokio::test]
async fn a_failing_callback_is_a_warning() {
    let server = Loopback::start(|_, number| {
        let id = format!("m{number}");
        let call = tool_use(&format!("t{number}"), "rows", &json!({}));
        Answer::stream(match number {
            0 | 1 => stream_text(&id, "tool_use", &[call]),
            _ => stream_text(&id, "end_turn", &[json!({"type": "text", "text": "done"})]),
        })
    })
    .expect("a provider");
    let rows = ToolDescriptor {
        name: "rows".to_owned(),
        title: "rows".to_owned(),
        description: "gives rows".to_owned(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|_, _| Ok(ToolOutput::text("one row"))),
    };
    let logged = LogBuffer::default();
    let _guard = logged.begin();
    let (runtime, _) = runtime(settings(Provider::Anthropic, "sonnet", &server.address()));
    let mut asked = request(vec![rows], 5);
    asked.on_step = Some(Arc::new(|step| {
        assert_ne!(step.index, 2, "the callback panics");
        Err("no room".to_owned())
    }));
    let outcome = runtime.run_agent_loop(asked).await;
    assert_eq!(
        (
            outcome.stop_reason,
            outcome.text.as_deref(),
            outcome.metrics.steps
        ),
        (StopReason::Natural, Some("done"), 3)
    );
    assert_eq!(
        logged.with("callback"),
        [
            "WARN a step callback failed reason=\"no room\"",
            "WARN a step callback panicked",
            "WARN a step callback failed reason=\"no room\"",
        ]
    );
}
