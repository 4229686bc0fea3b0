//! Keys of cases and metrics, and failing runs.

use std::collections::BTreeMap;

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::agent_keys::object;
use crate::agent_test_runs::{asked_questions, newest_run};
use crate::agent_tests::{ANALYST, CASES, analyst, model, model_that, question, tested};
use crate::claude::play;
use crate::support::{json as json_of, run, write};

fn report(sandbox: &Sandbox, line: &str) -> Value {
    let printed = run(sandbox, line);
    serde_json::from_str(&printed.stdout).unwrap_or_else(|_| panic!("{printed}"))
}

/// HOLO-53: else the model of `evaluations`, else the agent's.
#[test]
fn a_metric_is_judged_by_its_own_model() {
    let provider = Loopback::start(|request: &Request, number| {
        let asked = request.json();
        let is_judge =
            !asked["output_config"]["format"].is_null() || asked["tool_choice"]["name"].is_string();
        if is_judge {
            let reason = format!("says {}", asked["model"].as_str().unwrap_or_default());
            let grade = json!({ "score": 8, "reason": reason });
            return Answer::stream(object(number, &asked, &grade));
        }
        let block = json!({ "type": "text", "text": "It is 15." });
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider");
    let sandbox = tested(
        &provider,
        "cases:\n  - {name: a, input: How much?, ground_truth: '15'}\n",
    );
    let criteria =
        "type: geval, criteria: Is it short?, evaluation_params: [actual_output], threshold: 0.5";
    let evaluations = format!(
        "evaluations:\n  model: {{name: claude-sonnet-5}}\n  metrics:\n    - {{name: general, {criteria}}}\n    - {{name: own, {criteria}, model: {{name: claude-haiku-4-5}}}}\n    - {{name: off, enabled: false, {criteria}, model: {{name: claude-sonnet-4-5}}}}\n"
    );
    write(
        &sandbox,
        "agents/analyst.yaml",
        &format!("{ANALYST}{evaluations}"),
    );
    let told = report(&sandbox, "agent test cases.yaml --agent analyst --json");
    let metrics = told["cases"][0]["metrics"].as_array().expect("metrics");
    let reasons: Vec<String> = metrics
        .iter()
        .map(|metric| format!("{}: {}", metric["name"], metric["reason"]))
        .collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].contains("claude-sonnet-5"), "{reasons:?}");
    assert!(reasons[1].contains("claude-haiku-4-5"), "{reasons:?}");
    assert_eq!(told["totals"]["judging"]["steps"], 2);
}

const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8,
];

const WITH_FILES: &str = "cases:
  - name: image
    input: What is this?
    files: [{path: pixel.png, description: a picture}, notes.txt]
    evaluations: [{metric: contains, values: [pixel]}]
";

/// HOLO-51: a text-only backend reports it before asking.
#[test]
fn a_case_comes_with_files() {
    let provider = model(|_| (Vec::new(), "One pixel.".to_owned()));
    let sandbox = tested(&provider, WITH_FILES);
    std::fs::write(sandbox.work().join("pixel.png"), PIXEL).expect("a picture");
    write(&sandbox, "notes.txt", "a note\n");
    let told = report(&sandbox, "agent test cases.yaml --agent analyst --json");
    assert_eq!(told["cases"][0]["verdict"], "passed", "{told}");
    let asked = provider.requests()[0].json();
    let content = &asked["messages"][0]["content"];
    let words = content[0]["text"].to_string();
    for part in ["What is this?", "pixel.png", "a picture", "a note"] {
        assert!(words.contains(part), "{content}");
    }
    assert_eq!(content[1]["type"], "image", "{content}");
    assert_eq!(content[1]["source"]["media_type"], "image/png");
    write(
        &sandbox,
        "cases.yaml",
        &WITH_FILES.replace("notes.txt", "broken.bin"),
    );
    std::fs::write(sandbox.work().join("broken.bin"), [0xff, 0x00]).expect("a file");
    let told = report(&sandbox, "agent test cases.yaml --agent analyst --json");
    insta::assert_snapshot!(told["cases"][0]["reason"].as_str().unwrap_or_default(), @"`broken.bin` is neither a text nor an image");
    assert_eq!(provider.requests().len(), 1);

    let mut local = shop(CONFIG);
    play(&mut local, json!({ "steps": [{ "text": "never" }] }));
    write(&local, "agents/analyst.yaml", ANALYST);
    write(&local, "cases.yaml", WITH_FILES);
    std::fs::write(local.work().join("pixel.png"), PIXEL).expect("a picture");
    write(&local, "notes.txt", "a note\n");
    let printed = run(&local, "agent test cases.yaml --agent analyst");
    let refused = "the `claude-code` backend takes text only";
    assert!(printed.to_string().contains(refused), "{printed}");
}

