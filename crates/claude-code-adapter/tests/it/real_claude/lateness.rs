//! The real `claude` with calls that come long after the question.

use ktx_llm_runtime::{LlmRuntime as _, RunEvent};
use ktx_test_support::provider_fake::ModelAnswer;
use serde_json::json;

use super::{RealClaude, VERSIONS, text, tools};
use crate::support::run_request;

/// HOLO-44: stdin is still open for tool results seconds later.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_call_is_answered() {
    for name in VERSIONS {
        let call = || Box::new(tools(&[("mcp__ktx__answer", json!({ "key": "orders" }))]));
        let answers = vec![
            ModelAnswer::Late(4_000, call()),
            ModelAnswer::Late(2_000, call()),
            text("Done."),
        ];
        let Some(real) = RealClaude::new(name, answers).await else {
            continue;
        };
        let mut run = real.runtime().start_run(run_request("Work."));
        let mut results = 0;
        while let Some(event) = run.next_event().await {
            if let RunEvent::ToolCallResult { is_error, .. } = event {
                assert!(!is_error, "{name:?}");
                results += 1;
            }
        }
        let last = run.finish().await;
        assert_eq!(
            (last.result.unwrap().as_str(), results),
            ("Done.", 2),
            "{name:?}"
        );
        real.nothing_is_left().await;
    }
}
