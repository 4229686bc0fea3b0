//! The fixed sentences about agents, each where a person or a model meets it.
//!
//! Complaints of users of other systems, and the tests that hold the answer here:
//!
//! | complaint | tests |
//! |---|---|
//! | a tool runs twice after a crash | `a_kill_at_any_stage_runs_no_call_twice`, `a_kill_at_any_moment_loses_nothing` |
//! | all sessions share a database that is locked | `eight_processes_use_one_session`, `threads_share_writes_and_each_gets_its_own_number` |
//! | approvals vanish on restart, or waiting counts as "no" | `a_parked_call_runs_after_it_was_allowed`, `an_approval_that_expired_is_denied` |
//! | a resumed session has lost its tools' history | `a_session_is_continued_listed_and_shown`, `a_turn_that_was_killed_at_any_stage_is_continued` |
//! | a stream that reconnects loses or doubles events | `events_continue_behind_their_cursor`, `a_session_over_http` |
//! | compression loops, hangs or hides | `a_long_conversation_is_summarized`, `a_long_conversation_is_shortened_without_a_model` |
//! | nightly runs are missed, or all come at once | `questions_are_asked_at_their_times`, `two_ticks_ask_once` |
//! | an API error counts as a wrong answer | `errors_are_asked_again`, `a_judge_that_is_down_is_an_error` |
//! | cases are flaky, repeats come from a cache | `cases_are_asked_and_judged`, `a_run_reuses_earlier_verdicts` |
//! | comparing calls is all or nothing | `calls_are_compared_as_a_subset_exactly_or_in_order` |
//! | equality of results ignores duplicates and order | `rows_are_a_multiset`, `order_counts_where_the_reference_orders` |

use std::process::Stdio;

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::claude_cut_off::until;
use crate::probes::configured;
use crate::support::{commit, run, transcript, unscanned, write};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/agents");

/// HOLO-01…11, HOLO-20…23: the message of every fixture that has a fault.
#[test]
fn every_sentence_about_agent_files() {
    let sandbox = unscanned("CREATE TABLE orders (id INTEGER PRIMARY KEY);");
    sandbox
        .copy(FIXTURES.as_ref(), "agents")
        .expect("the fixtures");
    let told = run(&sandbox, "agent validate");
    assert_eq!(told.code, Some(3));
    insta::assert_snapshot!(transcript(&told));
}

const DESK: &str = "name: desk
instructions: {inline: Answer from the layer.}
tools: [wiki_search, sl_query, memory_ingest]
workspace: {root: ../desk, write: true}
todo: {enabled: true, remind_every_steps: 10}
permissions: {mode: auto, deny: [sl_query], ask: [memory_ingest]}
limits: {messages: 2, message_chars: 200}
";

