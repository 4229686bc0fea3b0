//! Sessions that are followed, copied, continued with another provider, or written to a full disk.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::claude::play;
use crate::probes::configured;
use crate::support::{json as json_of, run, words, write};

const EVENTS: &str = "agent sessions events talk --channels progress,control,monitor";

/// Reads events behind a cursor and is killed after `most` of them, or after `done`.
fn followed(sandbox: &Sandbox, since: u64, most: usize) -> Vec<String> {
    let line = format!("{EVENTS} --follow --since {since}");
    let mut child = sandbox
        .command(words(&line))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut heard = Vec::new();
    for line in BufReader::new(stdout).lines() {
        let line = line.expect("a line");
        let is_last = line.contains(r#""state":"READY""#) && heard.len() > 3;
        heard.push(line);
        if is_last || heard.len() == most {
            break;
        }
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    heard
}

fn cursor(line: &str) -> u64 {
    let event: Value = serde_json::from_str(line).expect("JSON");
    event["cursor"].as_u64().expect("a cursor")
}

/// KODE-44: a follower that is killed continues at its cursor while the answer still comes.
#[test]
fn a_killed_follower_misses_and_doubles_nothing() {
    let mut sandbox = shop(CONFIG);
    let search = json!({ "tools": [{ "name": "wiki_search", "input": { "query": "revenue" } }] });
    let pause = json!({ "sleep": 300 });
    let steps = json!([search, pause, { "text": "One." }, search, pause, { "text": "Two." }]);
    play(
        &mut sandbox,
        json!({
            "steps": [{ "text": "ok" }],
            "when": [
                { "prompt_contains": "Slowly.", "steps": steps },
                { "prompt_contains": "Hello?", "steps": [{ "text": "Hello." }] },
            ],
        }),
    );
    run(&sandbox, "agent run --session talk --create -m Hello?");
    let known = run(&sandbox, EVENTS).stdout;
    let mut since = known.lines().last().map_or(0, cursor);
    let mut heard: Vec<String> = known.lines().map(str::to_owned).collect();
    let mut running = sandbox
        .command(words("agent run --session talk -m Slowly."))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    for most in [2, 3, 5, usize::MAX] {
        let more = followed(&sandbox, since, most);
        since = more.last().map_or(since, |line| cursor(line));
        heard.extend(more);
    }
    assert!(running.wait().expect("it ends").success());
    let heard = sandbox.filter(heard.join("\n").as_bytes());
    assert_eq!(heard, run(&sandbox, EVENTS).stdout.trim_end());
}

/// KODE-54: at every record. Safe ones are copied, others name the nearest.
#[test]
fn every_record_is_copied_or_names_its_neighbors() {
    let provider = Loopback::start(|request: &Request, number| {
        let length = request.json()["messages"].as_array().map_or(0, Vec::len);
        let block = if length % 4 == 1 {
            json!({ "type": "tool_use", "id": format!("t{number}"), "name": "wiki_search", "input": { "query": "revenue" } })
        } else {
            json!({ "type": "text", "text": "Done." })
        };
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider");
    let sandbox = configured(shop(CONFIG), &provider, "");
    run(&sandbox, "agent run --session talk --create -m One?");
    run(&sandbox, "agent run --session talk -m Two?");
    let shown = json_of(&sandbox, "agent sessions show talk --json");
    let points = shown["fork_points"].as_array().expect("points");
    let points: Vec<u64> = points.iter().filter_map(Value::as_u64).collect();
    assert!(points.len() >= 4, "{points:?}");
    let log = ".ktx/state/agents/sessions/talk/log.jsonl";
    let last = sandbox.read(log).expect("a log").lines().count() as u64;
    for at in 1..=last {
        let told = run(&sandbox, &format!("agent sessions fork talk --at {at}"));
        if points.contains(&at) {
            assert_eq!(told.code, Some(0), "{at}: {told}");
            continue;
        }
        let before = points.iter().rev().find(|point| **point < at);
        let after = points.iter().find(|point| **point > at);
        let near: Vec<String> = before
            .into_iter()
            .chain(after)
            .map(u64::to_string)
            .collect();
        let expected = format!(
            "error: a copy cannot begin after record {at}; it can after {}\n",
            near.join(" and ")
        );
        assert_eq!(told.code, Some(3), "{at}: {told}");
        assert!(told.stderr.contains(&expected), "{expected}{told}");
    }
}

const SIGNATURE: &str = "c2lnbmF0dXJlLW9mLWFudGhyb3BpYw==";

fn thinking() -> String {
    let events = [
        json!({ "type": "message_start", "message": {
            "id": "m0", "model": "claude-sonnet-5",
            "usage": { "input_tokens": 100, "output_tokens": 1 },
        } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "", "signature": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "Paid orders." } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": SIGNATURE } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "It is 15." } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    lines.collect()
}

fn completed() -> String {
    let item = json!({ "type": "message", "id": "x", "role": "assistant",
        "content": [{ "type": "output_text", "text": "In euros." }] });
    let response = json!({ "id": "r", "model": "gpt-5.5", "status": "completed", "output": [item],
        "usage": { "input_tokens": 1, "output_tokens": 1 } });
    let events = [
        json!({ "type": "response.output_text.delta", "item_id": "x", "output_index": 0, "content_index": 0, "delta": "In euros." }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": response }),
    ];
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.collect()
}

/// KODE-56: reasoning goes back to its author alone.
#[test]
fn another_provider_gets_no_foreign_signature() {
    let author = Loopback::start(|_, _| Answer::stream(thinking())).expect("a provider");
    let other = Loopback::start(|_, _| Answer::stream(completed())).expect("a provider");
    let sandbox = configured(shop(CONFIG), &author, "");
    let first = run(&sandbox, "agent run --session talk --create -m 'How much?'");
    assert_eq!(first.code, Some(0), "{first}");
    let again = run(&sandbox, "agent run --session talk -m 'How much?'");
    assert_eq!(again.code, Some(0), "{again}");
    let sent = |provider: &Loopback| {
        let requests = provider.requests();
        String::from_utf8_lossy(&requests.last().expect("a request").body).into_owned()
    };
    assert!(sent(&author).contains(SIGNATURE));
    let config = sandbox.read("ktx.yaml").expect("the file");
    let config = config
        .replace("backend: anthropic", "backend: openai")
        .replace("    anthropic:\n", "    openai:\n")
        .replace(&author.address(), &other.address())
        .replace("default: sonnet", "default: gpt-5.5");
    write(&sandbox, "ktx.yaml", &config);
    let line = "agent run --session talk --adopt --output plain -m 'In which currency?'";
    let moved = run(&sandbox, line);
    assert_eq!(moved.code, Some(0), "{moved}");
    assert_eq!(moved.stdout, "In euros.\n");
    let sent = sent(&other);
    assert!(sent.contains("It is 15."), "{sent}");
    assert!(!sent.contains(SIGNATURE), "{sent}");
}

/// KODE-46: the log stays whole, and the session goes on later.
#[test]
fn a_full_disk_ends_a_run_and_damages_no_session() {
    let provider = Loopback::start(|request: &Request, number| {
        let length = request.json()["messages"].as_array().map_or(0, Vec::len);
        // The first answer makes the log the largest file.
        let text = if length == 1 {
            "long ".repeat(200_000)
        } else {
            "short ".repeat(2_000)
        };
        Answer::stream(streamed(number, &json!({ "type": "text", "text": text })))
    })
    .expect("a provider");
    let sandbox = configured(shop(CONFIG), &provider, "");
    let first = run(&sandbox, "agent run --session talk --create -m One?");
    assert_eq!(first.code, Some(0), "{first}");
    let log = sandbox
        .work()
        .join(".ktx/state/agents/sessions/talk/log.jsonl");
    let length = std::fs::metadata(&log).expect("the log").len();
    let blocks = length / 512 + 8;
    let wrapped = sandbox.command(words("agent run --session talk --output plain -m Two?"));
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" \"$@\""),
        ])
        .arg(wrapped.get_program())
        .args(wrapped.get_args())
        .env_clear()
        .envs(
            wrapped
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(wrapped.get_current_dir().expect("a folder"));
    let told = sandbox.finish(&mut command).expect("it runs");
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    let at = told.stderr.find("error: ").expect("an error");
    insta::assert_snapshot!(&told.stderr[at..], @"
    error: cannot write `.ktx/state/agents/sessions/talk/log.jsonl`
      caused by: File too large (os error 27)

    hint: make room on the disk, then run the command again
    ");
    let text = std::fs::read_to_string(&log).expect("the log");
    assert!(text.ends_with('\n'));
    let next = run(
        &sandbox,
        "agent run --session talk --output plain -m Three?",
    );
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    let shown = json_of(&sandbox, "agent sessions show talk --json");
    assert_eq!(shown["state"], "ready");
}
