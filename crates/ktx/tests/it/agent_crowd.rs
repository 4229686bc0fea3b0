//! Many processes on one session.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::agent_kills::number;
use crate::probes::configured;
use crate::sessions::check_history;
use crate::support::{json as json_of, run, words};

const PROCESSES: usize = 8;

/// `KTX_TEST_SECONDS=60` asks for a minute.
const ROUNDS: u64 = 3;

const EVENTS: &str = "agent sessions events one --channels progress,control,monitor";

/// Ends with the test, also if it fails.
struct Follower(Child);

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn provider() -> Loopback {
    Loopback::start(|request: &Request, number| {
        check_history(&request.json());
        let block = json!({ "type": "text", "text": format!("Answer {number}.") });
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider")
}

fn take_part(
    sandbox: &Sandbox,
    worker: usize,
    until: Option<Instant>,
    answered: &Mutex<BTreeSet<String>>,
) {
    for round in 0.. {
        let is_over = until.map_or(round >= ROUNDS, |end| Instant::now() >= end);
        if is_over {
            return;
        }
        let text = format!("Message {worker}-{round}.");
        let sent = run(sandbox, &format!("agent run --session one -m '{text}'"));
        match sent.code {
            Some(0) => drop(answered.lock().expect("no panic").insert(text)),
            Some(1) => assert!(sent.stderr.contains("session `one`"), "{sent}"),
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

/// KODE-44, KODE-55: one writer at a time, one answer per accepted message, no partial reads, and a
/// follower who misses nothing.
#[test]
fn eight_processes_use_one_session() {
    let provider = provider();
    let sandbox = configured(shop(CONFIG), &provider, "");
    run(&sandbox, "agent run --session one --create -m 'Message 0.'");
    let follower = sandbox
        .command(words(&format!("{EVENTS} --follow")))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut follower = Follower(follower.expect("it starts"));
    let mut heard = BufReader::new(follower.0.stdout.take().expect("stdout is piped")).lines();
    let answered = Mutex::new(BTreeSet::new());
    let until = number("KTX_TEST_SECONDS").map(|all| Instant::now() + Duration::from_secs(all));
    std::thread::scope(|scope| {
        for worker in 1..=PROCESSES {
            let (sandbox, answered) = (&sandbox, &answered);
            scope.spawn(move || take_part(sandbox, worker, until, answered));
        }
    });
    let answered = answered.into_inner().expect("no panic");
    check_messages(&sandbox, &answered);
    let all = run(&sandbox, EVENTS).stdout;
    let heard: Vec<String> = heard
        .by_ref()
        .take(all.lines().count())
        .map_while(Result::ok)
        .collect();
    let heard = sandbox.filter(heard.join("\n").as_bytes());
    assert_eq!(heard, all.trim_end());
}

fn check_messages(sandbox: &Sandbox, answered: &BTreeSet<String>) {
    assert!(!answered.is_empty());
    let shown = json_of(sandbox, "agent sessions show one --json");
    assert_eq!(shown["state"], "ready");
    let messages = shown["messages"].as_array().expect("messages");
    let asked: Vec<&str> = messages
        .iter()
        .filter(|message| message["origin"] == "user")
        .filter_map(|message| message["message"]["content"][0]["text"].as_str())
        .collect();
    let once: BTreeSet<&str> = asked.iter().copied().collect();
    assert_eq!(once.len(), asked.len(), "{asked:?}");
    assert!(answered.iter().all(|text| once.contains(text.as_str())));
    assert_eq!(asked.len(), answered.len() + 1);
    assert_eq!(messages.len(), 2 * asked.len());
}
