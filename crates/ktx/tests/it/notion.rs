//! `ktx ingest` of Notion: pages are sorted, read, and what is found on them is curated, on every backend alike.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::notion_fake::{NotionFake, TOKEN, Workspace, block, child_page};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{play, processes};
use crate::probes::configured;
use crate::support::{check, commit, compare_text, git, run, tree, unscanned, write};

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL);";

const HOME: &str = "0000000000000000000000000000000a";
const POLICY: &str = "0000000000000000000000000000000b";
const NOTES: &str = "0000000000000000000000000000000c";
const HANDBOOK: &str = "0000000000000000000000000000000d";
const OLD: &str = "2026-01-02T03:04:00.000Z";

/// What a model does with a prompt: an object, or the tools that it calls in their order.
#[derive(Clone)]
enum Does {
    Object(Value),
    Tools(Vec<(&'static str, Value)>),
}

/// Prompts by their begin.
type Script = Vec<(String, Does)>;

fn workspace() -> Workspace {
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

fn lane(lane: &str) -> Does {
    Does::Object(json!({ "lane": lane, "reason": format!("It is {lane}.") }))
}

fn candidate(key: &str, section: usize) -> Value {
    json!({
        "key": key, "topic": "refunds", "assertion": "A refund counts in the month of its order.",
        "rationale": "monthly sums", "sections": [section], "page": null, "action": "create",
        "durability": 3, "authority": 2, "reuse": 2, "novelty": 2, "risk": 1,
    })
}

fn page(key: &str, words: &str) -> (&'static str, Value) {
    let input = json!({ "key": key, "summary": words, "content": words });
    ("wiki_write", input)
}

fn decide(candidate: &str, decision: &str, page: Option<&str>) -> (&'static str, Value) {
    let input =
        json!({ "candidate": candidate, "decision": decision, "page": page, "reason": "Because." });
    ("candidate_decide", input)
}

/// One page of each lane; two candidates, of which one is kept.
fn script() -> Script {
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

/// A scanned project whose notes are in this workspace.
fn project(api: &NotionFake, more: &str) -> Sandbox {
    let mut sandbox = unscanned(ORDERS);
    write(&sandbox, "ktx.yaml", &config(api, more));
    commit(&sandbox, "config");
    sandbox.set("NOTION_TOKEN", TOKEN);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    sandbox
}

fn config(api: &NotionFake, more: &str) -> String {
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

fn locally(mut sandbox: Sandbox, script: &Script) -> Sandbox {
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

/// An API whose model does the same.
fn api(script: Script) -> Loopback {
    Loopback::start(move |request: &Request, number| {
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
            "usage": { "input_tokens": 100, "output_tokens": 20 },
        });
        Answer::json(200, &message)
    })
    .expect("a provider")
}

/// KTX-05: page triage, light extraction and candidate curation; each page is read as it is worth, and nothing
/// is asked twice, here and in a clone.
#[test]
fn pages_are_sorted_read_and_curated() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let sandbox = locally(project(&notion, ""), &script());
    check(
        &sandbox,
        "ingest team-notes",
        r"
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
",
    );
    compare_text(
        "the commits",
        &git(&sandbox, &["log", "-2", "--format=%s%n%b", "--name-only"]),
        r"
ktx ingest: team-notes candidates of documents
pages: refunds
ktx-unit: 04b5f0e325ea2b58762cfc17c35591f0906a3b9947569f3e6f4b5eb572dc920b


wiki/global/refunds.md
ktx ingest: team-notes notion-page-0000000000000000000000000000000b
pages: revenue-policy
ktx-unit: 169b06ebe44f98fe381b39e827abcc353cc92b5b954e9e8e50355103d28c2254


wiki/global/revenue-policy.md
",
    );
    let asked = processes(&sandbox);
    check(
        &sandbox,
        "ingest team-notes",
        r"
exit 0
Source	Unit	Status	Pages	Sources	Commit
team-notes	Revenue policy	unchanged	revenue-policy	-	[COMMIT]
team-notes	Weekly notes	skipped	-	-	-
team-notes	Support handbook	2 candidates	refunds	-	-
--- stderr
Project: [SANDBOX]/work
team-notes: reading Notion
",
    );
    assert_eq!(processes(&sandbox), asked);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    // In a clone only what came to nothing is sorted again.
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
    assert!(processes(&sandbox) > before);
    let files = tree(&sandbox).into_values().flatten().collect::<Vec<u8>>();
    let all = format!("{}{}", record(&sandbox), String::from_utf8_lossy(&files));
    for secret in [TOKEN, "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"] {
        assert!(!all.contains(secret));
    }
}

fn record(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap_or_default()
}

/// KTX-05, KTX-04: an API key does the same as the local session, byte for byte; sorting is asked of the model of
/// the role `triage`, curation of that of the role `curator`.
#[test]
fn every_backend_reads_documents_alike() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let provider = api(script());
    let remote = configured(project(&notion, ""), &provider, "");
    let llm = remote.read("ktx.yaml").expect("the file");
    let (_, llm) = llm.split_once("llm:").expect("the section");
    let llm = llm.replace(
        "    default: sonnet\n",
        "    default: sonnet\n    triage: haiku\n    curator: opus\n",
    );
    let whole = config(&notion, "");
    let connections = whole.split("llm:").next().expect("the connections");
    write(&remote, "ktx.yaml", &format!("{connections}llm:{llm}"));
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

/// As many pages are written in one run as may be; the rest is done by the next ones, and says so.
#[test]
fn a_run_writes_as_many_pages_as_it_may() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let bound = "    max_knowledge_creates_per_run: 1\n    max_knowledge_updates_per_run: 0\n";
    let sandbox = locally(project(&notion, bound), &script());
    check(
        &sandbox,
        "ingest team-notes",
        r"
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
team-notes: nothing was decided about 2 candidates yet
hint: run the same command again: what is done is kept and not asked again
7 model messages, 959 tokens in, 140 out, list price unknown
",
    );
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_ok());
}

/// A model that fails at a page leaves the others as they are; the page is asked about again, alone.
#[test]
fn a_failed_page_is_asked_again_alone() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let mut script = script();
    script.retain(|(prompt, _)| !prompt.contains(&format!("Triage of notion-page-{NOTES}")));
    let sandbox = locally(project(&notion, ""), &script);
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert!(printed.stdout.contains("Weekly notes\tfailed"), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_ok());
    let before = processes(&sandbox);
    let sandbox = locally(sandbox, &self::script());
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(
        printed
            .stderr
            .contains("[1/1] team-notes · triage · Weekly notes · skip"),
        "{printed}"
    );
    assert!(processes(&sandbox) > before);
}

