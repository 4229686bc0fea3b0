//! Interrupted units continue, and no turn is paid twice.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use ktx_test_support::loopback::{Answer, End, Loopback};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::play;
use crate::claude_cut_off::{signal, until};
use crate::sources::{SCHEMA, Script, answered, locally, page, project, remotely};
use crate::support::{commit, git, run, write};

/// Five pages, one per turn; ends in the sixth.
fn script() -> Script {
    let keys = ["one", "two", "three", "four", "five"];
    let calls = keys.map(|key| page(key, key)).to_vec();
    vec![("Unit dbt-all of", calls)]
}

type Bill = Arc<Mutex<Vec<Value>>>;

/// Tokens depend on bytes. Stalls once, in turn `stalls_at`.
fn provider(bill: &Bill, stalls_at: Option<usize>) -> Loopback {
    let (bill, script) = (Arc::clone(bill), script());
    Loopback::start(move |request, number| {
        let asked = request.json();
        let answer = answered(&script, request, number, request.body.len() / 3);
        if asked["tools"].is_null() {
            return answer;
        }
        let turn = |asked: &Value| asked["messages"].as_array().map_or(0, Vec::len) / 2 + 1;
        let at_turn = turn(&asked);
        let mut bill = bill.lock().expect("no poison");
        let is_first = !bill.iter().any(|earlier| turn(earlier) == at_turn);
        bill.push(asked);
        match stalls_at {
            Some(at) if at == at_turn && is_first => Answer {
                end: End::StallAfter(0),
                ..answer
            },
            _ => answer,
        }
    })
    .expect("a provider")
}

fn shop(provider: &Loopback) -> Sandbox {
    remotely(project(&[("models/schema.yml", SCHEMA)]), provider, "")
}

fn whole() -> Vec<Value> {
    let bill = Bill::default();
    let provider = provider(&bill, None);
    let printed = run(&shop(&provider), "ingest shop-dbt");
    assert_eq!(printed.code, Some(0), "{printed}");
    let turns = bill.lock().expect("no poison").clone();
    assert_eq!(turns.len(), 6);
    turns
}

