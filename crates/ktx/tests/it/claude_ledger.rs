//! Each paid message is one ledger row, over processes, retries and continued runs.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::play;
use crate::claude_pauses::{described, shop_of_twelve, table};
use crate::support::{json as answer, run};

/// Has a list price: dollars per million tokens are picodollars per millionth.
const MODEL: &str = "claude-sonnet-4-6";

pub(crate) fn billed(sandbox: &Sandbox) -> BTreeMap<String, [u64; 5]> {
    let text = std::fs::read_to_string(sandbox.home().join("bill.jsonl")).unwrap();
    let mut bill = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let usage = &line["usage"];
        let cache = &usage["cache_creation"];
        let counters = [
            &usage["input_tokens"],
            &cache["ephemeral_5m_input_tokens"],
            &cache["ephemeral_1h_input_tokens"],
            &usage["cache_read_input_tokens"],
            &usage["output_tokens"],
        ];
        let counters = counters.map(|counter| counter.as_u64().unwrap());
        let before = bill.insert(line["message"].as_str().unwrap().to_owned(), counters);
        assert_eq!(before, None, "two messages have one id: {line}");
    }
    bill
}

/// Costs are picodollars.
pub(crate) fn recorded(sandbox: &Sandbox) -> BTreeMap<String, ([u64; 5], i64)> {
    let file = sandbox.work().join(".ktx/state/usage.sqlite");
    let database = rusqlite::Connection::open(file).unwrap();
    let mut query = database
        .prepare(
            "SELECT message_id, input_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
             cache_read_tokens, output_tokens, CAST(cost_picodollars AS INTEGER) FROM usage_facts",
        )
        .unwrap();
    let rows = query
        .query_map([], |row| {
            let mut counters = [0; 5];
            for (index, counter) in counters.iter_mut().enumerate() {
                *counter = u64::try_from(row.get::<_, i64>(index + 1)?).unwrap();
            }
            Ok((row.get::<_, String>(0)?, (counters, row.get(6)?)))
        })
        .unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// Picodollars per token.
fn cost([input, write_5m, write_1h, read, output]: [u64; 5]) -> i64 {
    let picodollars = input * 3_000_000
        + write_5m * 3_750_000
        + write_1h * 6_000_000
        + read * 300_000
        + output * 15_000_000;
    i64::try_from(picodollars).unwrap()
}

fn scenario(sandbox: &Sandbox, changed: &BTreeMap<usize, Value>) -> Value {
    let when = (1..=12).map(|number| {
        let steps = changed.get(&number).cloned();
        json!({
            "prompt_contains": format!("table: {}\n", table(number)),
            "steps": steps.unwrap_or_else(|| json!([{ "object": described(number) }])),
        })
    });
    json!({
        "model": MODEL, "steps": [{ "text": "ok" }], "when": when.collect::<Vec<_>>(),
        "bill": sandbox.home().join("bill.jsonl"),
    })
}

/// COG-07, COG-12.
#[test]
fn the_ledger_is_the_bill() {
    let mut sandbox = shop_of_twelve();
    let invalid = json!([{ "object": { "columns": [] } }, { "object": described(3) }]);
    let incomplete = json!([{ "object": { "tableDescription": "Half.", "columns": [] } }]);
    let dies = json!([{ "broken_stream": "Half a" }, { "sleep": 300 }, { "exit": 3 }]);
    let changed = BTreeMap::from([(3, invalid.clone()), (5, incomplete), (7, dies)]);
    let first = scenario(&sandbox, &changed);
    play(&mut sandbox, first);
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(7), "{printed}");
    let broken_off = billed(&sandbox);
    assert_eq!(
        recorded(&sandbox).into_keys().collect::<BTreeSet<_>>(),
        broken_off.keys().cloned().collect::<BTreeSet<_>>(),
    );

    let second = scenario(&sandbox, &BTreeMap::from([(9, invalid)]));
    play(&mut sandbox, second);
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(0), "{printed}");
    let bill = billed(&sandbox);
    let ledger = recorded(&sandbox);
    let expected: BTreeMap<String, ([u64; 5], i64)> = bill
        .iter()
        .map(|(message, counters)| (message.clone(), (*counters, cost(*counters))))
        .collect();
    assert_eq!(ledger, expected);
    // Two probes, twelve tables, one retry per invalid object, two for the incomplete one; the
    // first run's tables vary.
    assert!(bill.len() >= 16 && broken_off.len() >= 4, "{}", bill.len());

    let usage = answer(&sandbox, "usage --json");
    let total = &usage["data"]["total"];
    let sum = |at: usize| bill.values().map(|counters| counters[at]).sum::<u64>();
    assert_eq!(
        [
            &total["messages"],
            &total["inputTokens"],
            &total["cacheWrite5mTokens"],
            &total["cacheWrite1hTokens"],
            &total["cacheReadTokens"],
            &total["outputTokens"],
            &total["unpricedMessages"],
            // A broken-off message costs what arrived; a crashed call runs twice.
            &total["incompleteMessages"],
        ],
        [
            &json!(bill.len()),
            &json!(sum(0)),
            &json!(sum(1)),
            &json!(sum(2)),
            &json!(sum(3)),
            &json!(sum(4)),
            &json!(0),
            &json!(2),
        ]
    );
}

/// COG-15: also for four concurrent programs.
#[test]
fn programs_side_by_side_write_each_message_once() {
    let mut sandbox = shop_of_twelve();
    let played = json!({
        "model": MODEL, "steps": [{ "sleep": 300 }, { "text": "ok" }],
        "bill": sandbox.home().join("bill.jsonl"),
    });
    play(&mut sandbox, played);
    let children = [(); 4].map(|()| {
        let mut probe = sandbox.command(["llm", "probe", "--json"]);
        probe.stdout(Stdio::piped()).stderr(Stdio::piped());
        probe.spawn().unwrap()
    });
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let bill = billed(&sandbox);
    let expected = bill
        .iter()
        .map(|(message, counters)| (message.clone(), (*counters, cost(*counters))));
    assert_eq!((bill.len(), recorded(&sandbox)), (4, expected.collect()));
    let usage = answer(&sandbox, "usage --by run --json");
    let rows = usage["data"]["items"].as_array().unwrap();
    let messages: Vec<&Value> = rows.iter().map(|row| &row["messages"]).collect();
    assert_eq!(messages, [&json!(1); 4]);
}
