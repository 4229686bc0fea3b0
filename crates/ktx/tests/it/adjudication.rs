//! A model decides open links on every backend; failures do not lose the run.

use std::collections::BTreeMap;

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::{RunOutput, Sandbox};
use serde_json::{Value, json};

use crate::claude::{CONFIG, play, processes};
use crate::probes::configured;
use crate::support::{commit, git, json as json_of, run, tree, unscanned, write};

/// The values of `tickets.queue` match four keys of `teams`, but no name shows the link.
const TICKETS: &str = "
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE teams (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE tickets (id INTEGER PRIMARY KEY, queue INTEGER NOT NULL, subject TEXT NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO people SELECT i, 'Person ' || i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO teams SELECT i * 3 + 100, 'Team ' || i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
INSERT INTO tickets SELECT i, ((i * 7) % 4 + 1) * 3 + 100, 'Subject ' || i FROM n;
";

/// Occurs only in the prompt about open links.
const QUESTION: &str = "Decide each of these pairs";

const TABLES: [(&str, &[&str]); 3] = [
    ("people", &["id", "name"]),
    ("teams", &["id", "title"]),
    ("tickets", &["id", "queue", "subject"]),
];

fn description((table, columns): (&str, &[&str])) -> Value {
    let columns = columns.iter();
    let columns: Vec<Value> = columns
        .map(|name| json!({ "name": name, "description": format!("The {name}.") }))
        .collect();
    json!({ "tableDescription": format!("All {table}."), "columns": columns })
}

fn decision(verdict: &str) -> Value {
    json!({ "decisions": [
        { "pair": 1, "verdict": verdict, "reason": "a queue belongs to a team" },
    ] })
}

fn local(about_the_link: &Value) -> Sandbox {
    let mut sandbox = unscanned(TICKETS);
    write(&sandbox, "ktx.yaml", CONFIG);
    commit(&sandbox, "claude-code");
    answered(&mut sandbox, about_the_link);
    sandbox
}

fn answered(sandbox: &mut Sandbox, about_the_link: &Value) {
    let mut when: Vec<Value> = TABLES
        .iter()
        .map(|table| {
            let steps = [json!({ "object": description(*table) })];
            json!({ "prompt_contains": format!("table: {}", table.0), "steps": steps })
        })
        .collect();
    when.push(json!({ "prompt_contains": QUESTION, "steps": [about_the_link] }));
    play(
        sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": when }),
    );
}

fn api(stop: &'static str, about_the_link: String) -> Loopback {
    Loopback::start(move |request: &Request, number| {
        let asked = request.json().to_string();
        let table = TABLES
            .iter()
            .find(|table| asked.contains(&format!("table: {}", table.0)));
        let (stop, text) = match table {
            _ if asked.contains(QUESTION) => (stop, about_the_link.clone()),
            Some(table) => ("end_turn", description(*table).to_string()),
            None => ("end_turn", "ok".to_owned()),
        };
        let message = json!({
            "id": format!("m{number}"), "type": "message", "role": "assistant",
            "model": request.json()["model"], "stop_reason": stop,
            "content": [{ "type": "text", "text": text }],
            "usage": { "input_tokens": 100, "output_tokens": 20 },
        });
        Answer::json(200, &message)
    })
    .expect("a provider")
}

fn files(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let ours = tree(sandbox).into_iter().filter(|(name, _)| {
        name.starts_with("semantic-layer/") || name.starts_with("raw-sources/")
    });
    let model = |line: &str| match line.split_once("\"model\": ") {
        Some((before, _)) => format!("{before}\"model\": [MODEL]\n"),
        None => line.to_owned(),
    };
    ours.map(|(name, bytes)| {
        let text = sandbox.filter(&bytes);
        let text: String = text.split_inclusive('\n').map(model).collect();
        (sandbox.filter(name.as_bytes()), text)
    })
    .collect()
}

fn ingest(sandbox: &Sandbox, code: i32) -> RunOutput {
    let printed = run(sandbox, "ingest");
    assert_eq!(printed.code, Some(code), "{printed}");
    printed
}

fn link(sandbox: &Sandbox) -> (String, String) {
    let answer = json_of(sandbox, "scan relationships --json");
    let item = &answer["data"]["items"][0];
    let reasons = item["reasons"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&item["status"]),
        reasons.last().map(text).unwrap_or_default(),
    )
}

fn has_join(sandbox: &Sandbox) -> bool {
    let shard = sandbox
        .read("semantic-layer/warehouse/_schema/public.yaml")
        .unwrap();
    assert!(
        TABLES
            .iter()
            .all(|(table, _)| shard.contains(&format!("ai: All {table}."))),
        "{shard}"
    );
    shard.contains("tickets.queue = teams.id")
}

/// KTX-05.
#[test]
fn a_model_decides_what_values_leave_open_on_every_backend() {
    let cases = [
        (
            "link",
            "accepted",
            true,
            "the model says it is a link: a queue belongs to a team",
        ),
        (
            "no_link",
            "rejected",
            false,
            "the model says it is not a link: a queue belongs to a team",
        ),
        (
            "unsure",
            "review",
            false,
            "the model is not sure: a queue belongs to a team",
        ),
    ];
    for (verdict, status, joined, reason) in cases {
        let claude = local(&json!({ "object": decision(verdict) }));
        ingest(&claude, 0);
        let provider = api("end_turn", decision(verdict).to_string());
        let http = configured(unscanned(TICKETS), &provider, "");
        ingest(&http, 0);
        for sandbox in [&claude, &http] {
            assert_eq!(
                link(sandbox),
                (status.to_owned(), reason.to_owned()),
                "{verdict}"
            );
            assert_eq!(has_join(sandbox), joined, "{verdict}");
        }
        let (left, right) = (files(&claude), files(&http));
        let differs = |name: &&String| left.get(*name) != right.get(*name);
        let differing: Vec<&String> = left.keys().chain(right.keys()).filter(differs).collect();
        assert_eq!(differing, [""; 0], "{verdict}");
        let asked = |request: &Request| request.json().to_string().contains(QUESTION);
        let questions = provider
            .requests()
            .iter()
            .filter(|request| asked(request))
            .count();
        ingest(&http, 0);
        let again = provider
            .requests()
            .iter()
            .filter(|request| asked(request))
            .count();
        assert_eq!((questions, again), (1, 1), "an answer is asked for once");
    }
}

const UNDECIDED: &str = "warning: the model could not decide some links, which stay under review: ";

/// KTX-05: the rest of the run is kept, and the link stays open.
#[test]
fn a_refusal_about_links_loses_nothing() {
    let error = json!({ "api_error": { "class": "invalid_request", "status": 400, "text": "no" } });
    let claude = local(&error);
    let refusing = api("refusal", "I would rather not.".to_owned());
    let http = configured(unscanned(TICKETS), &refusing, "");
    let babbling = api("end_turn", "no object at all".to_owned());
    let silly = configured(unscanned(TICKETS), &babbling, "");
    for sandbox in [&claude, &http, &silly] {
        let before = git(sandbox, &["rev-list", "--count", "HEAD"]);
        let printed = ingest(sandbox, 0);
        let told = printed
            .stderr
            .lines()
            .filter(|line| line.starts_with(UNDECIDED));
        assert_eq!(told.count(), 1, "{printed}");
        assert_eq!(link(sandbox).0, "review", "{printed}");
        assert!(!has_join(sandbox));
        assert_ne!(git(sandbox, &["rev-list", "--count", "HEAD"]), before);
        let answer = json_of(sandbox, "ingest --json");
        let summary = &answer["results"][0]["report"]["enrichment"];
        assert_eq!(
            summary["llmRelationshipValidation"],
            json!("failed"),
            "{summary}"
        );
        assert_eq!(
            summary["tableDescriptions"],
            json!("completed"),
            "{summary}"
        );
    }
}

/// KTX-05: after a pause, the same command continues with the link alone.
#[test]
fn a_crash_over_links_keeps_the_run() {
    let gone = json!({ "api_error": { "class": "model_not_found", "status": 404, "text": "no" } });
    for (failure, code, told) in [(json!({ "exit": 3 }), 0, UNDECIDED), (gone, 7, "paused: ")] {
        let mut sandbox = local(&failure);
        let printed = ingest(&sandbox, code);
        let lines = printed.stderr.lines().filter(|line| line.starts_with(told));
        assert_eq!(lines.count(), 1, "{printed}");
        assert_eq!(link(&sandbox).0, "review", "{printed}");
        assert!(!has_join(&sandbox));
        assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
        answered(&mut sandbox, &json!({ "object": decision("link") }));
        let before = processes(&sandbox);
        ingest(&sandbox, 0);
        assert_eq!(
            processes(&sandbox) - before,
            2,
            "the probe and the question"
        );
        assert!(has_join(&sandbox));
    }
}
