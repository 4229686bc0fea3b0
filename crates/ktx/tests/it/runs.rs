//! `ktx runs`: what ran on this machine.

use std::fs::File;
use std::io::Write as _;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{play, processes};
use crate::notes::{NOTE, captures, local};
use crate::sources::{locally, long, page};
use crate::support::{json as json_of, run, shop, write};

const NOTE_COMMAND: &str = "ingest --connection-id warehouse --text 'Refunds are not revenue.'";

fn steady() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "[TIME]");
    settings.add_filter(r"\b\d+ s\b", "[SECONDS]");
    settings.bind_to_scope()
}

fn last(sandbox: &Sandbox) -> String {
    let state = sandbox.work().join(".ktx/state/ktx.sqlite");
    let state = rusqlite::Connection::open(state).expect("the journal");
    let query = "SELECT id FROM runs ORDER BY started DESC LIMIT 1";
    state.query_row(query, [], |row| row.get(0)).expect("a run")
}

#[test]
fn runs_are_listed_and_shown() {
    let sandbox = shop();
    let _bound = steady();
    check!(&sandbox, "runs", @"
    exit 0
    run	command	status	started	took	calls	cost
    [UUID]	ktx scan	done	[TIME]	[SECONDS]	0	-
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "runs show", @r"
    exit 0
    ktx scan [UUID]: done
    started [TIME], ended [TIME] after [SECONDS]
    plan: warehouses warehouse
    warehouse: done, commit [COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    no transcript: the run asked no model
    ");
    check!(&sandbox, "runs show unknown", @"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: no run begins with `unknown`

    hint: `ktx runs list` lists the runs on this machine
    ");
    check!(&sandbox, "runs cancel", @"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    no run works on the project now
    ");
}

#[test]
fn a_project_without_runs_says_so() {
    let sandbox = crate::support::project();
    assert_eq!(run(&sandbox, "runs list").code, Some(0));
    check!(&sandbox, "runs", @"
    exit 0
    run	command	status	started	took	calls	cost
    --- stderr
    Project: [SANDBOX]/work
    no run yet; `ktx scan` and `ktx ingest` are runs
    ");
}

#[test]
fn a_run_shows_its_calls_and_its_transcript() {
    let mut steps = captures();
    let secret = json!({ "key": "login", "summary": "How to log in.",
        "content": "The login: postgres://ada:hunter2-secret@db/shop" });
    steps.insert(
        0,
        json!({ "tools": [{ "name": "wiki_write", "input": secret }] }),
    );
    let sandbox = local(&steps);
    assert_eq!(run(&sandbox, NOTE_COMMAND).code, Some(0));
    let _bound = steady();
    check!(&sandbox, "runs show", @r#"
    exit 0
    ktx ingest --text [UUID]: done
    started [TIME], ended [TIME] after [SECONDS]
    plan: notes "Refunds are not revenue."
    memory: 4 model messages, unknown
    probe: 1 model messages, unknown
    note "Refunds are not revenue.": done, pages: revenue, sources: orders, commit [COMMIT]
    call 1: memory, warehouse, "Refunds are not revenue.", 4 turns, 3 tool calls
      refused wiki_write: line 5 looks like a password, key or token: leave it out
    --- stderr
    Project: [SANDBOX]/work
    `ktx runs show [UUID] --transcript` prints the prompts and answers of the models
    "#);
    let shown = json_of(&sandbox, "runs show --json");
    assert!(!shown.to_string().contains("hunter2"), "{shown}");
    let transcript = &shown["data"]["transcript"];
    assert_eq!(transcript["status"], "kept");
    let call = &transcript["calls"][0];
    assert!(call["prompt"].to_string().contains(NOTE), "{call}");
    let kinds: Vec<&Value> = call["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| &event["kind"])
        .collect();
    assert_eq!(kinds, ["tool", "tool", "tool", "answered", "ended"]);
    let whole = run(&sandbox, "runs show --transcript").stdout;
    let from = whole.find("[tool wiki_write]").expect("a call");
    insta::assert_snapshot!(whole[from..].to_owned(), @r#"
    [tool wiki_write]
    {"key":"login","summary":"How to log in.","content":"The login: postgres://ada:***@db/shop"}
    [refused]
    line 5 looks like a password, key or token: leave it out
    [tool sl_write_source]
    {"source_name":"orders","yaml":"name: orders\nmeasures:\n  - name: revenue\n    expr: sum(amount)\n    filter: status = 'paid'\n"}
    [result]
    wrote `semantic-layer/warehouse/orders.yaml`
    [tool wiki_write]
    {"key":"revenue","summary":"What counts as revenue.","content":"Refunds are not revenue.","sl_refs":["orders.revenue"]}
    [result]
    changed `revenue`. The page is now:

    ---
    summary: What counts as revenue.
    tags: [finance, revenue]
    refs: [test-customers]
    sl_refs: [orders.revenue]
    ---

    Refunds are not revenue.
    [answered]
    Wrote down what revenue is.
    "#);
    std::fs::remove_dir_all(sandbox.work().join(".ktx/state/runs")).expect("transcripts");
    let shown = json_of(&sandbox, "runs show --json");
    insta::assert_snapshot!(shown["data"]["transcript"].to_string(), @r#"{"status":"none","reason":"this machine has no conversation of the run: ktx keeps those of the last 100 runs, and an older ktx kept none"}"#);
}

#[test]
fn a_retry_captures_the_notes_that_failed() {
    let mut steps = captures();
    steps.insert(
        0,
        json!({ "api_error": { "class": "billing_error", "status": 402, "text": "no" } }),
    );
    let mut sandbox = local(&steps);
    let _bound = steady();
    let line =
        "ingest --connection-id warehouse --text 'Thanks!' --text 'Refunds are not revenue.'";
    assert_eq!(run(&sandbox, line).code, Some(7));
    let id = last(&sandbox);
    play(
        &mut sandbox,
        json!({
            "steps": [{ "text": "ok" }],
            "when": [{ "prompt_contains": NOTE, "steps": captures() }],
        }),
    );
    check!(&sandbox, &format!("runs retry {id}"), @r#"
    exit 0
    Note	Status	Pages	Sources	Commit
    "Refunds are not revenue."	done	revenue	orders	[COMMIT]
    --- stderr
    retries: note "Refunds are not revenue."
    Project: [SANDBOX]/work
    [1/1] "Refunds are not revenue."
    [1/1] "Refunds are not revenue." · turn 1 of 30
    [1/1] "Refunds are not revenue." · turn 2 of 30
    [1/1] "Refunds are not revenue." · turn 3 of 30
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    4 model messages, 548 tokens in, 80 out, list price unknown
    "#);
    check!(&sandbox, "runs show", @r#"
    exit 0
    ktx ingest --text [UUID]: done
    started [TIME], ended [TIME] after [SECONDS]
    retries run [UUID]
    plan: notes "Refunds are not revenue."
    memory: 3 model messages, unknown
    probe: 1 model messages, unknown
    note "Refunds are not revenue.": done, pages: revenue, sources: orders, commit [COMMIT]
    call 1: memory, warehouse, "Refunds are not revenue.", 3 turns, 2 tool calls
    --- stderr
    Project: [SANDBOX]/work
    `ktx runs show [UUID] --transcript` prints the prompts and answers of the models
    "#);
    let latest = last(&sandbox);
    assert_ne!(latest, id);
    let asked = processes(&sandbox);
    check!(&sandbox, &format!("runs retry {latest}"), @r"
    exit 0
    --- stderr
    leaves: 1 finished part
    nothing to retry: no part of run [UUID] failed or was stopped
    ");
    let nothing = json_of(&sandbox, &format!("runs retry {latest} --json"));
    assert_eq!(nothing["data"]["retries"], json!([]));
    assert_eq!(processes(&sandbox), asked);
}

/// Later changes wait for the next ingest.
#[test]
fn a_retry_reads_the_units_that_failed() {
    let script = vec![(
        "Unit dbt-models-people of",
        vec![page("people", "Who people are.")],
    )];
    let mut sandbox = locally(long(), &script);
    let refusal = json!([{ "end": { "stop_reason": "refusal", "is_error": true } }]);
    play(
        &mut sandbox,
        json!({
            "steps": [{ "text": "ok" }],
            "when": [{ "prompt_contains": "Unit dbt-models-orders of", "steps": refusal }],
        }),
    );
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(7));
    let id = last(&sandbox);
    let people = sandbox.read("dbt/models/people.yml").expect("a file");
    write(
        &sandbox,
        "dbt/models/people.yml",
        &people.replace("description: ", "description: Certainly "),
    );
    let sandbox = locally(
        sandbox,
        &vec![(
            "Unit dbt-models-orders of",
            vec![page("orders", "What orders are.")],
        )],
    );
    check!(&sandbox, &format!("runs retry {id}"), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop-dbt	facts of 2 tables	done	-	-	[COMMIT]
    shop-dbt	dbt-models-orders	done	orders	-	[COMMIT]
    --- stderr
    retries: unit dbt-models-orders of shop-dbt
    leaves: 1 finished part
    Project: [SANDBOX]/work
    left: 1 unit of shop-dbt with later changes; `ktx ingest shop-dbt` reads them
    [1/1] shop-dbt · dbt-models-orders
    [1/1] shop-dbt · dbt-models-orders · turn 1 of 40
    [1/1] shop-dbt · dbt-models-orders · turn 2 of 40
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    3 model messages, 411 tokens in, 60 out, list price unknown
    ");
    assert!(sandbox.read("wiki/global/orders.md").is_ok());
    check!(&sandbox, "ingest shop-dbt", @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop-dbt	facts of 2 tables	done	-	-	nothing changed
    shop-dbt	dbt-models-orders	unchanged	orders	-	[COMMIT]
    shop-dbt	dbt-models-people	done	-	-	nothing to keep
    --- stderr
    Project: [SANDBOX]/work
    [2/2] shop-dbt · dbt-models-people
    [2/2] shop-dbt · dbt-models-people · turn 1 of 40
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    2 model messages, 274 tokens in, 40 out, list price unknown
    ");
}

/// Also for unfinished and unknown runs.
#[test]
fn a_retry_of_another_kind_of_run_says_so() {
    let mut sandbox = crate::support::unscanned(crate::support::SHOP);
    sandbox.set("KTX_TEST_KILL_AT", "scan:computed");
    assert_eq!(run(&sandbox, "scan").code, None);
    sandbox.unset("KTX_TEST_KILL_AT");
    let _bound = steady();
    check!(&sandbox, "runs retry unknown", @r"
    exit 3
    --- stderr
    error: no run begins with `unknown`

    hint: `ktx runs list` lists the runs on this machine
    ");
    let id = last(&sandbox);
    let shown = json_of(&sandbox, "runs show --json");
    assert_eq!(shown["data"]["run"]["status"], "running");
    let mut lock = File::create(sandbox.work().join(".ktx/state/lock")).expect("the lock");
    lock.lock().expect("nobody holds it");
    writeln!(lock, r#"{{"pid":4711,"command":"ktx scan"}}"#).expect("a line");
    check!(&sandbox, &format!("runs retry {id}"), @r"
    exit 1
    --- stderr
    error: run [UUID] is not over

    hint: wait until it has ended, or end it with `ktx runs cancel`
    ");
    drop(lock);
    check!(&sandbox, &format!("runs retry {id}"), @r"
    exit 0
    warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
      3 tables keep the values of an earlier scan; `ktx scan --full` reads all tables
      joins: 2 accepted, 0 to review
      commit: [COMMIT]
    --- stderr
    retries: warehouse warehouse
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 3 tables, 11 columns
    warehouse · profile (3)
    warehouse · relationships
    warehouse · 2 joins, 0 to review
    warehouse · artifacts
    ");
}