/// What was written from a page goes with it only when the page is in the trash.
#[test]
fn a_page_in_the_trash_is_told_to_the_reconciliation() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let mut script = script();
    script.push((
        format!("files that are gone: pages/{HANDBOOK}.md"),
        Does::Tools(vec![("wiki_remove", json!({ "key": "refunds" }))]),
    ));
    let sandbox = locally(project(&notion, ""), &script);
    assert_eq!(run(&sandbox, "ingest team-notes").code, Some(0));
    notion.change(|all| {
        all.hidden.insert(HANDBOOK.to_owned());
    });
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_ok(), "{printed}");
    notion.change(|all| {
        all.hidden.clear();
        all.pages.get_mut(HANDBOOK).expect("the page")["in_trash"] = json!(true);
    });
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_err(), "{printed}");
}

/// What is wrong with the configuration, the token or the server costs nothing and names its place.
#[test]
fn bad_settings_cost_nothing() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let mut sandbox = locally(project(&notion, ""), &script());
    check(
        &sandbox,
        "connection test team-notes",
        r"
exit 0
Connection test passed: team-notes
Driver: notion
Status: ok
Server: Bot: ktx of the workspace Acme
Latency: [DURATION]
Role: unknown (Notion does not tell what the token may do; ktx only reads)
--- stderr
Project: [SANDBOX]/work
",
    );
    sandbox.set("NOTION_TOKEN", "ntn_another0123456789");
    check(
        &sandbox,
        "ingest team-notes",
        r"
exit 4
--- stderr
Project: [SANDBOX]/work
team-notes: reading Notion
error: `team-notes` cannot be read
  caused by: Notion at 127.0.0.1 answered 401 for `/v1/pages/0000000000000000000000000000000a`: API token is invalid.

hint: set `connections.team-notes.auth_token_ref` to the token of an integration that may read content
",
    );
    let whole = config(&notion, "");
    for (from, to, expected) in [
        (
            format!("[{HOME}]"),
            "[home]".to_owned(),
            "`connections.team-notes.root_page_ids`: `home` is no id of Notion",
        ),
        (
            notion.address(),
            "http://notion.test".to_owned(),
            "`http://notion.test` is no address of Notion",
        ),
        (
            "    auth_token_ref: env:NOTION_TOKEN\n".to_owned(),
            String::new(),
            "`connections.team-notes` has no `auth_token_ref`",
        ),
    ] {
        write(&sandbox, "ktx.yaml", &whole.replace(&from, &to));
        let printed = run(&sandbox, "ingest team-notes");
        assert_eq!(printed.code, Some(3), "{printed}");
        assert!(printed.stderr.contains(expected), "{printed}");
    }
    assert_eq!(processes(&sandbox), 0);
}

/// A run that is killed at any point goes on, and pays for nothing twice that it has remembered.
#[test]
fn a_killed_run_goes_on() {
    for point in [
        "memory:captured",
        "publish:before-import",
        "publish:after-files",
    ] {
        let notion = NotionFake::start(workspace()).expect("an API");
        let mut script = script();
        // Only the curation writes, and it is killed.
        script[1].1 = lane("skip");
        let mut sandbox = locally(project(&notion, ""), &script);
        sandbox.set("KTX_TEST_KILL_AT", point);
        assert_eq!(run(&sandbox, "ingest team-notes").code, None, "{point}");
        sandbox.unset("KTX_TEST_KILL_AT");
        let printed = run(&sandbox, "ingest team-notes");
        assert_eq!(printed.code, Some(0), "{point}: {printed}");
        assert!(!printed.stderr.contains("triage"), "{point}: {printed}");
        let page = sandbox.read("wiki/global/refunds.md").expect("the page");
        assert!(page.ends_with("A refund counts in the month of its order.\n"));
        git(&sandbox, &["fsck", "--strict"]);
        assert_eq!(git(&sandbox, &["status", "--porcelain"]), "", "{point}");
    }
}
