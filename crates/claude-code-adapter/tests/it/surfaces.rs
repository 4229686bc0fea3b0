//! Wrong execution surfaces on every operation (KTX-30…32).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ktx_llm_runtime::{LlmError, LlmErrorKind, LlmRuntime as _, RunEvent, RuntimeEvent};
use ktx_tool_descriptors::{ToolOutput, ToolSet, handler_fn};
use serde_json::{Value, json};

use crate::support::{
    TestSetup, loop_request, object_request, probe_request, run_request, short, text_request,
    toolbox,
};

fn counting(calls: &Arc<AtomicUsize>) -> ToolSet {
    let calls = Arc::clone(calls);
    let mut tools: Vec<_> = toolbox().iter().cloned().collect();
    tools.first_mut().unwrap().handler = handler_fn(move |_, _| {
        calls.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutput::text("BAD"))
    });
    ToolSet::new(tools).unwrap()
}

fn foreign() -> Vec<Value> {
    let server = |source: &str| json!({ "name": "ktx", "status": "connected", "source": source });
    let plugin = |plugin: Value| json!({ "plugins": [plugin] });
    vec![
        json!({ "tools": ["Bash"] }),
        json!({ "tools": ["mcp__ktx__other"] }),
        json!({ "tools": null }),
        json!({ "mcp_servers": [{ "name": "github", "status": "connected" }] }),
        json!({ "mcp_servers": [{ "name": "ktx", "status": "failed" }] }),
        json!({ "mcp_servers": [server("project")] }),
        json!({ "mcp_servers": [server("user")] }),
        json!({ "mcp_servers": null }),
        plugin(json!({ "name": "evil", "path": "/home/dev/evil" })),
        plugin(json!({ "name": "evil" })),
        plugin(json!({ "name": "evil", "path": "builtin", "source": "evil@market" })),
        json!({ "plugins": null }),
        json!({ "permissionMode": "default" }),
        json!({ "permissionMode": null }),
    ]
}

/// KTX-30, KTX-31, KTX-32.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_surface_is_never_used() {
    for init in foreign() {
        let calls = Arc::new(AtomicUsize::new(0));
        let call = json!({ "tools": [{ "name": "answer", "input": { "key": "k" } }] });
        let steps = json!([{ "text": "BAD" }, call, "hang"]);
        let bench = TestSetup::new(json!({ "init": init, "steps": steps }));
        let runtime = bench.runtime();
        let answer = runtime.generate_text(text_request("Say hello.")).await;
        let given = runtime.generate_object(object_request("An object.")).await;
        let probed = runtime.probe(probe_request()).await;
        let mut request = loop_request("Work.", 3);
        request.tools = counting(&calls);
        let looped = runtime.run_agent_loop(request).await;
        let mut request = run_request("Work.");
        request.tools = counting(&calls);
        let mut handle = runtime.start_run(request);
        let mut events = Vec::new();
        while let Some(event) = handle.next_event().await {
            events.push(event);
        }
        let last = handle.finish().await;
        let error = last.result.unwrap_err();
        let outward = LlmError {
            detail: None,
            ..error.clone()
        };
        assert_eq!(events, [RunEvent::Error(outward), RunEvent::Done]);
        let kinds = [
            short(answer).0,
            short(given).0,
            short(probed).0,
            looped.error.unwrap().kind,
            error.kind,
        ];
        assert_eq!(kinds, [LlmErrorKind::Isolation; 5], "{init}");
        assert_eq!((looped.text, looped.tools), (None, Vec::new()));
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        assert_eq!(bench.survivors(), Vec::<u32>::new());
        let used = |event: &RuntimeEvent| {
            matches!(
                event,
                RuntimeEvent::Usage(_) | RuntimeEvent::IsolationVerified { .. }
            )
        };
        assert!(!bench.events().iter().any(used), "{init}");
    }
}

/// KTX-30.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_before_the_surface_does_not_run() {
    let call = json!({ "type": "control_request", "request_id": "early", "request": {
        "subtype": "mcp_message", "server_name": "ktx", "message": {
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": { "name": "answer", "arguments": { "key": "k" } },
        },
    } });
    let calls = Arc::new(AtomicUsize::new(0));
    let scenario =
        json!({ "lenient": true, "before": [{ "raw": call }], "init": { "tools": ["Bash"] } });
    let bench = TestSetup::new(scenario);
    let mut request = loop_request("Work.", 3);
    request.tools = counting(&calls);
    let outcome = bench.runtime().run_agent_loop(request).await;
    let kind = outcome.error.map(|error| error.kind);
    assert_eq!(kind, Some(LlmErrorKind::Isolation));
    assert_eq!(
        (calls.load(Ordering::SeqCst), outcome.tools),
        (0, Vec::new())
    );
}
