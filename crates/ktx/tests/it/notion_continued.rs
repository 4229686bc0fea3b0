//! Interrupted triage and curation continue without paying twice.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ktx_test_support::loopback::{Answer, End, Loopback, Request};
use ktx_test_support::notion_fake::NotionFake;
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::play;
use crate::claude_cut_off::{signal, until};
use crate::notion::{
    Does, HANDBOOK, NOTES, POLICY, Script, answered, decide, locally, page, project, remotely,
    script, workspace,
};
use crate::support::{git, run};

type Bill = Arc<Mutex<Vec<Value>>>;

/// Tokens depend on bytes. `disturb` can replace an answer by request and number of earlier
/// requests with its text.
fn provider(
    bill: &Bill,
    script: Script,
    disturb: impl Fn(&Value, usize, Answer) -> Answer + Send + Sync + 'static,
) -> Loopback {
    let bill = Arc::clone(bill);
    Loopback::start(move |request: &Request, number| {
        let asked = request.json();
        let answer = answered(&script, request, number, request.body.len() / 3);
        if !script.iter().any(|(words, _)| is_about(&asked, words)) {
            return answer;
        }
        let earlier = {
            let mut bill = bill.lock().expect("no poison");
            let earlier = bill.iter().filter(|known| **known == asked).count();
            bill.push(asked.clone());
            earlier
        };
        disturb(&asked, earlier, answer)
    })
    .expect("a provider")
}

fn is_about(asked: &Value, words: &str) -> bool {
    asked["messages"][0].to_string().contains(words)
}

fn about(bill: &Bill, words: &str) -> Vec<Value> {
    let bill = bill.lock().expect("no poison");
    let asked = bill.iter().filter(|asked| is_about(asked, words));
    asked.cloned().collect()
}

const CURATION: &str = "Candidates of the source team-notes";

