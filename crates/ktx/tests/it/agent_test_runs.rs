//! Killed, stopped, continued and rejudged runs of `ktx agent test`.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop};
use crate::agent_tests::{ANALYST, CASES, analyst, model, model_that, question, tested};
use crate::claude::play;
use crate::interrupts::send;
use crate::support::{json as json_of, run, transcript, write};

pub(crate) fn newest_run(sandbox: &Sandbox) -> String {
    let runs = sandbox.work().join(".ktx/state/agents/tests");
    let runs = std::fs::read_dir(&runs).expect("runs");
    let dated = runs.map(|entry| {
        let entry = entry.expect("a run");
        let log = std::fs::metadata(entry.path().join("log.jsonl")).expect("a journal");
        let name = entry.file_name().to_string_lossy().into_owned();
        (log.modified().expect("a time"), name)
    });
    dated.max().expect("a run").1
}

pub(crate) fn asked_questions(provider: &Loopback) -> BTreeMap<String, usize> {
    let mut questions = BTreeMap::new();
    for request in provider.requests() {
        let asked = request.json();
        let is_first = asked["messages"].as_array().map(Vec::len) == Some(1);
        if is_first && asked["output_config"]["format"].is_null() {
            *questions.entry(question(&asked)).or_default() += 1;
        }
    }
    questions
}

/// Withholds one answer until released.
struct Halted {
    provider: Loopback,
    sandbox: Sandbox,
    waiting: Arc<AtomicBool>,
    child: Child,
}

