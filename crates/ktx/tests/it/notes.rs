//! `ktx ingest --text` and `--file` on every backend.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{CONFIG, play, processes};
use crate::probes::configured;
use crate::support::{
    check, commit, compare_text, git, json as json_of, run, tree, unscanned, write,
};

const ORDERS: &str = "
CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, status TEXT NOT NULL);
INSERT INTO orders VALUES (1, 10, 'paid'), (2, 20, 'refunded');
";

pub(crate) const NOTE: &str = "Refunds are not revenue.";

fn calls() -> Vec<(&'static str, Value)> {
    vec![
        (
            "sl_write_source",
            json!({ "source_name": "orders", "yaml":
                "name: orders\nmeasures:\n  - name: revenue\n    expr: sum(amount)\n    filter: status = 'paid'\n" }),
        ),
        (
            "wiki_write",
            json!({ "key": "revenue", "summary": "What counts as revenue.",
                "content": "Refunds are not revenue.", "sl_refs": ["orders.revenue"] }),
        ),
    ]
}

fn scanned(config: &str) -> Sandbox {
    let sandbox = unscanned(ORDERS);
    write(&sandbox, "ktx.yaml", config);
    commit(&sandbox, "config");
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    sandbox
}

pub(crate) fn local(with_the_note: &[Value]) -> Sandbox {
    let mut sandbox = scanned(CONFIG);
    play(
        &mut sandbox,
        json!({
            "steps": [{ "text": "ok" }],
            "when": [{ "prompt_contains": NOTE, "steps": with_the_note }],
        }),
    );
    sandbox
}

pub(crate) fn captures() -> Vec<Value> {
    let calls = calls().into_iter();
    let mut steps: Vec<Value> = calls
        .map(|(name, input)| json!({ "tools": [{ "name": name, "input": input }] }))
        .collect();
    steps.push(json!({ "text": "Wrote down what revenue is." }));
    steps
}

