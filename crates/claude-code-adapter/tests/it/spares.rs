//! Spares: initialized children that wait for the next call of their kind.

use std::sync::Arc;
use std::time::Duration;

use ktx_claude_code_adapter::ClaudeCodeRuntime;
use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _, RuntimeEvent};
use serde_json::{Value, json};

use crate::support::{
    TestSetup, kill, loop_request, object_request, one_call, probe_request, short, text_request,
    until,
};

fn bench(scenario: Value) -> TestSetup {
    let mut bench = TestSetup::new(scenario);
    bench.settings.max_spares = 2;
    bench
}

async fn say(runtime: &ClaudeCodeRuntime, prompt: &str) -> String {
    let outcome = runtime.generate_text(text_request(prompt)).await;
    outcome.expect("the call succeeds").text
}

async fn first(runtime: &ClaudeCodeRuntime) {
    assert_eq!(say(runtime, "First.").await, "ok");
    runtime.settle().await;
}

async fn spare(bench: &TestSetup) -> u32 {
    let mut waiting = Vec::new();
    until("a spare waits", || {
        waiting = bench.noted();
        waiting.len() == 1 && bench.survivors() == waiting
    })
    .await;
    *waiting.first().expect("it is written down")
}

async fn spare_behind(bench: &TestSetup, left: u32) -> u32 {
    let mut waiting = Vec::new();
    until("another spare waits", || {
        waiting = bench.noted();
        waiting.len() == 1 && !waiting.contains(&left) && bench.survivors() == waiting
    })
    .await;
    *waiting.first().expect("it is written down")
}

async fn ended(bench: &TestSetup, children: usize) {
    until("the children have ended", || {
        bench.records().len() >= children
    })
    .await;
}

fn prompted(bench: &TestSetup) -> Vec<(u64, Value)> {
    let line = |record: &Value| {
        let process = record["process"].as_u64().expect("a process id");
        (process, record["prompt"].clone())
    };
    bench.records().iter().map(line).collect()
}

