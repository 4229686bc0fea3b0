//! Many loops of the real `claude` over every way in which one can end.

use std::collections::BTreeMap;

use ktx_llm_runtime::{LlmRuntime as _, RunEvent, RunHandle};
use ktx_test_support::provider_fake::ModelAnswer;
use ktx_test_support::services::ServiceName;
use serde_json::json;

use super::{RealClaude, files, text, tools};
use crate::support::{run_request, until};

/// With the expected end of the run. Terminate and kill come from outside, during an answer.
const ENDINGS: [(&str, &str); 6] = [
    ("natural", "Done."),
    ("budget", "llm_max_turns"),
    ("cancelled", "cancelled"),
    ("terminated", "llm_crashed"),
    ("killed", "llm_crashed"),
    ("tool-error", "Done."),
];

const TIMES: usize = 5;

fn answers(ending: &str) -> Vec<ModelAnswer> {
    let call = |tool| tools(&[(tool, json!({ "key": "k" }))]);
    match ending {
        "natural" => vec![call("mcp__ktx__answer"), text("Done.")],
        "tool-error" => vec![call("mcp__ktx__fail"), text("Done.")],
        "budget" => vec![call("mcp__ktx__answer"), call("mcp__ktx__answer")],
        _ => vec![ModelAnswer::Stall("Half".to_owned())],
    }
}

fn signal(real: &RealClaude, signal: &str) {
    // After a second the guard adds a note about the child's descendants.
    let mut notes = files(&real.path("state/claude-children"));
    notes.retain(|note| note.extension().is_some_and(|end| end == "json"));
    let [note] = notes.as_slice() else {
        panic!("one child works: {notes:?}");
    };
    let name = note.file_name().unwrap().to_string_lossy();
    let process = name.split('-').next().unwrap();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args([signal, process]).status().unwrap().success());
}

async fn answer_has_begun(run: &mut RunHandle) {
    loop {
        match run.next_event().await {
            Some(RunEvent::TextDelta(text)) => return assert_eq!(text, "Half"),
            Some(_) => {}
            None => panic!("the run ended before its answer began"),
        }
    }
}

/// COG-22, COG-25.
#[tokio::test(flavor = "multi_thread")]
async fn no_ending_of_the_real_program_leaves_a_process() {
    let endings = || ENDINGS.iter().cycle().take(ENDINGS.len() * TIMES);
    let all = endings().flat_map(|(ending, _)| answers(ending)).collect();
    let Some(mut real) = RealClaude::new(ServiceName::ClaudeNewestTested, all).await else {
        return;
    };
    // Half of the spares would end with their calls, and starting them takes most of the time.
    real.settings.max_spares = 0;
    let runtime = real.runtime();
    let mut found = BTreeMap::new();
    for (ending, _) in endings() {
        let mut request = run_request("Work.");
        request.step_budget = 2;
        let cancel = request.cancel.clone();
        let mut run = runtime.start_run(request);
        if matches!(*ending, "cancelled" | "terminated" | "killed") {
            answer_has_begun(&mut run).await;
            match *ending {
                "cancelled" => cancel.cancel(),
                "terminated" => signal(&real, "-TERM"),
                _ => signal(&real, "-KILL"),
            }
        }
        let last = run.finish().await;
        let end = last
            .result
            .unwrap_or_else(|error| error.kind.code().to_string());
        *found.entry((*ending, end)).or_insert(0) += 1;
    }
    let expected = ENDINGS.map(|(ending, end)| ((ending, end.to_owned()), TIMES));
    assert_eq!(found, BTreeMap::from(expected));
    drop(runtime);
    real.nothing_is_left().await;
    until("no note is left", || {
        files(&real.path("state/claude-children")).is_empty()
    })
    .await;
    real.reached_nobody_else(ServiceName::ClaudeNewestTested);
}