/// Calls the tool that the last question names, then says `Done.`.
fn provider() -> Loopback {
    Loopback::start(|request: &Request, number| {
        let asked = request.json();
        let last = asked["messages"].as_array().and_then(|all| all.last());
        let block = last.map(|message| message["content"][0].clone());
        let question = block.unwrap_or_default()["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let wanted = question.split_once(' ');
        let block = match wanted.and_then(|(name, rest)| Some((name, parsed(rest)?))) {
            Some((name, input)) => {
                json!({ "type": "tool_use", "id": format!("t{number}"), "name": name, "input": input })
            }
            None => json!({ "type": "text", "text": "Done." }),
        };
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider")
}

fn parsed(input: &str) -> Option<Value> {
    serde_json::from_str(input).ok()
}

fn desk(provider: &Loopback) -> Sandbox {
    let sandbox = configured(shop(CONFIG), provider, "");
    write(&sandbox, "agents/desk.yaml", DESK);
    write(&sandbox, "desk/kept.md", "Kept\n");
    commit(&sandbox, "a desk");
    sandbox
}

/// KODE-63, KODE-67, KODE-69, HOLO-37: what ktx says to the model about a call.
#[test]
fn every_sentence_about_calls() {
    let provider = provider();
    let sandbox = desk(&provider);
    let task =
        |id: &str, title: &str, status: &str| json!({ "id": id, "title": title, "status": status });
    let calls = [
        ("an unknown tool", "shell", json!({ "command": "ls" })),
        ("a wrong argument", "wiki_search", json!({ "qeury": "x" })),
        (
            "a denied tool",
            "sl_query",
            json!({ "measures": ["orders.revenue"] }),
        ),
        (
            "a tool that nobody allows",
            "memory_ingest",
            json!({ "content": "x" }),
        ),
        (
            "a file above the workspace",
            "file_read",
            json!({ "path": "../ktx.yaml" }),
        ),
        (
            "a file that is not there",
            "file_read",
            json!({ "path": "no.md" }),
        ),
        (
            "a file that was not read",
            "file_write",
            json!({ "path": "kept.md", "content": "x" }),
        ),
        (
            "two tasks at once",
            "todo_write",
            json!({ "todos": [task("1", "a", "in_progress"), task("2", "b", "in_progress")] }),
        ),
        (
            "two tasks with one id",
            "todo_write",
            json!({ "todos": [task("1", "a", "pending"), task("1", "b", "pending")] }),
        ),
        (
            "a task without a title",
            "todo_write",
            json!({ "todos": [task("1", " ", "pending")] }),
        ),
    ];
    let mut told = String::new();
    for (situation, name, input) in calls {
        let line = format!("agent run --agent desk --json -m '{name} {input}'");
        let printed = run(&sandbox, &line);
        assert_eq!(printed.code, Some(0), "{situation}: {printed}");
        let result: Value = serde_json::from_str(&printed.stdout).expect("JSON");
        let results = result["tool_results"].as_array().expect("results");
        let texts = results.iter().map(|result| {
            assert_eq!(result["is_error"], true, "{situation}");
            result["result"].as_str().unwrap_or_default()
        });
        let texts: Vec<&str> = texts.collect();
        told = format!("{told}{situation}: {}\n", texts.join(" | "));
    }
    insta::assert_snapshot!(told);
    assert_eq!(sandbox.read("desk/kept.md").expect("a file"), "Kept\n");
}

/// KODE-53, KODE-57: what ktx says about a call whose process died.
#[test]
fn every_sentence_about_killed_calls() {
    let provider = provider();
    let mut sandbox = desk(&provider);
    let mut told = String::new();
    let writes = ("file_write", json!({ "path": "new.md", "content": "x" }));
    let reads = ("file_list", json!({}));
    for (stage, (name, input)) in [
        ("TOOL_PENDING", &writes),
        ("TOOL_EXECUTING", &writes),
        ("TOOL_EXECUTING", &reads),
    ] {
        let session = format!("{}-{name}", stage.to_lowercase()).replace('_', "-");
        sandbox.set("KTX_TEST_KILL_AT", format!("session:{stage}"));
        let line =
            format!("agent run --agent desk --session {session} --create -m '{name} {input}'");
        assert_eq!(run(&sandbox, &line).code, None, "{session}");
        sandbox.unset("KTX_TEST_KILL_AT");
        run(&sandbox, &format!("agent sessions resume {session}"));
        let shown = run(&sandbox, &format!("agent sessions show {session} --full"));
        told = format!("{told}# killed at {stage} of {name}\n{}\n", shown.stdout);
    }
    insta::assert_snapshot!(told);
}

/// HOLO-45, KODE-54, KODE-55: what ktx says to the user about a session.
#[test]
fn every_sentence_about_sessions() {
    let provider = provider();
    let sandbox = desk(&provider);
    let long = "x".repeat(201);
    let lines = [
        (
            "an unknown agent",
            "agent run --agent dsek -m 'How much?'".to_owned(),
        ),
        (
            "an unknown session",
            "agent run --session nope -m 'How much?'".to_owned(),
        ),
        (
            "a first question",
            "agent run --agent desk --session talk --create -m 'How much?'".to_owned(),
        ),
        (
            "an empty message",
            "agent run --session talk -m ' '".to_owned(),
        ),
        (
            "a long message",
            format!("agent run --session talk -m '{long}'"),
        ),
        (
            "a session that is there",
            "agent run --agent desk --session talk --create -m 'How much more?'".to_owned(),
        ),
        (
            "a full session",
            "agent run --session talk -m 'How much?'".to_owned(),
        ),
        (
            "a turn with its answer",
            "agent sessions resume talk".to_owned(),
        ),
        (
            "no point to copy",
            "agent sessions fork talk --at 3".to_owned(),
        ),
        (
            "no such turn",
            "agent sessions fork talk --at turn:9".to_owned(),
        ),
        (
            "no such point",
            "agent sessions fork talk --at noon".to_owned(),
        ),
        (
            "a cursor behind the end",
            "agent sessions events talk --since 999".to_owned(),
        ),
        (
            "a call that does not wait",
            "agent decide talk call-1 allow".to_owned(),
        ),
        (
            "an id with a path",
            "agent sessions show ../talk".to_owned(),
        ),
    ];
    let mut told = String::new();
    for (situation, line) in lines {
        let printed = run(&sandbox, &line);
        let line = line.replace(&long, "[201 characters]");
        told = format!(
            "{told}# {situation}\n$ ktx {line}\n{}\n",
            transcript(&printed)
        );
    }
    let mut holder = sandbox
        .command(["agent", "chat", "--stdio", "--session", "talk"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let line = "agent sessions rename talk other";
    let mut printed = run(&sandbox, line);
    until("the session is in use", || {
        printed = run(&sandbox, line);
        printed.code != Some(0)
    });
    drop(holder.stdin.take());
    holder.wait().expect("it ends");
    let busy = transcript(&printed).replace(&holder.id().to_string(), "[PID]");
    told = format!("{told}# a session in use\n$ ktx {line}\n{busy}\n");
    insta::assert_snapshot!(told);
}

/// The tests that the table above names exist.
#[test]
fn every_complaint_has_its_tests() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut sources = String::new();
    let mut folders = vec![
        std::path::PathBuf::from(root).join("ktx/tests"),
        std::path::PathBuf::from(root).join("agent-eval/src"),
        std::path::PathBuf::from(root).join("session-log/src"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                sources += &std::fs::read_to_string(path).expect("a source");
            }
        }
    }
    let table = include_str!("agent_sentences.rs");
    let rows = table.lines().filter(|line| line.starts_with("//! | "));
    let named = rows
        .skip(1)
        .flat_map(|row| row.split('`').skip(1).step_by(2));
    let missing: Vec<&str> = named
        .filter(|name| !sources.contains(&format!("fn {name}(")))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