/// HOLO-51.
#[test]
fn a_case_has_its_own_today() {
    let provider = model(|asked| {
        let text = asked["system"].to_string();
        let is_told = text.contains("Today is 2026-01-31.");
        (Vec::new(), format!("told {is_told}"))
    });
    let sandbox = tested(&provider, "");
    let cases = |as_of: &str| {
        let filter = "orders.amount > 5 and date('now') > '2026-01-15'";
        format!(
            "as_of: {as_of}\ncases:\n  - name: dated\n    input: How much?\n    ground_truth:\n      - {{semantic: {{measures: [orders.revenue], filters: [\"{filter}\"]}}, connection: warehouse}}\n      - {{rows: [[10]]}}\n  - name: told\n    input: Which day is it?\n    evaluations: [{{metric: contains, values: [told true]}}]\n"
        )
    };
    write(&sandbox, "cases.yaml", &cases("2026-01-31"));
    let planned = report(
        &sandbox,
        "agent test cases.yaml --agent analyst --runner planner --case dated --json",
    );
    assert_eq!(planned["cases"][0]["verdict"], "passed", "{planned}");
    let asked = report(
        &sandbox,
        "agent test cases.yaml --agent analyst --case told --json",
    );
    assert_eq!(asked["cases"][0]["verdict"], "passed", "{asked}");
    write(&sandbox, "cases.yaml", &cases("2026-01-01"));
    let planned = report(
        &sandbox,
        "agent test cases.yaml --agent analyst --runner planner --case dated --json",
    );
    assert_eq!(planned["cases"][0]["verdict"], "failed", "{planned}");
}

/// HOLO-50.
#[test]
fn errors_are_asked_again() {
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_broken = std::sync::Arc::clone(&broken);
    let provider = Loopback::start(move |request: &Request, number| {
        let asked = request.json();
        if question(&asked) == "How much with refunds?"
            && is_broken.load(std::sync::atomic::Ordering::SeqCst)
        {
            let error = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } });
            return Answer::json(400, &error);
        }
        let (_, says) = analyst(&asked);
        Answer::stream(streamed(number, &json!({ "type": "text", "text": says })))
    })
    .expect("a provider");
    let cases = "cases:
  - {name: refunds, input: How much with refunds?, ground_truth: {value: 35}}
  - {name: orders, input: How many orders?, ground_truth: {value: 3}}\n";
    let sandbox = tested(&provider, cases);
    let line = "agent test cases.yaml --agent analyst --json";
    let told = report(&sandbox, line);
    assert_eq!(told["cases"][0]["verdict"], "error", "{told}");
    assert_eq!(told["cases"][1]["verdict"], "failed");
    broken.store(false, std::sync::atomic::Ordering::SeqCst);
    let before = provider.requests().len();
    let run_id = newest_run(&sandbox);
    let told = report(
        &sandbox,
        &format!("agent test --retry-errors {run_id} --json"),
    );
    assert_eq!(told["cases"][0]["verdict"], "passed", "{told}");
    assert_eq!(told["cases"][1]["verdict"], "failed");
    assert_eq!(provider.requests().len() - before, 1);
    let told = report(
        &sandbox,
        &format!("agent test --retry-errors {run_id} --json"),
    );
    assert_eq!(told["totals"]["errors"], 0);
    assert_eq!(provider.requests().len() - before, 1);
}

