//! Budgets hold without a ledger and for parallel calls; an unknown price is never zero.

use std::collections::BTreeSet;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::play;
use crate::claude_pauses::{described, published, shop_of_twelve, table};
use crate::support::{commit, run, write};

fn describes(sandbox: &Sandbox, model: &str) -> Value {
    let when = (1..=12).map(|number| {
        json!({
            "prompt_contains": format!("table: {}\n", table(number)),
            "steps": [{ "sleep": 20 }, { "object": described(number) }],
        })
    });
    json!({
        "model": model, "steps": [{ "text": "ok" }], "when": when.collect::<Vec<_>>(),
        "bill": sandbox.home().join("bill.jsonl"),
    })
}

fn billed(sandbox: &Sandbox) -> (usize, u64) {
    let text = std::fs::read_to_string(sandbox.home().join("bill.jsonl")).unwrap_or_default();
    let mut messages = BTreeSet::new();
    let mut tokens = 0;
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let usage = &line["usage"];
        messages.insert(line["message"].to_string());
        for counter in [
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        ] {
            tokens += usage[counter].as_u64().unwrap();
        }
    }
    (messages.len(), tokens)
}

fn shop(model: &str) -> Sandbox {
    let mut sandbox = shop_of_twelve();
    let scenario = describes(&sandbox, model);
    play(&mut sandbox, scenario);
    sandbox
}

#[test]
fn the_limit_of_tokens_is_not_exceeded() {
    let sandbox = shop("claude-sonnet-4-6");
    let printed = run(&sandbox, "ingest --max-tokens 1500");
    assert_eq!(printed.code, Some(7), "{printed}");
    let (messages, tokens) = billed(&sandbox);
    assert!(messages > 2 && tokens <= 1500, "{messages} {tokens}");
    assert_eq!(published(&sandbox), messages - 1);
}

#[test]
fn a_limit_holds_without_a_ledger() {
    let sandbox = shop("claude-sonnet-4-6");
    let file = sandbox.work().join(".ktx/state/usage.sqlite");
    std::fs::create_dir_all(&file).unwrap();
    let reason = "the usage ledger cannot be opened: its folder cannot be written, or it is not a file (`.ktx/state/usage.sqlite`)";
    let printed = run(&sandbox, "ingest --max-tokens 1500");
    assert_eq!(printed.code, Some(7), "{printed}");
    let (messages, tokens) = billed(&sandbox);
    assert!(messages > 2 && tokens <= 1500, "{messages} {tokens}");
    let lost = format!(
        "warning: {messages} model messages with {tokens} tokens are missing in the usage ledger: {reason}"
    );
    let kept = format!("warning: {reason}; usage is kept and written later");
    let told: Vec<&str> = printed
        .stderr
        .lines()
        .filter(|line| line.contains("usage"))
        .collect();
    assert_eq!(told, [kept.as_str(), &lost]);
}

/// COG-16: before the first call.
#[test]
fn a_limit_of_money_needs_a_price() {
    let sandbox = shop("claude-sonnet-4-6");
    let config = sandbox.read("ktx.yaml").unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        &format!("{config}  models:\n    default: claude-unheard-of\n"),
    );
    commit(&sandbox, "a model");
    check!(&sandbox, "ingest --max-usd 1", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `--max-usd` cannot be held: the model `claude-unheard-of` has no list price

hint: use `--max-tokens`
hint: or give its price under `llm.pricing` in ktx.yaml, or import a price table that has it: `ktx llm pricing --help`
");
    assert_eq!(billed(&sandbox), (0, 0));
}

/// COG-16: the answering model differs from the requested one.
#[test]
fn a_message_without_a_price_pauses_a_run_with_a_limit_of_money() {
    let mut sandbox = shop("claude-unheard-of");
    let printed = run(&sandbox, "ingest --max-usd 1");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert!(
        printed.stderr.ends_with(
            "paused: the budget of $1.0000 cannot be held: the model `claude-unheard-of` has no list price\n\n\
             hint: run the same command again with `--max-tokens` in place of `--max-usd`\n\
             hint: 0 of 12 tables are described and kept; `ktx ingest` continues with the missing 12\n"
        ),
        "{printed}"
    );
    assert_eq!(billed(&sandbox).0, 1);
    let scenario = describes(&sandbox, "claude-sonnet-4-6");
    play(&mut sandbox, scenario);
    assert_eq!(run(&sandbox, "ingest --max-usd 1").code, Some(0));
    assert_eq!(published(&sandbox), 12);
}

/// Covers turns that `claude` makes by itself.
#[test]
fn corrections_and_second_processes_do_not_exceed_the_limit() {
    let wrong = json!({ "object": { "columns": [] } });
    let corrected =
        json!([wrong, { "sleep": 500 }, wrong, { "sleep": 500 }, wrong, { "sleep": 500 }, wrong]);
    // The first process leaves no room for the second.
    let half = "Half an answer, and then nothing more. ".repeat(75);
    let crashes = json!([{ "broken_stream": half }, { "sleep": 200 }, { "exit": 3 }]);
    for steps in [corrected, crashes] {
        let mut sandbox = shop_of_twelve();
        let scenario = json!({
            "model": "claude-sonnet-4-6", "steps": [{ "text": "ok" }],
            "when": [{ "prompt_contains": "table: shelf_", "steps": steps }],
            "bill": sandbox.home().join("bill.jsonl"),
        });
        play(&mut sandbox, scenario);
        let printed = run(&sandbox, "ingest --max-tokens 1500");
        assert_eq!(printed.code, Some(7), "{printed}");
        let (messages, tokens) = billed(&sandbox);
        assert!(
            messages >= 2 && tokens <= 1500,
            "{messages} {tokens} {printed}"
        );
    }
}
