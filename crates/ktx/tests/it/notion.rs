//! `ktx ingest` of Notion on every backend.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::notion_fake::{NotionFake, TOKEN, Workspace, block, child_page};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{play, processes};
use crate::probes::configured;
use crate::support::{commit, compare_text, git, run, tree, unscanned, write};

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL);";

pub(crate) const HOME: &str = "0000000000000000000000000000000a";
pub(crate) const POLICY: &str = "0000000000000000000000000000000b";
pub(crate) const NOTES: &str = "0000000000000000000000000000000c";
pub(crate) const HANDBOOK: &str = "0000000000000000000000000000000d";
const OLD: &str = "2026-01-02T03:04:00.000Z";

#[derive(Clone)]
pub(crate) enum Does {
    Object(Value),
    Tools(Vec<(&'static str, Value)>),
}

pub(crate) type Script = Vec<(String, Does)>;

pub(crate) fn workspace() -> Workspace {
    let mut all = Workspace::default();
    let words = |words: &str| vec![block("paragraph", words)];
    all.page(
        HOME,
        "Finance",
        OLD,
        vec![
            child_page(POLICY, "Revenue policy"),
            child_page(NOTES, "Weekly notes"),
            child_page(HANDBOOK, "Support handbook"),
        ],
    );
    all.page(
        POLICY,
        "Revenue policy",
        OLD,
        words("Revenue is what was paid."),
    );
    all.page(NOTES, "Weekly notes", OLD, words("Monday: Ada is away."));
    all.page(
        HANDBOOK,
        "Support handbook",
        OLD,
        vec![
            block(
                "paragraph",
                "How to log in. sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
            ),
            block("heading_2", "Refunds"),
            block("paragraph", "A refund counts in the month of its order."),
        ],
    );
    all
}

pub(crate) fn lane(lane: &str) -> Does {
    Does::Object(json!({ "lane": lane, "reason": format!("It is {lane}.") }))
}

fn candidate(key: &str, section: usize) -> Value {
    json!({
        "key": key, "topic": "refunds", "assertion": "A refund counts in the month of its order.",
        "rationale": "monthly sums", "sections": [section], "page": null, "action": "create",
        "durability": 3, "authority": 2, "reuse": 2, "novelty": 2, "risk": 1,
    })
}

pub(crate) fn page(key: &str, words: &str) -> (&'static str, Value) {
    let input = json!({ "key": key, "summary": words, "content": words });
    ("wiki_write", input)
}

pub(crate) fn decide(candidate: &str, decision: &str, page: Option<&str>) -> (&'static str, Value) {
    let input =
        json!({ "candidate": candidate, "decision": decision, "page": page, "reason": "Because." });
    ("candidate_decide", input)
}

/// A page per lane; one of two candidates is promoted.
pub(crate) fn script() -> Script {
    let of = |what: &str, id: &str| format!("{what} of notion-page-{id} of the source team-notes");
    let first = format!("notion-page-{HANDBOOK}#1");
    let second = format!("notion-page-{HANDBOOK}#2");
    let found = [candidate("refund-month", 2), candidate("login", 1)];
    vec![
        (of("Triage", HOME), lane("skip")),
        (of("Triage", POLICY), lane("full")),
        (of("Triage", NOTES), lane("skip")),
        (of("Triage", HANDBOOK), lane("light")),
        (
            of("Light reading", HANDBOOK),
            Does::Object(json!({ "candidates": found })),
        ),
        (
            format!("Unit notion-page-{POLICY} of"),
            Does::Tools(vec![page("revenue-policy", "Revenue is what was paid.")]),
        ),
        (
            "Candidates of the source team-notes".to_owned(),
            Does::Tools(vec![
                (
                    "read_raw_file",
                    json!({ "path": format!("pages/{HANDBOOK}.md") }),
                ),
                decide(&first, "promoted", Some("refunds")),
                page("refunds", "A refund counts in the month of its order."),
                decide(&first, "promoted", Some("refunds")),
                decide(&second, "rejected", None),
            ]),
        ),
    ]
}

pub(crate) fn project(api: &NotionFake, more: &str) -> Sandbox {
    let mut sandbox = unscanned(ORDERS);
    write(&sandbox, "ktx.yaml", &config(api, more));
    commit(&sandbox, "config");
    sandbox.set("NOTION_TOKEN", TOKEN);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    sandbox
}

pub(crate) fn config(api: &NotionFake, more: &str) -> String {
    format!(
        "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
  team-notes:
    driver: notion
    auth_token_ref: env:NOTION_TOKEN
    root_page_ids: [{HOME}]
    endpoint: {}
{more}llm:
  provider:
    backend: claude-code
",
        api.address()
    )
}

pub(crate) fn locally(mut sandbox: Sandbox, script: &Script) -> Sandbox {
    let steps = |does: &Does| match does {
        Does::Object(object) => json!([{ "object": object }]),
        Does::Tools(calls) => {
            let calls = calls.iter();
            let mut steps: Vec<Value> = calls
                .map(|(name, input)| json!({ "tools": [{ "name": name, "input": input }] }))
                .collect();
            steps.push(json!({ "text": "Done." }));
            json!(steps)
        }
    };
    let when: Vec<Value> = script
        .iter()
        .map(|(prompt, does)| json!({ "prompt_contains": prompt, "steps": steps(does) }))
        .collect();
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": when }),
    );
    sandbox
}

fn api(script: Script) -> Loopback {
    Loopback::start(move |request: &Request, number| answered(&script, request, number, 100))
        .expect("a provider")
}

pub(crate) fn answered(script: &Script, request: &Request, number: usize, input: usize) -> Answer {
    let asked = request.json();
    let done = asked["messages"].as_array().map_or(0, Vec::len) / 2;
    let prompt = asked["messages"][0].to_string();
    let found = script.iter().find(|(words, _)| prompt.contains(words));
    let text = |text: String| ("end_turn", json!([{ "type": "text", "text": text }]));
    let (stop, content) = match found.map(|(_, does)| does) {
        Some(Does::Object(object)) => match asked["tools"][0]["name"].as_str() {
            Some(tool) => (
                "tool_use",
                json!([{ "type": "tool_use", "id": "t", "name": tool, "input": object }]),
            ),
            None => text(object.to_string()),
        },
        Some(Does::Tools(calls)) => match calls.get(done) {
            Some((name, input)) => (
                "tool_use",
                json!([{ "type": "tool_use", "id": format!("t{done}"), "name": name, "input": input }]),
            ),
            None => text("Done.".to_owned()),
        },
        None => text("ok".to_owned()),
    };
    let message = json!({
        "id": format!("m{number}"), "type": "message", "role": "assistant",
        "model": asked["model"], "stop_reason": stop, "content": content,
        "usage": { "input_tokens": input, "output_tokens": 20 },
    });
    Answer::json(200, &message)
}

pub(crate) fn remotely(notion: &NotionFake, provider: &Loopback) -> Sandbox {
    let remote = configured(project(notion, ""), provider, "");
    let llm = remote.read("ktx.yaml").expect("the file");
    let (_, llm) = llm.split_once("llm:").expect("the section");
    let whole = config(notion, "");
    let connections = whole.split("llm:").next().expect("the connections");
    write(&remote, "ktx.yaml", &format!("{connections}llm:{llm}"));
    commit(&remote, "the API");
    remote
}

/// KTX-05: each page is read as its lane says; nothing is asked twice, also in a clone.
#[test]
fn pages_are_sorted_read_and_curated() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let sandbox = locally(project(&notion, ""), &script());
    check!(&sandbox, "ingest team-notes", @r"
exit 0
Source	Unit	Status	Pages	Sources	Commit
team-notes	Revenue policy	done	revenue-policy	-	[COMMIT]
team-notes	Weekly notes	skipped	-	-	-
team-notes	Support handbook	2 candidates	-	-	-
team-notes	curation, pass 1	done	refunds	-	[COMMIT]
team-notes	reconciliation	done	-	-	nothing to keep
--- stderr
Project: [SANDBOX]/work
team-notes: reading Notion
[1/3] team-notes · triage · Revenue policy · full
[2/3] team-notes · triage · Weekly notes · skip
[3/3] team-notes · triage · Support handbook · light
[1/3] team-notes · Revenue policy
[1/3] team-notes · Revenue policy · turn 1 of 40
[1/3] team-notes · Revenue policy · turn 2 of 40
team-notes · curation, pass 1
team-notes · curation, pass 1 · turn 1 of 60
team-notes · curation, pass 1 · turn 2 of 60
team-notes · curation, pass 1 · turn 3 of 60
team-notes · curation, pass 1 · turn 4 of 60
team-notes · curation, pass 1 · turn 5 of 60
team-notes · curation, pass 1 · turn 6 of 60
team-notes · reconciliation
team-notes · reconciliation · turn 1 of 60
warning: the model `fake-sonnet` has no list price; what it costs is unknown
14 model messages, 1918 tokens in, 280 out, list price unknown
");
    compare_text(
        "the commits",
        &git(&sandbox, &["log", "-3", "--format=%s%n%b", "--name-only"]),
        r"
ktx ingest: ledger of team-notes


raw-sources/team-notes/ledger/notion-page-0000000000000000000000000000000c.json
raw-sources/team-notes/ledger/notion-page-0000000000000000000000000000000d.json
ktx ingest: team-notes candidates of documents
pages: refunds
ktx-unit: 04b5f0e325ea2b58762cfc17c35591f0906a3b9947569f3e6f4b5eb572dc920b
ktx-wrote: team-notes 73a0b09fed54fc3f wiki/global/refunds.md


wiki/global/refunds.md
ktx ingest: team-notes notion-page-0000000000000000000000000000000b
pages: revenue-policy
ktx-wrote: team-notes 0cc65c205d066bcf wiki/global/revenue-policy.md
ktx-unit: 169b06ebe44f98fe381b39e827abcc353cc92b5b954e9e8e50355103d28c2254


raw-sources/team-notes/ledger/notion-page-0000000000000000000000000000000b.json
wiki/global/revenue-policy.md
",
    );
    let asked = processes(&sandbox);
    check!(&sandbox, "ingest team-notes", @r"
exit 0
Source	Unit	Status	Pages	Sources	Commit
team-notes	Revenue policy	unchanged	revenue-policy	-	[COMMIT]
team-notes	Weekly notes	skipped	-	-	-
team-notes	Support handbook	2 candidates	refunds	-	-
--- stderr
Project: [SANDBOX]/work
team-notes: reading Notion
");
    assert_eq!(processes(&sandbox), asked);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    // A clone also knows documents without results.
    std::fs::remove_dir_all(sandbox.work().join(".ktx/state")).expect("local state");
    let before = processes(&sandbox);
    let printed = run(&sandbox, "ingest team-notes --json");
    assert_eq!(printed.code, Some(0), "{printed}");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let units = answer["results"][0]["units"].as_array().expect("units");
    let status: Vec<(&str, &str)> = units
        .iter()
        .map(|unit| {
            let text = |field: &str| unit[field].as_str().unwrap_or_default();
            (text("label"), text("status"))
        })
        .collect();
    assert_eq!(
        status,
        [
            ("Revenue policy", "unchanged"),
            ("Weekly notes", "skipped"),
            ("Support handbook", "unchanged"),
        ]
    );
    assert_eq!(processes(&sandbox), before);
    let files = tree(&sandbox).into_values().flatten().collect::<Vec<u8>>();
    let all = format!("{}{}", record(&sandbox), String::from_utf8_lossy(&files));
    for secret in [TOKEN, "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"] {
        assert!(!all.contains(secret));
    }
}

fn record(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap_or_default()
}

/// KTX-05, KTX-04: byte for byte; roles `triage` and `curator` use their models.
#[test]
fn every_backend_reads_documents_alike() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let provider = api(script());
    let remote = remotely(&notion, &provider);
    let llm = remote.read("ktx.yaml").expect("the file");
    let llm = llm.replace(
        "    default: sonnet\n",
        "    default: sonnet\n    triage: haiku\n    curator: opus\n",
    );
    write(&remote, "ktx.yaml", &llm);
    commit(&remote, "roles");
    let local = locally(project(&notion, ""), &script());
    let mut answers = Vec::new();
    for sandbox in [&remote, &local] {
        let printed = run(sandbox, "ingest team-notes --json");
        assert_eq!(printed.code, Some(0), "{printed}");
        let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
        let done = &answer["results"][0];
        answers.push(json!([
            done["events"],
            done["curation"]["decisions"],
            done["curation"]["open"]
        ]));
    }
    let first = format!("notion-page-{HANDBOOK}#1");
    let second = format!("notion-page-{HANDBOOK}#2");
    assert_eq!(answers[0], answers[1]);
    assert_eq!(
        answers[0][1],
        json!({
            first: { "fate": "promoted", "page": "refunds", "reason": "Because." },
            second: { "fate": "rejected", "page": null, "reason": "Because." },
        })
    );
    let files = |sandbox: &Sandbox| {
        let mut files = tree(sandbox);
        files.retain(|path, _| path.starts_with("wiki/") || path.starts_with("semantic-layer/"));
        files
    };
    assert_eq!(files(&remote), files(&local));
    assert!(files(&remote).contains_key("wiki/global/refunds.md"));
    let model = |begin: &str| -> Vec<String> {
        let requests = provider.requests();
        let asked = requests.iter().map(Request::json);
        let mut models: Vec<String> = asked
            .filter(|asked| asked["messages"][0].to_string().contains(begin))
            .filter_map(|asked| Some(asked["model"].as_str()?.to_owned()))
            .collect();
        models.dedup();
        models
    };
    let family = |begin: &str, name: &str| {
        let models = model(begin);
        assert!(
            models.len() == 1 && models[0].contains(name),
            "{begin}: {models:?}"
        );
    };
    family("Triage of", "haiku");
    family("Light reading of", "haiku");
    family("Candidates of", "opus");
    family("Unit notion-page", "sonnet");
}

#[test]
fn a_run_writes_as_many_pages_as_it_may() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let bound = "    max_knowledge_creates_per_run: 1\n    max_knowledge_updates_per_run: 0\n";
    let sandbox = locally(project(&notion, bound), &script());
    check!(&sandbox, "ingest team-notes", @r"
exit 7
Source	Unit	Status	Pages	Sources	Commit
team-notes	Revenue policy	done	revenue-policy	-	[COMMIT]
team-notes	Weekly notes	skipped	-	-	-
team-notes	Support handbook	2 candidates	-	-	-
--- stderr
Project: [SANDBOX]/work
team-notes: reading Notion
[1/3] team-notes · triage · Revenue policy · full
[2/3] team-notes · triage · Weekly notes · skip
[3/3] team-notes · triage · Support handbook · light
[1/3] team-notes · Revenue policy
[1/3] team-notes · Revenue policy · turn 1 of 40
[1/3] team-notes · Revenue policy · turn 2 of 40
warning: the model `fake-sonnet` has no list price; what it costs is unknown
team-notes: 2 candidates are not decided yet
hint: run the same command again; ktx keeps finished work and does not ask for it again
7 model messages, 959 tokens in, 140 out, list price unknown
");
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_ok());
}