#[test]
fn a_judge_that_is_down_is_an_error() {
    let provider = Loopback::start(|request: &Request, number| {
        let asked = request.json();
        if !asked["output_config"]["format"].is_null() {
            let error =
                json!({ "type": "error", "error": { "type": "api_error", "message": "down" } });
            return Answer::json(500, &error);
        }
        let block = json!({ "type": "text", "text": "Cost is not in the data." });
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider");
    let sandbox = tested(&provider, CASES);
    let printed = run(
        &sandbox,
        "agent test cases.yaml --agent analyst --case profit",
    );
    assert!(printed.stdout.contains("profit\terror\t"), "{printed}");
}

/// The project's ledger agrees, judges included.
#[test]
fn a_run_costs_what_the_provider_bills() {
    let provider = model(analyst);
    let sandbox = tested(&provider, CASES);
    let told = report(
        &sandbox,
        "agent test cases.yaml --agent analyst --parallel 8 --repeats 2 --json",
    );
    let billed = provider.requests().len() * 127;
    assert_eq!(told["totals"]["tokens"], json!(billed));
    let ledger = json_of(&sandbox, "usage --json");
    let total = &ledger["data"]["total"];
    assert_eq!(total["messages"], json!(provider.requests().len()));
    assert_eq!(total["costUsd"], told["totals"]["cost_usd"]);
}

/// HOLO-50: no finished case is paid twice.
#[test]
fn a_run_is_killed_at_any_moment() {
    let cases: Vec<String> = (0..30)
        .map(|at| {
            format!("  - {{name: c{at}, input: 'Question {at}?', ground_truth: {{value: {at}}}}}\n")
        })
        .collect();
    let cases = cases.concat();
    let provider = model_that(|asked| {
        std::thread::sleep(std::time::Duration::from_millis(3));
        let question = question(asked);
        let number: String = question.chars().filter(char::is_ascii_digit).collect();
        (Vec::new(), format!("Answer: {number}"))
    });
    let sandbox = tested(&provider, &format!("cases:\n{cases}"));
    let mut line = "agent test cases.yaml --agent analyst --parallel 3".to_owned();
    // Requests per question when its verdict was journaled.
    let mut finished: BTreeMap<String, usize> = BTreeMap::new();
    for kill in 0..20_usize {
        let before = provider.requests().len();
        let mut child = sandbox
            .command(line.split(' '))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("a process");
        // Three questions run at once, so the fourth means a verdict.
        while provider.requests().len() < before + 4 + kill % 3
            && child.try_wait().expect("a state").is_none()
        {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().expect("a kill");
        child.wait().expect("its end");
        if kill == 0 {
            line = format!("agent test --resume {} --parallel 3", newest_run(&sandbox));
        }
        let journal = format!(".ktx/state/agents/tests/{}/log.jsonl", newest_run(&sandbox));
        let journal = sandbox.read(&journal).expect("a journal");
        for (question, times) in asked_questions(&provider) {
            let name = question.replace("Question ", "c").replace('?', "");
            if journal.contains(&format!("\"case\":\"{name}\"")) {
                finished.entry(question).or_insert(times);
            }
        }
    }
    assert!(finished.len() > 5, "{finished:?}");
    let told = report(&sandbox, &format!("{line} --json"));
    assert_eq!(told["totals"]["passed"], 30, "{told}");
    let asked = asked_questions(&provider);
    for (question, times) in &finished {
        assert_eq!(asked[question], *times, "{question}");
    }
    // Each kill repeats at most three questions.
    let total: usize = asked.values().sum();
    assert!((30..=30 + 20 * 3).contains(&total), "{total}");
    let before = provider.requests().len();
    let again = report(&sandbox, &format!("{line} --json"));
    assert_eq!(again["totals"]["passed"], 30);
    assert_eq!(provider.requests().len(), before);
}