fn api() -> Loopback {
    Loopback::start(move |request: &Request, number| {
        let asked = request.json();
        let done = asked["messages"].as_array().map_or(0, Vec::len) / 2;
        let is_note = asked.to_string().contains(NOTE);
        let (stop, content) = match calls().get(done) {
            Some((name, input)) if is_note => (
                "tool_use",
                json!([{ "type": "tool_use", "id": format!("t{done}"), "name": name, "input": input }]),
            ),
            _ => ("end_turn", json!([{ "type": "text", "text": "ok" }])),
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

const COMMAND: &str = "ingest --connection-id warehouse --text 'Refunds are not revenue.'";

/// KTX-05, KTX-68: in one commit.
#[test]
fn a_note_becomes_a_page_and_a_measure() {
    let sandbox = local(&captures());
    check!(&sandbox, COMMAND, @r#"
exit 0
Note	Status	Pages	Sources	Commit
"Refunds are not revenue."	done	revenue	orders	[COMMIT]
--- stderr
Project: [SANDBOX]/work
[1/1] "Refunds are not revenue."
[1/1] "Refunds are not revenue." · turn 1 of 30
[1/1] "Refunds are not revenue." · turn 2 of 30
[1/1] "Refunds are not revenue." · turn 3 of 30
warning: the model `fake-sonnet` has no list price; what it costs is unknown
4 model messages, 548 tokens in, 80 out, list price unknown
"#);
    compare_text(
        "the page",
        &sandbox.read("wiki/global/revenue.md").unwrap(),
        "---\nsummary: What counts as revenue.\ntags: [finance, revenue]\nrefs: [test-customers]\nsl_refs: [orders.revenue]\n---\n\nRefunds are not revenue.\n",
    );
    compare_text(
        "the commit",
        &git(&sandbox, &["log", "-1", "--format=%an%n%B", "--name-only"]),
        "Ada Test
ktx ingest: \"Refunds are not revenue.\"

pages: revenue
sources: orders
noted by: local-cli
ktx-note: e81741c7cb385b84c105f02a73c8fbe79a9b9df3b48e8f9cc44e5542f1b880f8


semantic-layer/warehouse/orders.yaml
wiki/global/revenue.md
",
    );
    let answer = json_of(
        &sandbox,
        "sl query --connection-id warehouse --measure orders.revenue --execute --json",
    );
    assert!(answer.to_string().contains("10"), "{answer}");
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

/// KTX-05: byte for byte.
#[test]
fn every_backend_writes_the_same() {
    let provider = api();
    let remote = configured(scanned(CONFIG), &provider, "");
    let local = local(&captures());
    for sandbox in [&remote, &local] {
        let printed = run(sandbox, COMMAND);
        assert_eq!(printed.code, Some(0), "{printed}");
    }
    let files = |sandbox: &Sandbox| {
        let mut files = tree(sandbox);
        files.retain(|path, _| path.starts_with("wiki/") || path.ends_with("orders.yaml"));
        files
    };
    assert_eq!(files(&remote), files(&local));
    assert!(files(&remote).contains_key("wiki/global/revenue.md"));
}

/// While its commit is part of the branch.
#[test]
fn a_captured_note_is_not_asked_again() {
    let sandbox = local(&captures());
    let line = format!("{COMMAND} --json");
    let first = json_of(&sandbox, &line);
    let asked = processes(&sandbox);
    let second = json_of(&sandbox, &line);
    assert_eq!(processes(&sandbox), asked);
    let item = |answer: &Value| {
        let item = &answer["results"][0];
        (
            item["status"].clone(),
            item["captured"].clone(),
            item["commitHash"].clone(),
        )
    };
    assert_eq!(item(&first), item(&second));
    assert_eq!(
        first["results"][0]["captured"],
        json!({ "wiki": ["revenue"], "sl": ["orders"], "xrefs": ["revenue -> orders.revenue"] })
    );
    assert_eq!(
        second["results"][0]["warnings"],
        json!(["captured before; ktx did not ask the model again"])
    );
    // A clone knows the note by the mark in its commit.
    std::fs::remove_dir_all(sandbox.work().join(".ktx/state")).expect("local state");
    let cloned = json_of(&sandbox, &line);
    assert_eq!(processes(&sandbox), asked);
    assert_eq!(
        cloned["results"][0]["commitHash"],
        first["results"][0]["commitHash"]
    );
    assert_eq!(cloned["results"][0]["captured"]["sl"], json!(["orders"]));
    git(&sandbox, &["reset", "--hard", "--quiet", "HEAD~1"]);
    let third = json_of(&sandbox, &line);
    assert_eq!(third["results"][0]["warnings"], json!([]));
    assert!(sandbox.read("wiki/global/revenue.md").is_ok());
}

/// The same command continues.
#[test]
fn a_note_at_its_budget_is_partial() {
    let turns = (0..31).map(|number| {
        let input =
            json!({ "key": format!("page-{number}"), "summary": "A page.", "content": "Text." });
        json!({ "tools": [{ "name": "wiki_write", "input": input }] })
    });
    let sandbox = local(&turns.collect::<Vec<_>>());
    let printed = run(&sandbox, &format!("{COMMAND} --json"));
    assert_eq!(printed.code, Some(7), "{printed}");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let item = &answer["results"][0];
    assert_eq!(
        (&answer["status"], &item["status"]),
        (&json!("failed"), &json!("partial"))
    );
    assert_eq!(
        item["warnings"],
        json!(["the model was stopped after 30 turns; ktx keeps what it had written"])
    );
    assert!(sandbox.read("wiki/global/page-29.md").is_ok());
    let asked = processes(&sandbox);
    assert_eq!(run(&sandbox, COMMAND).code, Some(7));
    assert!(processes(&sandbox) > asked);
}

/// Later notes are not tried.
#[test]
fn a_failure_leaves_nothing_half_written() {
    let mut steps = captures();
    steps.insert(
        1,
        json!({ "api_error": { "class": "authentication_failed", "status": 401 } }),
    );
    let sandbox = local(&steps);
    write(&sandbox, "other.md", "Nothing to learn here.");
    write(&sandbox, "last.md", "Nothing either.");
    let before = git(&sandbox, &["rev-parse", "HEAD"]);
    let line = "ingest --connection-id warehouse --file other.md --file last.md --text 'Refunds are not revenue.' --json";
    let printed = run(&sandbox, line);
    assert_eq!(printed.code, Some(5), "{printed}");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let statuses: Vec<&Value> = answer["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|item| &item["status"])
        .collect();
    assert_eq!(statuses, ["error", "not-run", "not-run"]);
    assert_eq!(answer["status"], "failed");
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), before);
    assert_eq!(
        git(&sandbox, &["status", "--porcelain"]),
        "?? last.md\n?? other.md\n"
    );
}

#[test]
fn bad_notes_cost_nothing() {
    let sandbox = local(&captures());
    write(&sandbox, "empty.md", " \n");
    std::fs::write(sandbox.work().join("image.png"), [0x89, 0x50, 0xff, 0x00]).expect("a file");
    for (line, expected) in [
        (
            "ingest --fail-fast",
            "exit 2\n--- stderr\nProject: [SANDBOX]/work\nerror: `--fail-fast` belongs to `--text`, `--file` and `--transcript`\n\n\
             hint: name the warehouse to ingest without a flag: `ktx ingest <id>`\n",
        ),
        (
            "ingest --file nope.md",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nerror: `nope.md` cannot be read\n  caused by: No such file or directory (os error 2)\n",
        ),
        (
            "ingest --text 'Fine.' --file empty.md",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nerror: the note empty.md is empty\n",
        ),
        (
            "ingest --file image.png",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nerror: `image.png` is not text: byte 0 is not UTF-8\n\n\
             hint: give Markdown, plain text or SQL in UTF-8\n",
        ),
        (
            "ingest --text 'Revenue.' --connection-id nope",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nerror: there is no connection `nope`\n\n\
             hint: use one of `warehouse`\n",
        ),
    ] {
        check(&sandbox, line, expected);
    }
    assert_eq!(processes(&sandbox), 0);
}

/// Texts that teach nothing cost nothing.
#[test]
fn conversations_are_captured_and_worthless_texts_are_not() {
    let sandbox = local(&captures());
    let lines = [
        json!({ "type": "user", "message": { "role": "user", "content": NOTE } }),
        json!({ "type": "assistant", "message": { "role": "assistant", "content": [
            { "type": "text", "text": "I will remember that." },
            { "type": "tool_use", "name": "Bash", "input": { "command": "private" } },
        ] } }),
        json!({ "type": "user", "message": { "role": "user", "content": "Thanks!" } }),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    write(&sandbox, "chat.jsonl", &lines.join("\n"));
    write(
        &sandbox,
        "code.py",
        "import os\n\ndef run(path):\n    return os.stat(path);\n",
    );
    let worthless = "ingest --text 'Hi there!' --file code.py";
    check!(&sandbox, worthless, @r#"
    exit 0
    Note	Status	Pages	Sources	Commit
    "Hi there!"	skipped	-	-	nothing to keep
    code.py	skipped	-	-	nothing to keep
    --- stderr
    Project: [SANDBOX]/work
    warning: "Hi there!": it is a greeting or thanks; no model was asked, and nothing was written
    warning: code.py: it is code without a word of prose; say in a sentence what it means; no model was asked, and nothing was written
    "#);
    assert_eq!(processes(&sandbox), 0);
    check!(
        &sandbox,
        "ingest --connection-id warehouse --text 'Thank you' --transcript chat.jsonl",
        @r#"
    exit 0
    Note	Status	Pages	Sources	Commit
    "Thank you"	skipped	-	-	nothing to keep
    chat.jsonl	done	revenue	orders	[COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    [1/1] chat.jsonl
    [1/1] chat.jsonl · turn 1 of 30
    [1/1] chat.jsonl · turn 2 of 30
    [1/1] chat.jsonl · turn 3 of 30
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    warning: "Thank you": it is a greeting or thanks; no model was asked, and nothing was written
    4 model messages, 548 tokens in, 80 out, list price unknown
    "#
    );
    let shown = json_of(&sandbox, "runs show --json");
    let prompt = shown["data"]["transcript"]["calls"][0]["prompt"].to_string();
    assert!(
        prompt.contains("User: Refunds are not revenue."),
        "{prompt}"
    );
    assert!(
        !prompt.contains("private") && !prompt.contains("Thanks"),
        "{prompt}"
    );
    write(&sandbox, "empty.jsonl", "{\"type\":\"summary\"}\n");
    check!(&sandbox, "ingest --transcript empty.jsonl", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: `empty.jsonl` cannot be captured
      caused by: the transcript has no message of a user or an assistant

    hint: give the JSON lines of a Claude Code session, or plain text
    ");
    check!(&sandbox, "ingest --transcript - --file -", @r"
    exit 2
    --- stderr
    Project: [SANDBOX]/work
    error: standard input can be read only once: `-` is given twice
    ");
}

/// The same note is not asked again for the user of `--user`.
#[test]
fn a_note_for_one_user_becomes_a_page_of_that_user() {
    let page = json!({ "key": "revenue", "summary": "My revenue.",
        "content": "Refunds are not revenue; see [[test-customers]]." });
    let steps = [
        json!({ "tools": [{ "name": "wiki_write", "input": page }] }),
        json!({ "text": "Done." }),
    ];
    let sandbox = local(&steps);
    let global = sandbox.read("wiki/global/revenue.md").unwrap();
    let line = "ingest --user ada --text 'Refunds are not revenue.'";
    check!(&sandbox, line, @r#"
    exit 0
    Note	Status	Pages	Sources	Commit
    "Refunds are not revenue."	done	revenue	-	[COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    [1/1] "Refunds are not revenue."
    [1/1] "Refunds are not revenue." · turn 1 of 30
    [1/1] "Refunds are not revenue." · turn 2 of 30
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    3 model messages, 411 tokens in, 60 out, list price unknown
    "#);
    assert_eq!(sandbox.read("wiki/global/revenue.md").unwrap(), global);
    insta::assert_snapshot!(
        git(&sandbox, &["log", "-1", "--format=%B", "--name-only"]),
        @r#"
    ktx ingest: "Refunds are not revenue."

    pages: revenue
    noted by: local-cli
    ktx-note: 82a5a5781881f70f40e3c480f8894fb9fcfb50d2e357036aedef3247cc1a372e


    wiki/user/ada/revenue.md
    "#
    );
    let asked = processes(&sandbox);
    check!(&sandbox, line, @r#"
    exit 0
    Note	Status	Pages	Sources	Commit
    "Refunds are not revenue."	done	revenue	-	[COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    warning: "Refunds are not revenue.": captured before; ktx did not ask the model again
    "#);
    assert_eq!(processes(&sandbox), asked);
    let mine = json_of(&sandbox, "wiki read revenue --user-id ada --json");
    assert!(mine.to_string().contains("My revenue."), "{mine}");
    let others = json_of(&sandbox, "wiki read revenue --json");
    assert!(!others.to_string().contains("My revenue."), "{others}");
    check!(&sandbox, "ingest --user ../evil --text 'Revenue.'", @r"
    exit 2
    --- stderr
    Project: [SANDBOX]/work
    error: unsafe user id `../evil`: use letters, digits, `_`, `-`, `.` and `@`
    ");
    check!(&sandbox, "ingest --user ada --connection-id warehouse --text 'Revenue.'", @r"
    exit 2
    --- stderr
    error: the argument '--user <ID>' cannot be used with '--connection-id <ID>'

    Usage: ktx ingest --user <ID> --text <TEXT> [CONNECTION_ID]

    For more information, try '--help'.
    ");
    check!(&sandbox, "ingest --user ada", @r"
    exit 2
    --- stderr
    Project: [SANDBOX]/work
    error: `--user` belongs to `--text`, `--file` and `--transcript`

    hint: name the warehouse to ingest without a flag: `ktx ingest <id>`
    ");
}

/// A commit is not paid again.
#[test]
fn a_killed_capture_is_made_again() {
    for (point, asked_again) in [
        ("memory:captured", true),
        ("publish:before-import", true),
        ("publish:after-files", false),
    ] {
        let mut sandbox = local(&captures());
        sandbox.set("KTX_TEST_KILL_AT", point);
        assert_eq!(run(&sandbox, COMMAND).code, None, "{point}");
        sandbox.unset("KTX_TEST_KILL_AT");
        let asked = processes(&sandbox);
        let again = run(&sandbox, COMMAND);
        assert_eq!(again.code, Some(0), "{point}: {again}");
        assert_eq!(processes(&sandbox) > asked, asked_again, "{point}");
        assert!(sandbox.read("semantic-layer/warehouse/orders.yaml").is_ok());
        git(&sandbox, &["fsck", "--strict"]);
        assert_eq!(git(&sandbox, &["status", "--porcelain"]), "", "{point}");
        let commits = git(&sandbox, &["log", "--format=%s", "--grep", "ktx ingest:"]);
        assert_eq!(commits.lines().count(), 1, "{point}: {commits}");
    }
}

/// The model learns that.
#[test]
fn uncommitted_work_is_left_alone() {
    let sandbox = local(&captures());
    write(
        &sandbox,
        "wiki/global/revenue.md",
        "---\nsummary: Mine.\n---\n\nA draft.\n",
    );
    let printed = run(&sandbox, COMMAND);
    assert_eq!(printed.code, Some(0), "{printed}");
    assert_eq!(
        sandbox.read("wiki/global/revenue.md").unwrap(),
        "---\nsummary: Mine.\n---\n\nA draft.\n"
    );
    assert_eq!(
        git(&sandbox, &["show", "--format=", "--name-only", "HEAD"]),
        "semantic-layer/warehouse/orders.yaml\n"
    );
    assert!(
        record(&sandbox).contains("someone is writing `revenue`"),
        "{}",
        record(&sandbox)
    );
}

fn record(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap_or_default()
}
