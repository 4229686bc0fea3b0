//! `llm.budget`: a project's daily limit, compared with an HTTP provider.

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ktx_test_support::loopback::{Answer, End, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude_cut_off::{signal, until};
use crate::probes::configured;
use crate::support::{json as answer, run, unscanned};

const TABLE: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL);";

/// Far more than a call first expects.
const OUTPUT: u64 = 2_000;

fn input(request: &Request) -> u64 {
    u64::try_from(request.body.len() / 3).expect("a size")
}

fn said(request: &Request, number: usize) -> Answer {
    let usage = json!({ "input_tokens": input(request), "output_tokens": OUTPUT });
    let message = json!({
        "id": format!("m{number}"), "type": "message", "role": "assistant",
        "model": request.json()["model"], "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "Two." }], "usage": usage,
    });
    Answer::json(200, &message)
}

fn project(provider: &Loopback, budget: &str) -> Sandbox {
    configured(unscanned(TABLE), provider, &format!("  budget: {budget}\n"))
}

fn budget(sandbox: &Sandbox) -> Value {
    answer(sandbox, "usage --json")["data"]["budget"].clone()
}

fn asking(sandbox: &Sandbox) -> Child {
    sandbox
        .command(["llm", "ask", "-m", "How many orders?"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child")
}

fn refused(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in &mut lines {
        for mark in ["the day ends at ", "run the same command again after "] {
            if let Some(at) = line.find(mark) {
                let time = at + mark.len()..at + mark.len() + "2026-11-22 00:00".len();
                line.replace_range(time, "[MIDNIGHT]");
            }
        }
    }
    lines.join("\n")
}

/// The usage exceeds the budget by less than one answer.
#[test]
fn commands_at_the_same_time_share_the_budget_of_the_day() {
    const LIMIT: u64 = 20_000;
    let sent = Arc::new(AtomicU64::new(0));
    let longest = Arc::new(AtomicU64::new(0));
    let (sum, most) = (Arc::clone(&sent), Arc::clone(&longest));
    let provider = Loopback::start(move |request, number| {
        let tokens = input(request) + OUTPUT;
        sum.fetch_add(tokens, Ordering::SeqCst);
        most.fetch_max(tokens, Ordering::SeqCst);
        said(request, number)
    })
    .expect("a provider");
    let sandbox = project(&provider, "{tokens_per_day: 20000}");
    let refusals = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let output = asking(&sandbox).wait_with_output().expect("an end");
                    if output.status.code() != Some(0) {
                        let text = String::from_utf8_lossy(&output.stderr).into_owned();
                        let code = output.status.code();
                        refusals.lock().expect("no poison").push((code, text));
                        return;
                    }
                }
            });
        }
    });
    let (sent, longest) = (sent.load(Ordering::SeqCst), longest.load(Ordering::SeqCst));
    assert!(sent < LIMIT + longest, "{sent}");
    assert!(sent > LIMIT - longest, "{sent}");
    let refusals = refusals.into_inner().expect("no poison");
    for (code, text) in &refusals {
        assert_eq!(*code, Some(7), "{text}");
        assert!(
            text.contains("error: the next model call would exceed the budget of the day: "),
            "{text}"
        );
    }
    assert_eq!(refusals.len(), 2);
    assert_eq!(
        budget(&sandbox)["tokens"],
        json!({ "limit": LIMIT, "used": sent, "inFlight": 0 })
    );
}

/// Counts the received part, and reserves nothing.
#[test]
fn a_killed_command_holds_nothing_of_the_budget() {
    let stalls = Arc::new(AtomicBool::new(true));
    let stalling = Arc::clone(&stalls);
    let provider = Loopback::start(move |request, number| {
        if !stalling.load(Ordering::SeqCst) {
            return said(request, number);
        }
        let start = json!({ "type": "message_start", "message": {
            "id": format!("m{number}"), "model": "claude-sonnet-5-5",
            "usage": { "input_tokens": input(request), "output_tokens": 1 } } });
        let event = format!("data: {start}\n\n");
        Answer {
            end: End::StallAfter(event.len()),
            ..Answer::stream(format!("{event}data: more\n\n"))
        }
    })
    .expect("a provider");
    let sandbox = project(&provider, "{tokens_per_day: 30000, usd_per_day: 4}");
    let child = asking(&sandbox);
    let held = |value: &Value| value["tokens"]["inFlight"].as_u64().unwrap_or_default();
    until("the call is in flight", || {
        !provider.requests().is_empty() && held(&budget(&sandbox)) > 0
    });
    let in_flight = budget(&sandbox);
    // The answer can have 32 000 tokens.
    assert!(held(&in_flight) > 32_000, "{in_flight}");
    assert_eq!(in_flight["tokens"]["used"], 0);
    let status = run(&sandbox, "status --fast");
    assert!(
        status
            .stdout
            .contains(" more in flight, 0 of 30000 tokens used, "),
        "{status}"
    );

    signal(&child, "-KILL");
    child.wait_with_output().expect("an end");
    stalls.store(false, Ordering::SeqCst);
    let cut = budget(&sandbox);
    let as_it_stands = cut["tokens"]["used"].as_u64().expect("a count");
    assert_eq!(held(&cut), 0);
    assert!((1..2_000).contains(&as_it_stands), "{cut}");

    assert_eq!(run(&sandbox, "llm ask -m Again?").code, Some(0));
    let after = budget(&sandbox);
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    assert_eq!(
        after["tokens"],
        json!({ "limit": 30_000, "used": as_it_stands + input(last) + OUTPUT, "inFlight": 0 })
    );
}

#[test]
fn a_budget_of_nothing_admits_no_call() {
    let provider = Loopback::start(said).expect("a provider");
    let mut printed = Vec::new();
    for limit in ["{tokens_per_day: 0}", "{usd_per_day: 0}"] {
        let sandbox = project(&provider, limit);
        let output = run(&sandbox, "llm ask -m Hello");
        printed.push((output.code, refused(&output.stderr)));
        assert_eq!(run(&sandbox, "llm probe").code, Some(7));
        assert_eq!(run(&sandbox, "status").code, Some(5));
    }
    let expected = |used: &str, key: &str| {
        let text = format!(
            "Project: [SANDBOX]/work\nerror: the next model call would exceed the budget of the day: {used} are used; the day ends at [MIDNIGHT]\n\nhint: raise `llm.budget.{key}` in ktx.yaml, or run the same command again after [MIDNIGHT]"
        );
        (Some(7), text)
    };
    assert_eq!(
        printed,
        [
            expected("0 of 0 tokens", "tokens_per_day"),
            expected("$0.0000 of $0.0000", "usd_per_day"),
        ]
    );
    assert_eq!(provider.requests().len(), 0);
}

/// COG-16: an unknown price is never zero.
#[test]
fn a_budget_of_money_needs_the_price_of_the_model() {
    let provider = Loopback::start(said).expect("a provider");
    let sandbox = project(&provider, "{usd_per_day: 5}");
    let config = sandbox.read("ktx.yaml").expect("the file");
    let config = config.replace("default: sonnet", "default: claude-unheard-of");
    crate::support::write(&sandbox, "ktx.yaml", &config);
    compare!("llm ask", &run(&sandbox, "llm ask -m Hello"), @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `llm.budget.usd_per_day` cannot be held: the model `claude-unheard-of` has no list price

hint: use `llm.budget.tokens_per_day`
hint: or give its price under `llm.pricing` in ktx.yaml, or import a price table that has it: `ktx llm pricing --help`
");
    assert_eq!(provider.requests().len(), 0);
}
