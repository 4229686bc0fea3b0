//! Compares an HTTP provider's charges for cut-off answers with the ledger.

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use ktx_test_support::loopback::{Answer, End, Loopback};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude_cut_off::{signal, until};
use crate::probes::configured;
use crate::support::{json as answer, run, unscanned, write};

const TABLE: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL);";

type Bill = Arc<Mutex<(u64, u64)>>;

/// Stalls in each answer. Charges for the request and each word begun.
fn provider(bill: &Bill, parts: usize) -> Loopback {
    let bill = Arc::clone(bill);
    Loopback::start(move |request, number| {
        let input = u64::try_from(request.body.len()).unwrap_or_default() / 3;
        let event = |event: Value| format!("data: {event}\n\n");
        let mut lines = vec![event(json!({ "type": "message_start", "message": {
            "id": format!("m{number}"), "model": "claude-sonnet-5-5",
            "usage": { "input_tokens": input, "output_tokens": 1 } } }))];
        lines.push(event(json!({ "type": "content_block_start", "index": 0,
            "content_block": { "type": "text", "text": "" } })));
        lines.extend((0..900).map(|word| {
            let text = if word % 3 == 0 { " 42" } else { " orders" };
            event(json!({ "type": "content_block_delta", "index": 0,
                "delta": { "type": "text_delta", "text": text } }))
        }));
        let length: usize = lines.iter().map(String::len).sum();
        let sent = number % parts * length / parts;
        let mut at = 0;
        let words = lines.iter().enumerate().filter(|(index, line)| {
            at += line.len();
            *index >= 2 && at - line.len() < sent
        });
        let words = u64::try_from(words.count()).unwrap_or_default();
        let mut bill = bill.lock().expect("no poison");
        bill.0 += 1;
        bill.1 += input + words;
        Answer {
            end: End::StallAfter(sent),
            ..Answer::stream(lines.concat())
        }
    })
    .expect("a provider")
}

fn project(provider: &Loopback) -> Sandbox {
    let sandbox = configured(unscanned(TABLE), provider, "");
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let config = sandbox.read("ktx.yaml").expect("the file");
    let config = format!("{config}agent: {{run_research: {{enabled: true}}}}\n");
    write(&sandbox, "ktx.yaml", &config);
    sandbox
}

fn asking(sandbox: &Sandbox) -> Child {
    sandbox
        .command(["agent", "run", "-m", "How many orders?"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child")
}

/// Waits until the ledger covers this many answers.
fn is_covered(sandbox: &Sandbox, bill: &Bill, answers: u64) {
    let file = sandbox.work().join(".ktx/state/usage.sqlite");
    until("the ledger covers the bill", || {
        let (charged, tokens) = *bill.lock().expect("no poison");
        let Ok(database) = rusqlite::Connection::open(&file) else {
            return false;
        };
        let sum = |table: &str| -> i64 {
            let sql = format!(
                "SELECT coalesce(sum(input_tokens + cache_write_5m_tokens + cache_write_1h_tokens
                   + cache_read_tokens + output_tokens), 0) FROM {table}"
            );
            let read = database.query_row(&sql, (), |row| row.get(0));
            read.unwrap_or_default()
        };
        let written = sum("open_messages") + sum("usage_facts");
        charged == answers && u64::try_from(written).expect("a sum") >= tokens
    });
}

/// The ledger exceeds the bill only by its estimate.
#[test]
fn the_ledger_is_not_below_the_bill_when_a_command_ends_in_the_middle_of_an_answer() {
    let bill = Bill::default();
    let provider = provider(&bill, 3);
    let sandbox = project(&provider);
    let mut answers = 0;
    for signals in [&["-KILL"][..], &["-INT"], &["-INT", "-INT"]] {
        for _ in 0..3 {
            let child = asking(&sandbox);
            answers += 1;
            is_covered(&sandbox, &bill, answers);
            for (number, name) in signals.iter().enumerate() {
                if number > 0 {
                    std::thread::sleep(Duration::from_millis(100));
                }
                signal(&child, name);
            }
            let output = child.wait_with_output().expect("an end");
            let code = output.status.code();
            assert!(code.is_none() || code == Some(130), "{output:?}");
            let total = &answer(&sandbox, "usage --json")["data"]["total"];
            let count = |name: &str| total[name].as_u64().expect("a count");
            let tokens = [
                "inputTokens",
                "cacheWrite5mTokens",
                "cacheWrite1hTokens",
                "cacheReadTokens",
                "outputTokens",
            ];
            let ledger: u64 = tokens.into_iter().map(count).sum();
            let (charged, billed) = *bill.lock().expect("no poison");
            assert_eq!(
                (count("messages"), count("incompleteMessages"), charged),
                (answers, answers, answers),
                "{signals:?}: {total}"
            );
            assert!(billed <= ledger, "{signals:?}: {billed} of {total}");
            assert!(
                ledger - count("estimatedTokens") <= billed,
                "{signals:?}: {billed} of {total}"
            );
        }
    }
}

#[test]
fn two_commands_at_the_same_time_have_a_budget_each() {
    let together = Arc::new(AtomicBool::new(false));
    let both = Barrier::new(2);
    let waits = Arc::clone(&together);
    let provider = Loopback::start(move |request, number| {
        if waits.load(Ordering::SeqCst) {
            // Answers only after both have asked.
            both.wait();
        }
        let message = json!({
            "id": format!("m{number}"), "type": "message", "role": "assistant",
            "model": request.json()["model"], "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": "Two." }],
            "usage": { "input_tokens": request.body.len() / 3, "output_tokens": 2 },
        });
        Answer::json(200, &message)
    })
    .expect("a provider");
    let sandbox = project(&provider);
    let asked = |more: &[&str]| {
        let words = ["agent", "run", "-m", "How many orders?"];
        let mut command = sandbox.command(words.iter().chain(more));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a child")
    };
    let code = |child: Child| child.wait_with_output().expect("an end").status.code();
    assert_eq!(code(asked(&[])), Some(0));
    // A call reserves a token per two bytes, and 500 for the answer.
    let reserved = provider.requests()[0].body.len() / 2 + 500;
    let limit = |tokens: usize| ["--max-tokens".to_owned(), tokens.to_string()];
    let too_small = limit(reserved / 2);
    assert_eq!(
        code(asked(&too_small.each_ref().map(String::as_str))),
        Some(7)
    );

    together.store(true, Ordering::SeqCst);
    let enough_for_one = limit(reserved * 3 / 2);
    let words = enough_for_one.each_ref().map(String::as_str);
    let (first, second) = (asked(&words), asked(&words));
    assert_eq!((code(first), code(second)), (Some(0), Some(0)));
    assert_eq!(
        answer(&sandbox, "usage --json")["data"]["total"]["messages"],
        json!(3)
    );
}
