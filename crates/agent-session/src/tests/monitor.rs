//! Sessions whose model meets limits and failures.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use ktx_diagnostics::Code;
use ktx_llm_runtime::{EventSink as _, Listeners, NoEvents, RuntimeEvent, ScriptedRuntime};
use ktx_session_log::{Channel, SessionStore};
use ktx_tool_descriptors::{ToolOutput, ToolSet, WriteEffect, handler_fn};
use serde_json::Value;

use super::{calls, created, events, says, sessions, tool, turn};
use crate::ask;

fn night() -> Vec<RuntimeEvent> {
    let window = || "five_hour".to_owned();
    let reason = || "5-hour window".to_owned();
    let tick = |seconds| RuntimeEvent::WaitTick {
        reason: reason(),
        remaining: Duration::from_secs(seconds),
    };
    vec![
        RuntimeEvent::IsolationVerified {
            version: "2.1.330".to_owned(),
        },
        RuntimeEvent::RateLimitObserved {
            window: window(),
            utilization: Some(0.5),
            resets_at: Some(1_790_000_000),
        },
        RuntimeEvent::ConcurrencyAdjusted {
            from: 4,
            to: 2,
            reason: reason(),
        },
        RuntimeEvent::RateLimitRefused {
            window: window(),
            resets_at: None,
        },
        RuntimeEvent::WaitStarted {
            reason: reason(),
            duration: Duration::from_secs(25),
        },
        tick(24),
        tick(15),
        tick(14),
        tick(4),
        RuntimeEvent::WaitFinished,
        RuntimeEvent::Retry {
            attempt: 2,
            code: Code::LlmOverloaded,
        },
        RuntimeEvent::Warning("an image is left out".to_owned()),
    ]
}

/// KODE-42.
#[tokio::test]
async fn monitors_hear_of_limits_retries_and_isolation() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let listeners = Listeners::before(Arc::new(NoEvents));
    let backend = listeners.clone();
    let handler = handler_fn(move |_: Value, _| {
        for event in night() {
            backend.event(event);
        }
        Ok(ToolOutput::text("done"))
    });
    let tools = ToolSet::new(vec![tool("look", WriteEffect::ReadOnly, handler)]).unwrap();
    let script = [calls(&["look"], "It was a bad night."), says("Yes.")];
    let sink = Arc::new(listeners.clone());
    let runtime = listeners
        .clone()
        .of(Arc::new(ScriptedRuntime::new(script, sink)));
    ask(&session, runtime.as_ref(), turn(tools), "How was it?")
        .await
        .unwrap();
    for event in night() {
        listeners.event(event);
    }
    let told = events(&sessions, &[Channel::Monitor]);
    let kinds = ["rate_limit", "retry", "isolation", "severity"];
    let told: Vec<&str> = told
        .lines()
        .filter(|line| kinds.iter().any(|kind| line.contains(kind)))
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    1.1 {"type":"isolation_verified","version":"2.1.330"}
    1.1 {"type":"rate_limit_observed","window":"five_hour","utilization":0.5,"resets_at":1790000000}
    1.1 {"type":"rate_limit_refused","window":"five_hour"}
    1.1 {"type":"rate_limit_wait_started","reason":"5-hour window","duration_ms":25000}
    1.1 {"type":"rate_limit_wait_tick","reason":"5-hour window","remaining_ms":15000}
    1.1 {"type":"rate_limit_wait_tick","reason":"5-hour window","remaining_ms":4000}
    1.1 {"type":"rate_limit_wait_finished"}
    1.1 {"type":"retry","attempt":2,"code":"llm_overloaded"}
    1.1 {"type":"error","severity":"warn","phase":"model","message":"an image is left out"}
    "#);
}
