//! Many calls over every way in which a child can end.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _, StopReason};
use serde_json::{Value, json};

use crate::support::{TestSetup, kill, loop_request, until};

use LlmErrorKind::{Cancelled, Crashed};

/// By prompt.
const ENDINGS: [&str; 6] = ["natural", "budget", "cancel", "crash", "kill", "tool-error"];

/// A fake that hangs writes its process id into a file.
fn endings() -> Value {
    let call = |tool: &str| json!({ "tools": [{ "name": tool, "input": { "key": "k" } }] });
    let steps = [
        json!([call("answer"), { "text": "Done." }]),
        json!([call("answer"), call("answer"), call("answer")]),
        json!([{ "mark": "cancel" }, "hang"]),
        json!([call("answer"), "die"]),
        json!([{ "mark": "kill" }, "hang"]),
        json!([call("fail"), { "text": "Done." }]),
    ];
    let when: Vec<Value> = ENDINGS
        .iter()
        .zip(steps)
        .map(|(name, steps)| json!({ "prompt_contains": name, "steps": steps }))
        .collect();
    json!({ "when": when })
}

/// COG-22.
#[tokio::test(flavor = "multi_thread")]
async fn no_ending_leaves_a_process() {
    let mut bench = TestSetup::new(endings());
    bench.settings.max_spares = 2;
    let runtime = Arc::new(bench.runtime());
    let mut found = BTreeMap::new();
    for name in ENDINGS.iter().cycle().take(60) {
        let marker = bench.settings.project_dir.join(name);
        let request = loop_request(name, 2);
        let cancel = request.cancel.clone();
        let shared = Arc::clone(&runtime);
        let call = tokio::spawn(async move { shared.run_agent_loop(request).await });
        if matches!(*name, "cancel" | "kill") {
            until("the model works", || marker.exists()).await;
            let process = std::fs::read_to_string(&marker).unwrap();
            std::fs::remove_file(&marker).unwrap();
            if *name == "cancel" {
                cancel.cancel();
            } else {
                kill(&process);
            }
        }
        let outcome = call.await.unwrap();
        let error = outcome.error.map(|error| error.kind);
        *found
            .entry(format!("{name} {:?} {error:?}", outcome.stop_reason))
            .or_insert(0) += 1;
    }
    let expected = [
        ("natural", StopReason::Natural, None),
        ("budget", StopReason::Budget, None),
        ("cancel", StopReason::Error, Some(Cancelled)),
        ("crash", StopReason::Error, Some(Crashed)),
        ("kill", StopReason::Error, Some(Crashed)),
        ("tool-error", StopReason::Natural, None),
    ];
    let expected: BTreeMap<String, i32> = expected
        .iter()
        .map(|(name, stop, error)| (format!("{name} {stop:?} {error:?}"), 10))
        .collect();
    assert_eq!(found, expected);
    drop(runtime);
    until("no process remains", || {
        bench.survivors().is_empty() && bench.notes() == 0
    })
    .await;
}