async fn nothing_is_left(bench: &TestSetup) {
    until("no process remains", || {
        bench.survivors().is_empty() && bench.notes() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_call_of_a_kind_finds_a_child_that_waits() {
    let bench = bench(json!({ "echo": {} }));
    let runtime = bench.runtime();
    first(&runtime).await;
    let waiting = spare(&bench).await;
    assert_eq!(say(&runtime, "Second.").await, "ok");
    ended(&bench, 2).await;
    let found = prompted(&bench);
    let [(first, one), (second, two)] = found.as_slice() else {
        panic!("two children have worked: {found:?}");
    };
    assert_ne!(*first, u64::from(waiting));
    assert_eq!(*second, u64::from(waiting));
    assert_eq!((one, two), (&json!("First."), &json!("Second.")));
    // A child serves one call.
    spare_behind(&bench, waiting).await;
}

/// System prompt and schema are fixed when a child is initialized.
#[tokio::test(flavor = "multi_thread")]
async fn another_kind_of_call_starts_a_separate_child() {
    let bench = bench(json!({ "echo": {} }));
    let runtime = bench.runtime();
    first(&runtime).await;
    let waiting = spare(&bench).await;
    runtime
        .generate_object(object_request("Second."))
        .await
        .unwrap();
    let mut other = text_request("Third.");
    other.system = "You are verbose.".to_owned();
    runtime.generate_text(other).await.unwrap();
    let mut other = text_request("Fourth.");
    other.label.stage = "questions".to_owned();
    runtime.generate_text(other).await.unwrap();
    let found = prompted(&bench);
    assert!(
        found
            .iter()
            .all(|(process, _)| *process != u64::from(waiting))
    );
    say(&runtime, "Fifth.").await;
    let last = Some((u64::from(waiting), json!("Fifth.")));
    until("it has ended", || prompted(&bench).pop() == last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_in_a_spare_calls_its_own_tools() {
    let mut scenario = one_call();
    scenario["handshake_first"] = json!(true);
    let bench = bench(scenario);
    let runtime = bench.runtime();
    let first = runtime.run_agent_loop(loop_request("First.", 4)).await;
    runtime.settle().await;
    let waiting = spare(&bench).await;
    let second = runtime.run_agent_loop(loop_request("Second.", 4)).await;
    assert_eq!((&first.text, &first.tools), (&second.text, &second.tools));
    assert_eq!(second.tools.first().unwrap().markdown, "**orders**");
    ended(&bench, 2).await;
    let last = prompted(&bench).pop().unwrap();
    assert_eq!(last.0, u64::from(waiting));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_repeats_has_its_spare_while_it_runs() {
    let bench =
        bench(json!({ "echo": {}, "when": [{ "prompt_contains": "Hang.", "steps": ["hang"] }] }));
    let runtime = Arc::new(bench.runtime());
    first(&runtime).await;
    let waiting = spare(&bench).await;
    let request = text_request("Hang.");
    let cancel = request.cancel.clone();
    let shared = Arc::clone(&runtime);
    let call = tokio::spawn(async move { shared.generate_text(request).await });
    until("call and spare run", || bench.survivors().len() == 2).await;
    assert!(bench.survivors().contains(&waiting));
    // No call follows a canceled one: when it is over, so is every spare.
    cancel.cancel();
    assert_eq!(short(call.await.unwrap()).0, LlmErrorKind::Cancelled);
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn spares_end_with_a_dropped_call() {
    let bench =
        bench(json!({ "echo": {}, "when": [{ "prompt_contains": "Hang.", "steps": ["hang"] }] }));
    let runtime = Arc::new(bench.runtime());
    first(&runtime).await;
    spare(&bench).await;
    let shared = Arc::clone(&runtime);
    let call = tokio::spawn(async move { shared.generate_text(text_request("Hang.")).await });
    until("call and spare run", || bench.survivors().len() == 2).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    nothing_is_left(&bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spares_end_with_the_runtime() {
    let bench = bench(json!({ "echo": {} }));
    let runtime = bench.runtime();
    first(&runtime).await;
    runtime
        .generate_object(object_request("Second."))
        .await
        .unwrap();
    until("two spares wait", || bench.survivors().len() == 2).await;
    drop(runtime);
    nothing_is_left(&bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spare_that_waits_in_vain_ends() {
    let mut bench = bench(json!({ "echo": {} }));
    bench.settings.timeouts.spare_idle = Duration::from_millis(300);
    let runtime = bench.runtime();
    first(&runtime).await;
    until("the spare has ended", || bench.records().len() == 2).await;
    nothing_is_left(&bench).await;
    let last = bench.records().pop().unwrap();
    assert_eq!(
        (&last["prompt"], &last["ending"]),
        (&Value::Null, &json!("input closed"))
    );
    assert_eq!(say(&runtime, "Second.").await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_stays_alone_starts_one_child() {
    let mut bench = bench(json!({ "echo": {} }));
    bench.settings.timeouts.spare_pause = Duration::from_mins(1);
    let runtime = bench.runtime();
    say(&runtime, "First.").await;
    runtime.settle().await;
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    // Before the end of the pause; after it a third call is expected.
    say(&runtime, "Second.").await;
    runtime.settle().await;
    drop(runtime);
    let found = prompted(&bench);
    // A third child, killed with the runtime, may have written its record.
    let asked: Vec<&Value> = found
        .iter()
        .map(|(_, prompt)| prompt)
        .filter(|prompt| !prompt.is_null())
        .collect();
    assert_eq!(asked, ["First.", "Second."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_probe_and_a_runtime_without_spares_start_none() {
    let mut bench = bench(json!({ "echo": {} }));
    bench.runtime().probe(probe_request()).await.unwrap();
    bench.settings.max_spares = 0;
    let runtime = bench.runtime();
    for _ in 0..3 {
        say(&runtime, "Again.").await;
    }
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    assert_eq!(prompted(&bench).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spare_that_dies_is_replaced() {
    let bench = bench(json!({ "echo": {} }));
    let runtime = bench.runtime();
    first(&runtime).await;
    for prompt in ["Second.", "Third."] {
        let waiting = spare(&bench).await;
        kill(&waiting.to_string());
        assert_eq!(say(&runtime, prompt).await, "ok");
        runtime.settle().await;
        let last = prompted(&bench).pop().unwrap();
        assert_ne!(last.0, u64::from(waiting));
        assert_eq!(last.1, prompt);
    }
}

/// The second process is the spare.
fn second_process(second: Value) -> Value {
    let mut second = second;
    second["echo"] = json!({});
    json!({ "sequence": [{ "echo": {} }, second, { "echo": {} }] })
}

/// It has produced and cost nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_spare_that_ends_at_its_prompt_is_replaced() {
    let mut scenario = second_process(json!({ "init": { "type": "informational" } }));
    scenario["sequence"][1]["when"] = json!([{ "prompt_contains": "", "steps": [{ "exit": 1 }] }]);
    let bench = bench(scenario);
    let runtime = bench.runtime();
    first(&runtime).await;
    let waiting = spare(&bench).await;
    assert_eq!(say(&runtime, "Second.").await, "ok");
    runtime.settle().await;
    let found = prompted(&bench);
    let prompts: Vec<&Value> = found.iter().map(|(_, prompt)| prompt).collect();
    assert_eq!(prompts, ["First.", "Second.", "Second."]);
    let second = found.get(1).map(|(process, _)| *process);
    assert_eq!(second, Some(u64::from(waiting)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spare_is_checked_like_every_child() {
    let foreign = json!({ "account": { "apiKeySource": "ANTHROPIC_API_KEY" } });
    let bench = bench(json!({ "sequence": [{ "echo": {} }, foreign] }));
    let runtime = bench.runtime();
    first(&runtime).await;
    nothing_is_left(&bench).await;
    let outcome = runtime.generate_text(text_request("Second.")).await;
    assert_eq!(short(outcome).0, LlmErrorKind::Billing);
    let prompts = prompted(&bench).into_iter().map(|(_, prompt)| prompt);
    assert_eq!(prompts.filter(|prompt| *prompt == "Second.").count(), 0);

    let bench = self::bench(second_process(json!({ "init": { "tools": ["Bash"] } })));
    let runtime = bench.runtime();
    first(&runtime).await;
    spare(&bench).await;
    let outcome = runtime.generate_text(text_request("Second.")).await;
    assert_eq!(short(outcome).0, LlmErrorKind::Isolation);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spare_that_talks_out_of_turn_is_not_used() {
    let result =
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "BAD" });
    let surface = json!({
        "type": "system", "subtype": "init", "tools": [], "mcp_servers": [], "plugins": [],
        "permissionMode": "dontAsk", "apiKeySource": "none",
    });
    let both = json!([{ "raw": surface }, { "raw": result }]);
    for early in [json!([{ "raw": result }]), both] {
        let bench = bench(json!({ "sequence": [{ "echo": {} }, { "before": early }] }));
        let runtime = bench.runtime();
        first(&runtime).await;
        nothing_is_left(&bench).await;
        let outcome = runtime.generate_text(text_request("Second.")).await;
        assert_eq!(short(outcome).0, LlmErrorKind::Isolation);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spare_makes_room() {
    let mut bench = bench(json!({ "steps": [{ "sleep": 50 }, { "text": "ok" }] }));
    bench.settings.max_children = Some(1);
    let runtime = Arc::new(bench.runtime());
    let request = |system: &str| {
        let mut request = text_request("Say hello.");
        request.system = system.to_owned();
        request
    };
    runtime.generate_text(request("One.")).await.unwrap();
    runtime.settle().await;
    let waiting = spare(&bench).await;
    runtime.generate_text(request("Two.")).await.unwrap();
    runtime.settle().await;
    assert_ne!(spare(&bench).await, waiting);
    let mut calls = tokio::task::JoinSet::new();
    for system in ["One.", "Two.", "Three.", "One.", "Two.", "Three."] {
        let runtime = Arc::clone(&runtime);
        let request = request(system);
        calls.spawn(async move { runtime.generate_text(request).await });
    }
    let mut most = 0;
    loop {
        tokio::select! {
            done = calls.join_next() => match done {
                Some(outcome) => assert_eq!(outcome.unwrap().unwrap().text, "ok"),
                None => break,
            },
            () = tokio::time::sleep(Duration::from_millis(5)) => most = most.max(bench.notes()),
        }
    }
    assert_eq!(most, 1);
    drop(runtime);
    nothing_is_left(&bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spares_are_bounded() {
    let mut bench = bench(json!({ "echo": {} }));
    bench.settings.max_children = Some(6);
    let runtime = bench.runtime();
    for _ in 0..2 {
        for system in ["One.", "Two.", "Three."] {
            let mut request = text_request("Say hello.");
            request.system = system.to_owned();
            runtime.generate_text(request).await.unwrap();
            runtime.settle().await;
            assert!(bench.notes() <= 2);
        }
    }
    until("two spares wait", || bench.survivors().len() == 2).await;
    drop(runtime);
    nothing_is_left(&bench).await;
}

/// Until its exit the child stays recorded and guarded, and ends with the runtime.
#[tokio::test(flavor = "multi_thread")]
async fn a_spare_exits_after_its_answer() {
    let bench = bench(second_process(json!({ "after": ["hang"] })));
    let runtime = bench.runtime();
    first(&runtime).await;
    let waiting = spare(&bench).await;
    // The deadline of its exit is a minute away.
    assert_eq!(say(&runtime, "Second.").await, "ok");
    assert!(bench.survivors().contains(&waiting));
    assert!(bench.notes() >= 1);
    drop(runtime);
    nothing_is_left(&bench).await;
}

/// A program that shuts down waits for exiting children and reports those that had to be ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_child_exits_after_its_answer_too() {
    let after = json!([{ "sleep": 300 }, { "mark": "in order" }]);
    let mut bench = bench(json!({ "echo": {}, "after": after }));
    bench.settings.timeouts.spare_pause = Duration::from_mins(1);
    let runtime = bench.runtime();
    let mark = bench.settings.project_dir.join("in order");
    assert_eq!(say(&runtime, "First.").await, "ok");
    assert!(!mark.exists());
    assert_eq!((bench.survivors().len(), bench.notes()), (1, 1));
    runtime.settle().await;
    assert!(mark.exists());
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    drop(runtime);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_exit_after_an_answer_changes_nothing() {
    let after = [
        json!(["hang"]),
        json!(["ignore_termination", "hang"]),
        json!(["die"]),
        json!([{ "exit": 7 }]),
        json!(["close_stdout", "hang"]),
        json!([{ "flood_stderr": 4_000_000 }]),
        json!([{ "big_line": 30_000_000 }]),
        json!([{ "raw": { "type": "result", "subtype": "success", "is_error": false, "result": "BAD" } }]),
        json!([{ "daemon": "same" }]),
        json!([{ "daemon": "own" }]),
    ];
    for after in after {
        let stays = after.to_string().contains("hang");
        let mut bench = bench(second_process(json!({ "after": after })));
        if stays {
            bench.settings.timeouts.exit = Duration::from_millis(300);
        }
        bench.settings.timeouts.terminate = Duration::from_millis(500);
        bench.settings.timeouts.drain = Duration::from_millis(300);
        let runtime = bench.runtime();
        first(&runtime).await;
        let waiting = spare(&bench).await;
        assert_eq!(say(&runtime, "Second.").await, "ok", "{after}");
        spare_behind(&bench, waiting).await;
        let text = "Claude Code did not exit after an answer, so ktx ended it";
        let warning = RuntimeEvent::Warning(text.to_owned());
        if stays {
            until("the user is warned", || bench.events().contains(&warning)).await;
        }
        drop(runtime);
        nothing_is_left(&bench).await;
        assert_eq!(bench.events().contains(&warning), stays, "{after}");
    }
}

/// The next child starts when it has exited.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_keeps_its_place_until_it_has_left() {
    let mut bench = bench(second_process(json!({ "after": [{ "sleep": 300 }] })));
    bench.settings.max_children = Some(1);
    let runtime = bench.runtime();
    first(&runtime).await;
    let waiting = spare(&bench).await;
    say(&runtime, "Second.").await;
    let third = say(&runtime, "Third.");
    let mut third = std::pin::pin!(third);
    let mut most = 0;
    loop {
        tokio::select! {
            text = &mut third => {
                assert_eq!(text, "ok");
                break;
            }
            () = tokio::time::sleep(Duration::from_millis(5)) => most = most.max(bench.notes()),
        }
    }
    assert_eq!(most, 1);
    until("three have worked", || {
        prompted(&bench)
            .iter()
            .filter(|(_, prompt)| !prompt.is_null())
            .count()
            == 3
    })
    .await;
    let second = prompted(&bench).get(1).cloned();
    assert_eq!(second, Some((u64::from(waiting), json!("Second."))));
}

/// The program gets a moment for its own files.
#[tokio::test(flavor = "multi_thread")]
async fn an_exiting_child_is_not_killed() {
    let after = json!([{ "sleep": 20 }, { "mark": "in order" }]);
    let bench = bench(second_process(json!({ "after": after })));
    let runtime = bench.runtime();
    first(&runtime).await;
    spare(&bench).await;
    say(&runtime, "Second.").await;
    drop(runtime);
    nothing_is_left(&bench).await;
    assert!(bench.settings.project_dir.join("in order").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_waits_for_exiting_children() {
    let hangs = json!([{ "prompt_contains": "Hang.", "steps": [{ "mark": "asked" }, "hang"] }]);
    let mut scenario = second_process(json!({ "after": [{ "sleep": 700 }, { "mark": "left" }] }));
    scenario["sequence"][1]["when"] = hangs.clone();
    scenario["sequence"][2]["when"] = hangs;
    let bench = bench(scenario);
    let runtime = Arc::new(bench.runtime());
    first(&runtime).await;
    spare(&bench).await;
    say(&runtime, "Second.").await;
    let request = text_request("Hang.");
    let cancel = request.cancel.clone();
    let shared = Arc::clone(&runtime);
    let call = tokio::spawn(async move { shared.generate_text(request).await });
    let asked = bench.settings.project_dir.join("asked");
    until("the model works", || asked.exists()).await;
    cancel.cancel();
    assert_eq!(short(call.await.unwrap()).0, LlmErrorKind::Cancelled);
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
    assert!(bench.settings.project_dir.join("left").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spare_that_falls_silent_is_given_up() {
    let hangs = json!([{ "prompt_contains": "Hang.", "steps": ["hang"] }]);
    let mut bench = bench(json!({ "echo": {}, "when": hangs }));
    bench.settings.timeouts.silence = Duration::from_millis(500);
    let runtime = bench.runtime();
    first(&runtime).await;
    spare(&bench).await;
    let outcome = runtime.generate_text(text_request("Hang.")).await;
    assert_eq!(
        short(outcome),
        (
            LlmErrorKind::Timeout,
            "Claude Code was silent for 0.5 s".to_owned()
        )
    );
}