fn whole_curation(notion: &NotionFake) -> Vec<Value> {
    let bill = Bill::default();
    let provider = provider(&bill, script(), |_, _, answer| answer);
    let printed = run(&remotely(notion, &provider), "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    let turns = about(&bill, CURATION);
    assert_eq!(turns.len(), 6);
    turns
}

fn is_finished(sandbox: &Sandbox) {
    for key in ["refunds", "revenue-policy"] {
        let path = format!("wiki/global/{key}.md");
        let tracked = git(sandbox, &["ls-files", &path]);
        assert_eq!(tracked, format!("{path}\n"));
    }
    let transcripts = sandbox.work().join(".ktx/state/transcripts/team-notes");
    let left: Vec<_> = std::fs::read_dir(transcripts)
        .expect("the folder")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Ends `ktx ingest team-notes` with this signal once `is_reached`.
fn ended_when(sandbox: &Sandbox, how: &str, what: &str, is_reached: impl Fn() -> bool) {
    let child = sandbox
        .command(["ingest", "team-notes"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    until(what, is_reached);
    signal(&child, how);
    let status = child.wait_with_output().expect("an end").status;
    let expected = if how == "-INT" { Some(130) } else { None };
    assert_eq!(status.code(), expected, "{how}");
}

/// Killed and interrupted in the fifth answer; the conversation stays the same.
#[test]
fn a_curation_that_is_ended_in_an_answer_is_continued_with_it() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let whole = whole_curation(&notion);
    for how in ["-KILL", "-INT"] {
        let bill = Bill::default();
        let fifth = whole[4].clone();
        let provider = provider(&bill, script(), move |asked, earlier, answer| {
            if *asked == fifth && earlier == 0 {
                let end = End::StallAfter(0);
                Answer { end, ..answer }
            } else {
                answer
            }
        });
        let sandbox = remotely(&notion, &provider);
        ended_when(&sandbox, how, "the fifth turn is asked for", || {
            about(&bill, CURATION).len() == 5
        });
        let printed = run(&sandbox, "ingest team-notes");
        assert_eq!(printed.code, Some(0), "{how}: {printed}");
        let continued =
            "team-notes · curation, pass 1 · continues after 4 turns of an earlier run\n";
        assert!(printed.stderr.contains(continued), "{how}: {printed}");
        let expected = [&whole[..5], &whole[4..]].concat();
        assert_eq!(about(&bill, CURATION), expected, "{how}");
        is_finished(&sandbox);
    }
}

/// `--max-tokens` allows a few answers per run.
#[test]
fn a_small_budget_comes_to_an_end_and_asks_nothing_twice() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let whole = whole_curation(&notion);
    let tokens = |turn: &Value| turn.to_string().len() / 3 + 20;
    let two_turns: usize = whole[4..].iter().map(tokens).sum();
    let line = format!("ingest team-notes --max-tokens {}", two_turns + 600);
    let bill = Bill::default();
    let provider = provider(&bill, script(), |_, earlier, answer| {
        assert_eq!(earlier, 0, "a request came twice");
        answer
    });
    let sandbox = remotely(&notion, &provider);
    let mut runs = 1;
    loop {
        let printed = run(&sandbox, &line);
        if printed.code == Some(0) {
            break;
        }
        assert_eq!(printed.code, Some(7), "{printed}");
        runs += 1;
        assert!(runs <= 15, "{printed}");
    }
    assert!(runs > 3, "{runs}");
    assert_eq!(about(&bill, CURATION), whole);
    is_finished(&sandbox);
}

/// It keeps no conversation, but writes and decisions stay.
#[test]
fn the_local_session_begins_again_with_what_was_decided() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let mut sandbox = locally(project(&notion, ""), &script());
    let first = format!("notion-page-{HANDBOOK}#1");
    let second = format!("notion-page-{HANDBOOK}#2");
    let step =
        |(name, input): (&str, Value)| json!({ "tools": [{ "name": name, "input": input }] });
    let object = |words: String, object: Value| json!({ "prompt_contains": words, "steps": [{ "object": object }] });
    let mut cut: Vec<Value> = script()
        .into_iter()
        .filter_map(|(words, does)| match does {
            Does::Object(answer) => Some(object(words, answer)),
            Does::Tools(_) => None,
        })
        .collect();
    let unit = json!({
        "prompt_contains": format!("Unit notion-page-{POLICY} of"),
        "steps": [step(page("revenue-policy", "Revenue is what was paid.")), { "text": "Done." }],
    });
    cut.push(unit);
    cut.push(json!({ "prompt_contains": CURATION, "steps": [
        step(page("refunds", "A refund counts in the month of its order.")),
        step(decide(&first, "promoted", Some("refunds"))),
        "hang",
    ] }));
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": cut }),
    );
    let transcript = sandbox
        .work()
        .join(".ktx/state/transcripts/team-notes/curation.jsonl");
    ended_when(&sandbox, "-INT", "the decision is kept", || {
        std::fs::read_to_string(&transcript).is_ok_and(|text| text.lines().count() == 5)
    });
    let listed = format!(
        "What it wrote is in the files already: pages refunds; sources none. Read them before you change them, do not \
         write them again, and do what is missing.\nIt had decided about these candidates, and the decisions hold: \
         {first}. Decide about the others."
    );
    let continued = json!({ "prompt_contains": listed, "steps": [
        step(decide(&second, "rejected", None)), { "text": "Done." },
    ] });
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": [continued] }),
    );
    let printed = run(&sandbox, "ingest team-notes --json");
    assert_eq!(printed.code, Some(0), "{printed}");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let curation = &answer["results"][0]["curation"];
    assert_eq!(
        curation["decisions"],
        json!({
            first: { "fate": "promoted", "page": "refunds", "reason": "Because." },
            second: { "fate": "rejected", "page": null, "reason": "Because." },
        })
    );
    is_finished(&sandbox);
}

#[test]
fn a_light_reading_that_is_cut_off_is_repeated_alone() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let bill = Bill::default();
    let provider = provider(&bill, script(), |asked, earlier, answer| {
        if is_about(asked, "Light reading of") && earlier == 0 {
            let end = End::StallAfter(0);
            Answer { end, ..answer }
        } else {
            answer
        }
    });
    let sandbox = remotely(&notion, &provider);
    ended_when(&sandbox, "-KILL", "the light reading is asked for", || {
        about(&bill, "Light reading of").len() == 1
    });
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    // The kill can also interrupt the triage of another page.
    let triage = format!("Triage of notion-page-{HANDBOOK}");
    assert_eq!(about(&bill, &triage).len(), 1);
    assert_eq!(about(&bill, "Light reading of").len(), 2);
    is_finished(&sandbox);
}

#[test]
fn an_answer_that_comes_after_the_end_of_a_run_is_kept() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let bill = Bill::default();
    let provider = provider(&bill, script(), |asked, earlier, answer| {
        if is_about(asked, &format!("Triage of notion-page-{POLICY}")) && earlier == 0 {
            let error =
                json!({ "type": "error", "error": { "type": "billing_error", "message": "no" } });
            return Answer::json(402, &error);
        }
        if is_about(asked, &format!("Triage of notion-page-{NOTES}")) {
            std::thread::sleep(Duration::from_millis(500));
        }
        answer
    });
    let sandbox = remotely(&notion, &provider);
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(5), "{printed}");
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    let triage = |id: &str| about(&bill, &format!("Triage of notion-page-{id}")).len();
    assert_eq!((triage(POLICY), triage(NOTES), triage(HANDBOOK)), (2, 1, 1));
    is_finished(&sandbox);
}