fn is_finished(sandbox: &Sandbox) {
    let files = git(sandbox, &["ls-files", "wiki/global"]);
    for key in ["one", "two", "three", "four", "five"] {
        assert!(
            files.contains(&format!("wiki/global/{key}.md\n")),
            "{files}"
        );
    }
    let transcripts = sandbox.work().join(".ktx/state/transcripts/shop-dbt");
    let left: Vec<_> = std::fs::read_dir(transcripts)
        .expect("the folder")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// `--max-tokens` allows two turns per run; the conversation is the same as in one run.
#[test]
fn a_small_budget_comes_to_an_end_and_pays_for_no_turn_twice() {
    let whole = whole();
    let tokens = |turn: &Value| turn.to_string().len() / 3 + 20;
    let two_turns: usize = whole[..2].iter().map(tokens).sum();
    let line = format!("ingest shop-dbt --max-tokens {}", two_turns + 600);
    let bill = Bill::default();
    let provider = provider(&bill, None);
    let sandbox = shop(&provider);
    let mut runs = 1;
    let last = loop {
        let printed = run(&sandbox, &line);
        if printed.code == Some(0) {
            break printed;
        }
        assert_eq!(printed.code, Some(7), "{printed}");
        assert!(
            printed
                .stderr
                .contains("the next model call would exceed the budget"),
            "{printed}"
        );
        runs += 1;
        assert!(runs <= 6, "{printed}");
    };
    assert!(runs > 2, "{runs}");
    let continued = "[1/1] shop-dbt · dbt-all · continues after ";
    assert!(last.stderr.contains(continued), "{last}");
    assert_eq!(*bill.lock().expect("no poison"), whole);
    is_finished(&sandbox);
}

#[test]
fn a_run_that_is_ended_in_an_answer_is_continued_with_it() {
    let whole = whole();
    for how in ["-KILL", "-INT"] {
        let bill = Bill::default();
        let provider = provider(&bill, Some(3));
        let sandbox = shop(&provider);
        let child = sandbox
            .command(["ingest", "shop-dbt"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        until("the third turn is asked for", || {
            bill.lock().expect("no poison").len() == 3
        });
        signal(&child, how);
        child.wait_with_output().expect("an end");
        let printed = run(&sandbox, "ingest shop-dbt");
        assert_eq!(printed.code, Some(0), "{how}: {printed}");
        let expected = [&whole[..3], &whole[2..]].concat();
        assert_eq!(*bill.lock().expect("no poison"), expected, "{how}");
        is_finished(&sandbox);
    }
}

#[test]
fn a_unit_that_has_changed_begins_again() {
    let bill = Bill::default();
    let provider = provider(&bill, Some(3));
    let sandbox = shop(&provider);
    let child = sandbox
        .command(["ingest", "shop-dbt"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    until("the third turn is asked for", || {
        bill.lock().expect("no poison").len() == 3
    });
    signal(&child, "-KILL");
    child.wait_with_output().expect("an end");
    write(
        &sandbox,
        "dbt/models/schema.yml",
        &SCHEMA.replace("The state.", "Its state."),
    );
    commit(&sandbox, "other words");
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(!printed.stderr.contains("continues"), "{printed}");
    assert_eq!(bill.lock().expect("no poison").len(), 3 + 6);
    is_finished(&sandbox);
}

/// It keeps no conversation, so the prompt says what was written.
#[test]
fn the_local_session_begins_again_with_what_was_written() {
    let mut sandbox = locally(project(&[("models/schema.yml", SCHEMA)]), &script());
    let (name, input) = page("one", "one");
    let unit = json!({ "prompt_contains": "Unit dbt-all of", "steps": [
        { "tools": [{ "name": name, "input": input }] }, "hang",
    ] });
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": [unit] }),
    );
    let child = sandbox
        .command(["ingest", "shop-dbt"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    let transcript = sandbox
        .work()
        .join(".ktx/state/transcripts/shop-dbt/dbt-all.jsonl");
    until("the page is kept", || {
        std::fs::read_to_string(&transcript).is_ok_and(|text| text.lines().count() == 3)
    });
    signal(&child, "-INT");
    assert_eq!(
        child.wait_with_output().expect("an end").status.code(),
        Some(130)
    );
    let (name, input) = page("two", "two");
    let told = "An earlier run of this task was cut off. What it wrote is in the files already: pages one; sources none.";
    let unit = json!({ "prompt_contains": told, "steps": [
        { "tools": [{ "name": name, "input": input }] }, { "text": "Done." },
    ] });
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": [unit] }),
    );
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(
        printed
            .stderr
            .contains("[1/1] shop-dbt · dbt-all · continues after 1 turn of an earlier run\n"),
        "{printed}"
    );
    let last = git(&sandbox, &["log", "-1", "--format=%s", "--name-only"]);
    assert_eq!(
        last,
        "ktx ingest: shop-dbt dbt-all\n\nraw-sources/shop-dbt/ledger/dbt-all.json\nwiki/global/one.md\nwiki/global/two.md\n"
    );
    assert!(!transcript.exists());
}

/// A refused key ends the run at once.
#[test]
fn the_opening_probe_is_retried() {
    let refused = |status: u16, class: &str| {
        let error = json!({ "type": "error", "error": { "type": class, "message": "no" } });
        Answer::json(status, &error).header("retry-after-ms", "20")
    };
    for (first, code, requests) in [
        (
            vec![
                (429, "rate_limit_error"),
                (503, "api_error"),
                (529, "overloaded_error"),
            ],
            0,
            3 + 7,
        ),
        (vec![(401, "authentication_error")], 5, 1),
        (vec![(402, "billing_error")], 5, 1),
    ] {
        let script = script();
        let failures = first.clone();
        let provider = Loopback::start(move |request, number| match failures.get(number) {
            Some((status, class)) => refused(*status, class),
            None => answered(&script, request, number, 100),
        })
        .expect("a provider");
        let sandbox = shop(&provider);
        let config = sandbox.read("ktx.yaml").expect("the file");
        let config = config.replace("maxAttempts: 1", "maxAttempts: 4\n      baseDelayMs: 10");
        write(&sandbox, "ktx.yaml", &config);
        commit(&sandbox, "more tries");
        let printed = run(&sandbox, "ingest shop-dbt");
        assert_eq!(printed.code, Some(code), "{first:?}: {printed}");
        assert_eq!(provider.requests().len(), requests, "{first:?}: {printed}");
    }
}
