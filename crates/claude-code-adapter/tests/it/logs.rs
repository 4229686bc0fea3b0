//! What the adapter writes to the log.

use std::io::Write;
use std::sync::{Arc, Mutex};

use ktx_llm_runtime::{LlmRuntime as _, StopReason};
use serde_json::json;

use crate::support::{TestSetup, loop_request, one_call, run_request};

#[derive(Debug, Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
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
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| line.contains(words))
            .map(str::to_owned)
            .collect()
    }
}

/// KTX-69.
#[tokio::test]
async fn a_failing_callback_is_a_warning() {
    let logged = LogBuffer::default();
    let _guard = logged.begin();
    let bench = TestSetup::new(one_call());
    let mut request = loop_request("Work.", 5);
    request.on_step = Some(Arc::new(|step| {
        assert_ne!(step.index, 2, "the callback panics");
        Err("no room".to_owned())
    }));
    let outcome = bench.runtime().run_agent_loop(request).await;
    assert_eq!(
        (outcome.stop_reason, outcome.metrics.steps),
        (StopReason::Natural, 2)
    );
    assert_eq!(
        logged.with("callback"),
        [
            "WARN a step callback failed reason=\"no room\"",
            "WARN a step callback panicked",
        ]
    );
}

/// COG-23.
#[tokio::test]
async fn a_run_has_a_span_with_its_ids() {
    let logged = LogBuffer::default();
    let _guard = logged.begin();
    let retry = json!({ "attempt": 1, "retry_delay_ms": 0, "error_status": 500 });
    let bench = TestSetup::new(json!({ "steps": [{ "retry": retry }, { "text": "ok" }] }));
    let last = bench.runtime().start_run(run_request("Work.")).finish();
    assert_eq!(last.await.result.as_deref(), Ok("ok"));
    assert_eq!(
        logged.with("tries its request again"),
        [
            "INFO run{run_id=run-1 trace_id=\"trace-1\"}: Claude Code tries its request again \
             attempt=1 delay_ms=0"
        ]
    );
}
