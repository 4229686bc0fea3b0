//! Many processes on one session.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::{RunOutput, Sandbox};
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::agent_kills::number;
use crate::probes::configured;
use crate::sessions::check_history;
use crate::support::{commit, json as json_of, run, words, write};

const CROWD: &str = "name: crowd
instructions: {inline: Mark the files.}
workspace: {root: ../marks, write: true}
tools: []
permissions: {mode: approval, allow: []}
limits: {messages: 5000}
";

const PROCESSES: usize = 8;

/// `KTX_TEST_SECONDS=60` asks for a minute.
const ROUNDS: u64 = 3;

const EVENTS: &str = "agent sessions events one --channels progress,control,monitor";

/// Messages of odd rounds need a call, which asks.
fn provider() -> Loopback {
    Loopback::start(|request: &Request, number| {
        let asked = request.json();
        check_history(&asked);
        let last = asked["messages"].as_array().and_then(|all| all.last());
        let text = last.and_then(|message| message["content"][0]["text"].as_str());
        let file = text.and_then(|text| text.strip_prefix("Mark "));
        let block = match file {
            Some(file) => json!({
                "type": "tool_use", "id": format!("t{number}"), "name": "file_write",
                "input": { "path": file, "content": "x" },
            }),
            None => json!({ "type": "text", "text": "Done." }),
        };
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider")
}

#[derive(Default)]
struct Told {
    answered: BTreeSet<String>,
    decided: Vec<String>,
}

/// Decides the call that the session waits for, if any, and continues.
fn decide(sandbox: &Sandbox, waiting: &RunOutput, told: &Mutex<Told>) {
    let (_, rest) = waiting.stderr.split_once("`call-").expect("a call");
    let (call, _) = rest.split_once('`').expect("a call");
    let decided = run(sandbox, &format!("agent decide one call-{call} allow"));
    match decided.code {
        Some(0) => told.lock().expect("no panic").decided.push(call.to_owned()),
        Some(1..=3) => {}
        _ => panic!("{decided}"),
    }
    let resumed = run(sandbox, "agent sessions resume one --on-ask park");
    assert!(matches!(resumed.code, Some(0 | 1 | 2 | 7)), "{resumed}");
}

fn take_part(sandbox: &Sandbox, worker: usize, until: Option<Instant>, told: &Mutex<Told>) {
    for round in 0.. {
        let is_over = until.map_or(round >= ROUNDS, |end| Instant::now() >= end);
        if is_over {
            return;
        }
        let text = if round % 2 == 1 {
            format!("Mark {worker}-{round}.txt")
        } else {
            format!("Message {worker}-{round}.")
        };
        let line = format!("agent run --session one --on-ask park -m '{text}'");
        let sent = run(sandbox, &line);
        match sent.code {
            Some(0) => drop(told.lock().expect("no panic").answered.insert(text)),
            Some(1) => assert!(sent.stderr.contains("session `one`"), "{sent}"),
            Some(7) => decide(sandbox, &sent, told),
            _ => panic!("{sent}"),
        }
        let events = run(sandbox, EVENTS);
        assert_eq!(events.code, Some(0), "{events}");
        for line in events.stdout.lines() {
            let event: Value = serde_json::from_str(line).expect("a whole record");
            assert!(event["cursor"].is_u64());
        }
        let copied = run(sandbox, "agent sessions fork one --json");
        assert_eq!(copied.code, Some(0), "{copied}");
    }
}

/// Ends with the answer of the last turn.
fn settle(sandbox: &Sandbox, told: &Mutex<Told>) -> Value {
    for _ in 0..10 {
        let shown = json_of(sandbox, "agent sessions show one --json");
        if shown["state"] == "ready" {
            return shown;
        }
        let resumed = run(sandbox, "agent sessions resume one --on-ask park");
        if resumed.code == Some(7) {
            decide(sandbox, &resumed, told);
        }
    }
    panic!("the session has no end")
}

/// KODE-44, KODE-55, KODE-62: one writer at a time, one answer per accepted message, one decision
/// per call, no partial reads, and a follower who misses nothing.
#[test]
fn eight_processes_use_one_session() {
    let provider = provider();
    let sandbox = configured(shop(CONFIG), &provider, "");
    write(&sandbox, "agents/crowd.yaml", CROWD);
    write(&sandbox, "marks/README.md", "Marks\n");
    commit(&sandbox, "an agent for a crowd");
    run(
        &sandbox,
        "agent run --agent crowd --session one --create -m 'Message 0.'",
    );
    let mut follower = sandbox
        .command(words(&format!("{EVENTS} --follow")))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let heard = BufReader::new(follower.stdout.take().expect("stdout is piped"));
    let heard = std::thread::spawn(move || heard.lines().map_while(Result::ok).collect());
    let told = Mutex::new(Told::default());
    let until = number("KTX_TEST_SECONDS").map(|all| Instant::now() + Duration::from_secs(all));
    std::thread::scope(|scope| {
        for worker in 1..=PROCESSES {
            let (sandbox, told) = (&sandbox, &told);
            scope.spawn(move || take_part(sandbox, worker, until, told));
        }
    });
    let shown = settle(&sandbox, &told);
    let told = told.into_inner().expect("no panic");
    check_session(&sandbox, &shown, &told);
    let all = run(&sandbox, EVENTS).stdout;
    std::thread::sleep(Duration::from_secs(1));
    follower.kill().expect("it runs");
    follower.wait().expect("it ends");
    let heard: Vec<String> = heard.join().expect("no panic");
    let heard = sandbox.filter(heard.join("\n").as_bytes());
    assert_eq!(heard, all.trim_end());
}

fn check_session(sandbox: &Sandbox, shown: &Value, told: &Told) {
    let messages = shown["messages"].as_array().expect("messages");
    let asked: Vec<&str> = messages
        .iter()
        .filter(|message| message["origin"] == "user")
        .filter_map(|message| message["message"]["content"][0]["text"].as_str())
        .collect();
    let once: BTreeSet<&str> = asked.iter().copied().collect();
    assert_eq!(once.len(), asked.len(), "{asked:?}");
    assert!(!told.answered.is_empty());
    for text in &told.answered {
        assert!(once.contains(text.as_str()), "{text}");
    }
    let marks: Vec<&str> = asked
        .iter()
        .filter_map(|text| text.strip_prefix("Mark "))
        .collect();
    for file in &marks {
        assert!(sandbox.work().join("marks").join(file).exists(), "{file}");
    }
    // A mark takes a call and its result.
    assert_eq!(messages.len(), 2 * asked.len() + 2 * marks.len());
    let decided: BTreeSet<&String> = told.decided.iter().collect();
    assert_eq!(decided.len(), told.decided.len(), "{:?}", told.decided);
    assert_eq!(decided.len(), marks.len());
}