fn halted() -> Halted {
    let waiting = Arc::new(AtomicBool::new(true));
    let waits = Arc::clone(&waiting);
    let provider = model_that(move |asked| {
        while question(asked).starts_with("Which orders") && waits.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        analyst(asked)
    });
    let sandbox = tested(&provider, CASES);
    let line = "agent test cases.yaml --agent analyst --parallel 1";
    let child = sandbox
        .command(line.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    while !asked_questions(&provider).contains_key("Which orders, largest first?") {
        std::thread::sleep(Duration::from_millis(5));
    }
    Halted {
        provider,
        sandbox,
        waiting,
        child,
    }
}

/// Only the question in flight is repeated; the report has its possible cost if ktx could record
/// it.
fn continues(halted: &Halted, cost: &str) {
    let Halted {
        provider,
        sandbox,
        waiting,
        ..
    } = halted;
    waiting.store(false, Ordering::SeqCst);
    let run_id = newest_run(sandbox);
    let printed = transcript(&run(
        sandbox,
        &format!("agent test --resume {run_id} --parallel 1"),
    ));
    assert!(printed.contains(cost), "{printed}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(printed.replace(cost, "[COST]"), @"
    exit 8
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	passed	1/1	-	[SESSION]
    orders	failed: wrong_value	0/1	numeric: 4 is not 3	[SESSION]
    profit	passed	1/1	-	[SESSION]
    largest	failed: wrong_order	0/1	sql_result: row 1 is in another place	[SESSION]
    endless	failed: max_turns	0/1	max_turns limit reached	[SESSION]
    gold-writes	error	0/0	oracle: the reference failed: only queries are allowed	-
    gold-wrong	error	0/0	oracle: the reference failed: no such column: total	-
    gold-empty	error	0/0	oracle: empty_reference: the reference has no rows	-
    later	skipped	0/0	no data yet	-
    --- stderr
    Project: [SANDBOX]/work
    full: 10 cases: 3 passed, 3 failed, 3 could not be judged, 1 skipped; accuracy 50 % (95 %: 19…81); [COST]
    to see what went wrong: ktx agent sessions show [SESSION]
    ");
    }
    let asked = asked_questions(provider);
    let (twice, once): (Vec<_>, Vec<_>) = asked.iter().partition(|(_, count)| **count > 1);
    assert_eq!(twice, [(&"Which orders, largest first?".to_owned(), &2)]);
    assert_eq!(once.len(), 5);
    let before = provider.requests().len();
    let again = run(sandbox, &format!("agent test --resume {run_id}"));
    assert_eq!(again.code, Some(8));
    assert_eq!(provider.requests().len(), before);
}

/// HOLO-50.
#[test]
fn a_killed_run_continues() {
    let mut halted = halted();
    halted.child.kill().expect("a kill");
    halted.child.wait().expect("its end");
    continues(&halted, "1270 tokens for $0.0040");
}

#[test]
fn an_interrupted_run_continues() {
    let mut halted = halted();
    send("-INT", &halted.child);
    halted.child.wait().expect("its end");
    let mut told = String::new();
    let stderr = halted.child.stderr.as_mut().expect("a pipe");
    std::io::Read::read_to_string(stderr, &mut told).expect("text");
    insta::assert_snapshot!(halted.sandbox.filter(told.as_bytes()), @r"
    Project: [SANDBOX]/work
    error: cancelled

    hint: run `ktx agent test --resume [SESSION]` to continue where it ended
    ");
    continues(&halted, "6045 tokens for $0.0262");
}

/// HOLO-50: the case keeps its own session.
#[test]
fn a_wrong_case_is_forked_into_a_chat() {
    let provider = model(analyst);
    let sandbox = tested(&provider, CASES);
    let printed = run(
        &sandbox,
        "agent test cases.yaml --agent analyst --case orders --json",
    );
    assert_eq!(printed.code, Some(8), "{printed}");
    let sessions = sandbox.work().join(".ktx/state/agents/sessions");
    let mut logs = std::fs::read_dir(sessions).expect("sessions");
    let log = logs.next().expect("a session").expect("a file").path();
    let session = log.file_stem().expect("a name").to_string_lossy();
    let arguments = ["agent", "chat", "--fork", session.as_ref()];
    let talked = sandbox.run_with_input(&arguments, "How much revenue?\n");
    insta::assert_snapshot!(talked.expect("a chat"), @"
    exit: 0
    --- stdout
    Answer: 4
    --- stderr
    Project: [SANDBOX]/work
    asking claude-sonnet-5-5
    1 model messages, 107 tokens in, 20 out, list price $0.0004
    to continue: ktx agent chat --session [SESSION]
    ");
    let requests = provider.requests();
    let last = requests.last().expect("a request").json();
    let told = last["messages"].to_string();
    assert!(
        told.contains("How many orders?") && told.contains("Answer: 4"),
        "{told}"
    );
    let kept = json_of(&sandbox, &format!("agent sessions show {session} --json"));
    assert_eq!(kept["messages"].as_array().map(Vec::len), Some(2), "{kept}");
}

#[test]
fn a_run_continues_after_its_budget() {
    let provider = model(analyst);
    let sandbox = tested(&provider, CASES);
    // The smallest budget for one call is exhausted by the next ones.
    let stopped = (1..200).find_map(|step| {
        let line = "agent test cases.yaml --agent analyst --parallel 1 --max-tokens";
        let printed = run(&sandbox, &format!("{line} {}", 250 * step));
        (!printed.stdout.is_empty()).then_some(printed)
    });
    let stopped = stopped.expect("a budget for one call");
    let told = transcript(&stopped);
    // Depends on the length of tool descriptions.
    assert!(
        told.contains("\nendless\terror\t0/0\tbudget\t-\n"),
        "{told}"
    );
    let next = "not all cases were asked; to continue: ktx agent test --resume [SESSION]";
    assert!(told.contains(next), "{told}");
    let run_id = newest_run(&sandbox);
    let before = asked_questions(&provider);
    check!(&sandbox, format!("agent test --resume {run_id} --parallel 1").as_str(), @r"
    exit 8
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	passed	1/1	-	[SESSION]
    orders	failed: wrong_value	0/1	numeric: 4 is not 3	[SESSION]
    profit	passed	1/1	-	[SESSION]
    largest	failed: wrong_order	0/1	sql_result: row 1 is in another place	[SESSION]
    endless	failed: max_turns	0/1	max_turns limit reached	[SESSION]
    gold-writes	error	0/0	oracle: the reference failed: only queries are allowed	-
    gold-wrong	error	0/0	oracle: the reference failed: no such column: total	-
    gold-empty	error	0/0	oracle: empty_reference: the reference has no rows	-
    later	skipped	0/0	no data yet	-
    --- stderr
    Project: [SANDBOX]/work
    full: 10 cases: 3 passed, 3 failed, 3 could not be judged, 1 skipped; accuracy 50 % (95 %: 19…81); 1270 tokens for $0.0040
    to see what went wrong: ktx agent sessions show [SESSION]
    ");
    let after = asked_questions(&provider);
    assert!(
        before.len() < after.len() && after.values().all(|count| *count == 1),
        "{after:?}"
    );

    let before = provider.requests().len();
    let graded = json_of_8(&sandbox, &format!("agent test --grade {run_id} --json"));
    let judged = provider.requests().len() - before;
    assert_eq!(judged, 1, "only the judge is asked");
    assert_eq!(graded["totals"]["failed"], 3);

    write(
        &sandbox,
        "cases.yaml",
        &CASES.replace("value: 3}", "value: 4}"),
    );
    check!(&sandbox, format!("agent test --resume {run_id}").as_str(), @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: the cases have changed since the test run `[SESSION]` began

    hint: begin a new run
    hint: or judge its answers with the cases as they are now: `ktx agent test --grade [SESSION]`
    ");
    let graded = json_of_8(&sandbox, &format!("agent test --grade {run_id} --json"));
    assert_eq!(graded["cases"][2]["verdict"], "passed");
    let before = provider.requests().len();
    let replayed = json_of_8(
        &sandbox,
        "agent test cases.yaml --agent analyst --runner replay --json",
    );
    assert_eq!(provider.requests().len(), before);
    assert_eq!(replayed["cases"][2]["verdict"], "passed");
    assert_eq!(
        replayed["cases"][3]["reason"],
        "refusal: missing: the run has no model that judges"
    );
}

fn json_of_8(sandbox: &Sandbox, line: &str) -> Value {
    let printed = run(sandbox, line);
    assert_eq!(printed.code, Some(8), "{printed}");
    serde_json::from_str(&printed.stdout).expect("JSON")
}

#[test]
fn a_model_that_cannot_be_used_ends_the_run() {
    let provider = Loopback::start(|_: &Request, _| {
        let error = json!({ "type": "error", "error": { "type": "authentication_error", "message": "no" } });
        Answer::json(401, &error)
    })
    .expect("a provider");
    let sandbox = tested(&provider, CASES);
    check!(&sandbox, "agent test cases.yaml --agent analyst --parallel 1", @r"
    exit 5
    --- stderr
    Project: [SANDBOX]/work
    error: the provider does not accept the key (HTTP 401)

    hint: check the key and its permissions
    hint: or continue this run: `ktx agent test --resume [SESSION]`
    ");
    assert_eq!(provider.requests().len(), 1);
    // Neither row comparison nor the planner needs a model.
    let planner = json_of(
        &sandbox,
        "agent test cases.yaml --agent analyst --runner planner --case later --json",
    );
    assert_eq!(planner["totals"]["skipped"], 1);
}

/// HOLO-50.
#[test]
fn the_local_session_answers_cases() {
    let mut sandbox = shop(CONFIG);
    let query = json!({ "connectionId": "warehouse", "measures": ["orders.revenue"] });
    let steps = json!([
        { "tools": [{ "name": "sl_query", "input": query }] },
        { "text": "Revenue is 15." },
    ]);
    let when = json!([{ "prompt_contains": "How much revenue?", "steps": steps }]);
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "Answer: 35" }], "when": when }),
    );
    write(&sandbox, "agents/analyst.yaml", ANALYST);
    write(&sandbox, "cases.yaml", CASES);
    check!(&sandbox, "agent test cases.yaml --agent analyst --case 're*'", @r"
    exit 0
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	passed	1/1	-	[SESSION]
    --- stderr
    Project: [SANDBOX]/work
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    full: 2 cases: 2 passed; accuracy 100 % (95 %: 34…100); 471 tokens for an unknown price
    ");
}

#[test]
fn a_run_reuses_earlier_verdicts() {
    let provider = model(analyst);
    let sandbox = tested(&provider, CASES);
    let asked = || provider.requests().len();
    let first = run(
        &sandbox,
        "agent test cases.yaml --agent analyst --case 're*'",
    );
    assert_eq!(first.code, Some(0), "{first}");
    let before = asked();
    check!(&sandbox, "agent test cases.yaml --agent analyst --case 're*' --reuse", @r"
    exit 0
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	passed	1/1	-	[SESSION]
    --- stderr
    Project: [SANDBOX]/work
    2 verdicts are taken from earlier runs, with their cost of then
    full: 2 cases: 2 passed; accuracy 100 % (95 %: 34…100); 381 tokens for $0.0012
    ");
    assert_eq!(asked(), before);
    let run_id = newest_run(&sandbox);
    let graded = run(&sandbox, &format!("agent test --grade {run_id}"));
    assert_eq!(
        graded.code,
        Some(0),
        "its answers are in the new journal: {graded}"
    );

    write(
        &sandbox,
        "cases.yaml",
        &CASES.replace("value: 35}", "value: 36}"),
    );
    let again = run(
        &sandbox,
        "agent test cases.yaml --agent analyst --case 're*' --reuse",
    );
    assert_eq!(again.code, Some(8), "{again}");
    insta::assert_debug_snapshot!(asked_questions(&provider), @r#"
    {
        "How much revenue?": 1,
        "How much with refunds?": 2,
    }
    "#);
    let refused = run(&sandbox, &format!("agent test --resume {run_id} --reuse"));
    assert_eq!(refused.code, Some(2), "{refused}");
}
