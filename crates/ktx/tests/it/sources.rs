//! `ktx ingest` of dbt projects on every backend.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{play, processes};
use crate::probes::configured;
use crate::support::{
    check, commit, compare_text, git, json as json_of, run, tree, unscanned, write,
};

const ORDERS: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, status TEXT NOT NULL);
INSERT INTO orders VALUES (1, 10, 'paid'), (2, 20, 'refunded');
";

pub(crate) const CONFIG: &str = "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
  shop-dbt:
    driver: dbt
    source_dir: dbt
llm:
  provider:
    backend: claude-code
";

pub(crate) const SCHEMA: &str = "models:
  - name: orders
    description: One row per order. Refunds are not revenue.
    columns:
      - name: status
        description: The state.
        tests: [accepted_values: {values: [paid, refunded]}]
";

const PEOPLE: &str = "models:\n  - {name: customers, description: Who buys.}\n";

pub(crate) type Calls = Vec<(&'static str, Value)>;

pub(crate) type Script = Vec<(&'static str, Calls)>;

pub(crate) fn page(key: &str, words: &str) -> (&'static str, Value) {
    let input = json!({ "key": key, "summary": words, "content": words });
    ("wiki_write", input)
}

/// For a project that is read as a whole.
pub(crate) fn whole() -> Script {
    let yaml = "name: orders\nmeasures:\n  - name: revenue\n    expr: sum(amount)\n    filter: status = 'paid'\n";
    let measure = json!({ "source_name": "orders", "yaml": yaml });
    vec![(
        "Unit dbt-all of the source shop-dbt",
        vec![
            ("read_raw_file", json!({ "path": "dbt_project.yml" })),
            ("sl_write_source", measure),
            page("revenue", "Refunds are not revenue."),
        ],
    )]
}

/// For two units and their results.
fn parts() -> Script {
    vec![
        (
            "Unit dbt-models-orders of",
            vec![page("revenue", "Refunds are not revenue.")],
        ),
        (
            "Unit dbt-models-people of",
            vec![page("buyers", "Who buys.")],
        ),
        (
            "The source shop-dbt was read.",
            vec![
                ("wiki_read", json!({ "key": "buyers" })),
                ("wiki_remove", json!({ "key": "buyers" })),
            ],
        ),
    ]
}

pub(crate) fn project(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = unscanned(ORDERS);
    // Units own what they write.
    std::fs::remove_file(sandbox.work().join("wiki/global/revenue.md")).expect("the page");
    write(&sandbox, "ktx.yaml", CONFIG);
    write(&sandbox, "dbt/dbt_project.yml", "name: shop\n");
    for (path, text) in files {
        write(&sandbox, &format!("dbt/{path}"), text);
    }
    commit(&sandbox, "config");
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    sandbox
}

/// Too long for one unit.
pub(crate) fn long() -> Sandbox {
    let filler = format!("-- {}\nselect 1\n", "x".repeat(61_000));
    project(&[
        ("models/orders.yml", SCHEMA),
        ("models/people.yml", PEOPLE),
        ("models/orders.sql", &filler),
    ])
}

pub(crate) fn locally(mut sandbox: Sandbox, script: &Script) -> Sandbox {
    let when: Vec<Value> = script
        .iter()
        .map(|(prompt, calls)| {
            let calls = calls.iter();
            let mut steps: Vec<Value> = calls
                .map(|(name, input)| json!({ "tools": [{ "name": name, "input": input }] }))
                .collect();
            steps.push(json!({ "text": "Done." }));
            json!({ "prompt_contains": prompt, "steps": steps })
        })
        .collect();
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": when }),
    );
    sandbox
}

pub(crate) fn api(script: Script) -> Loopback {
    Loopback::start(move |request, number| answered(&script, request, number, 100))
        .expect("a provider")
}

pub(crate) fn answered(script: &Script, request: &Request, number: usize, input: usize) -> Answer {
    let asked = request.json();
    let done = asked["messages"].as_array().map_or(0, Vec::len) / 2;
    let prompt = asked["messages"][0].to_string();
    let calls = script.iter().find(|(words, _)| prompt.contains(words));
    let (stop, content) = match calls.and_then(|(_, calls)| calls.get(done)) {
        Some((name, input)) => (
            "tool_use",
            json!([{ "type": "tool_use", "id": format!("t{done}"), "name": name, "input": input }]),
        ),
        None => ("end_turn", json!([{ "type": "text", "text": "ok" }])),
    };
    let message = json!({
        "id": format!("m{number}"), "type": "message", "role": "assistant",
        "model": asked["model"], "stop_reason": stop, "content": content,
        "usage": { "input_tokens": input, "output_tokens": 20 },
    });
    Answer::json(200, &message)
}

pub(crate) fn remotely(sandbox: Sandbox, provider: &Loopback, more: &str) -> Sandbox {
    let sandbox = configured(sandbox, provider, "");
    let llm = sandbox.read("ktx.yaml").expect("the file");
    let (_, llm) = llm.split_once("llm:").expect("the section");
    let llm = llm.replace("ingest:\n", &format!("ingest:\n{more}"));
    let config = CONFIG.split("llm:").next().expect("the connections");
    write(&sandbox, "ktx.yaml", &format!("{config}llm:{llm}"));
    commit(&sandbox, "both connections");
    sandbox
}

fn record(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap_or_default()
}

/// KTX-05: separate commits; a second run costs nothing, also in a clone.
#[test]
fn a_dbt_project_becomes_facts_pages_and_measures() {
    let sandbox = locally(project(&[("models/schema.yml", SCHEMA)]), &whole());
    check!(&sandbox, "ingest shop-dbt", @r"
exit 0
Source	Unit	Status	Pages	Sources	Commit
shop-dbt	facts of 1 table	done	-	-	[COMMIT]
shop-dbt	dbt-all	done	revenue	orders	[COMMIT]
--- stderr
Project: [SANDBOX]/work
[1/1] shop-dbt · dbt-all
[1/1] shop-dbt · dbt-all · turn 1 of 40
[1/1] shop-dbt · dbt-all · turn 2 of 40
[1/1] shop-dbt · dbt-all · turn 3 of 40
[1/1] shop-dbt · dbt-all · turn 4 of 40
warning: the model `fake-sonnet` has no list price; what it costs is unknown
5 model messages, 685 tokens in, 100 out, list price unknown
");
    compare_text(
        "the commits",
        &git(
            &sandbox,
            &["log", "-2", "--format=%an: %s%n%b", "--name-only"],
        ),
        "Ada Test: ktx ingest: shop-dbt dbt-all
pages: revenue
sources: orders
ktx-wrote: shop-dbt eae4dad69da7e56a semantic-layer/warehouse/orders.yaml
ktx-wrote: shop-dbt 5bf9f359d1c89b97 wiki/global/revenue.md
ktx-unit: 101778027ae5109c8a8942919a607d4c37d3cd09c9fcbd37e57bf0ee52b15ea6


raw-sources/shop-dbt/ledger/dbt-all.json
semantic-layer/warehouse/orders.yaml
wiki/global/revenue.md
Ada Test: ktx ingest: what shop-dbt says about tables


semantic-layer/warehouse/_schema/public.yaml
",
    );
    let answer = json_of(
        &sandbox,
        "sl query --connection-id warehouse --measure orders.revenue --execute --json",
    );
    assert!(answer.to_string().contains("10"), "{answer}");
    let asked = processes(&sandbox);
    check!(&sandbox, "ingest shop-dbt", @r"
exit 0
Source	Unit	Status	Pages	Sources	Commit
shop-dbt	facts of 1 table	done	-	-	nothing changed
shop-dbt	dbt-all	unchanged	revenue	orders	[COMMIT]
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "ingest shop-dbt --output pretty", @r"
exit 0
Source    Unit              Status     Pages    Sources  Commit
shop-dbt  facts of 1 table  done       -        -        nothing changed
shop-dbt  dbt-all           unchanged  revenue  orders   [COMMIT]
--- stderr
Project: [SANDBOX]/work
");
    std::fs::remove_dir_all(sandbox.work().join(".ktx/state")).expect("local state");
    let printed = run(&sandbox, "ingest shop-dbt");
    assert!(
        printed
            .stdout
            .contains("dbt-all\tunchanged\trevenue\torders\t"),
        "{printed}"
    );
    assert_eq!(processes(&sandbox), asked);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let shard = sandbox.read("semantic-layer/warehouse/_schema/public.yaml");
    assert!(shard.unwrap().contains("dbt: One row per order."));
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

/// KTX-05, KTX-70: byte for byte, with the same turns.
#[test]
fn every_backend_ingests_the_same() {
    let provider = api(parts());
    let remote = remotely(long(), &provider, "");
    let local = locally(long(), &parts());
    let mut answers = Vec::new();
    for sandbox in [&remote, &local] {
        let printed = run(sandbox, "ingest shop-dbt --json");
        assert_eq!(printed.code, Some(0), "{printed}");
        let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
        answers.push(answer["results"][0].clone());
    }
    let step = |key: &str, index: u32| json!({ "type": "work_unit_step", "unitKey": key, "stepIndex": index, "stepBudget": 40 });
    let reconciled =
        |index: u32| json!({ "type": "reconciliation_step", "stepIndex": index, "stepBudget": 60 });
    let (orders, people) = ("dbt-models-orders", "dbt-models-people");
    let expected = json!([
        step(orders, 1),
        step(orders, 2),
        step(people, 1),
        step(people, 2),
        reconciled(1),
        reconciled(2),
        reconciled(3),
    ]);
    for answer in &answers {
        assert_eq!(answer["events"], expected);
        let captured = json!({ "wiki": ["buyers"], "sl": [], "xrefs": [] });
        assert_eq!(answer["reconciliation"]["captured"], captured);
        assert_eq!(answer["reconciliation"]["status"], "done");
        assert_eq!(answer["facts"]["tables"], 2);
    }
    let files = |sandbox: &Sandbox| {
        let mut files = tree(sandbox);
        files.retain(|path, _| path.starts_with("wiki/") || path.starts_with("semantic-layer/"));
        files
    };
    assert_eq!(files(&remote), files(&local));
    assert!(files(&remote).contains_key("wiki/global/revenue.md"));
    assert!(!files(&remote).contains_key("wiki/global/buyers.md"));
}

/// KTX-70: N turns give N events, and writes stay.
#[test]
fn a_unit_at_its_budget_is_partial_and_gone_on_with() {
    let calls = vec![
        page("one", "One."),
        page("two", "Two."),
        page("three", "Three."),
        page("four", "Four."),
    ];
    let script: Script = vec![("Unit dbt-all of", calls)];
    let budget = "  workUnits:\n    stepBudget: 3\n";
    let files = [("models/schema.yml", SCHEMA)];
    let provider = api(script.clone());
    let remote = remotely(project(&files), &provider, budget);
    let local = locally(project(&files), &script);
    write(&local, "ktx.yaml", &format!("{CONFIG}ingest:\n{budget}"));
    commit(&local, "a budget");
    for sandbox in [&remote, &local] {
        let printed = run(sandbox, "ingest shop-dbt --json");
        assert_eq!(printed.code, Some(7), "{printed}");
        let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
        let done = &answer["results"][0];
        let steps: Vec<Value> = (1..=3)
            .map(|index| json!({ "type": "work_unit_step", "unitKey": "dbt-all", "stepIndex": index, "stepBudget": 3 }))
            .collect();
        assert_eq!(done["events"], json!(steps));
        let unit = &done["units"][0];
        assert_eq!(
            (&unit["status"], &unit["steps"]),
            (&json!("partial"), &json!(3))
        );
        assert!(sandbox.read("wiki/global/one.md").is_ok());
        let again = run(sandbox, "ingest shop-dbt");
        assert!(again.stderr.contains("dbt-all · turn 1 of 3"), "{again}");
    }
}

/// Other units stay; reconciliation follows. A unit without its file is reconciled.
#[test]
fn a_failed_unit_is_asked_again_alone() {
    let mut script = parts();
    script.remove(1);
    let mut sandbox = locally(long(), &script);
    let scenario = std::fs::read_to_string(sandbox.home().join("scenario.json")).expect("it");
    let mut scenario: Value = serde_json::from_str(&scenario).expect("JSON");
    let broken =
        json!({ "prompt_contains": "Unit dbt-models-people of", "steps": [{ "exit": 1 }] });
    scenario["when"]
        .as_array_mut()
        .expect("a list")
        .push(broken);
    play(&mut sandbox, scenario);
    let printed = run(&sandbox, "ingest shop-dbt --json");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let statuses = |answer: &Value| -> Vec<String> {
        let units = answer["results"][0]["units"].as_array().expect("units");
        let status = |unit: &Value| unit["status"].as_str().expect("a status").to_owned();
        units.iter().map(status).collect()
    };
    assert_eq!(statuses(&answer), ["done", "failed"], "{printed}");
    assert_eq!(answer["results"][0]["reconciliation"], Value::Null);

    let mut sandbox = locally(sandbox, &parts());
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    assert_eq!(statuses(&answer), ["unchanged", "done"]);
    assert_eq!(answer["results"][0]["reconciliation"]["status"], "done");
    assert!(sandbox.read("wiki/global/buyers.md").is_err());

    // What only the removed file's unit wrote goes with it.
    std::fs::remove_file(sandbox.work().join("dbt/models/orders.yml")).expect("the file");
    sandbox = locally(sandbox, &Script::new());
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    assert_eq!(
        answer["results"][0]["eviction"]["captured"]["wiki"],
        json!(["revenue"])
    );
    assert_eq!(answer["results"][0]["reconciliation"], Value::Null);
    assert!(sandbox.read("wiki/global/revenue.md").is_err());
    let asked = processes(&sandbox);
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    assert_eq!(answer["results"][0]["reconciliation"], Value::Null);
    assert_eq!(processes(&sandbox), asked);
}

/// A grown project has other units, but nothing is gone. A file removed later is reported with its
/// results.
#[test]
fn other_units_are_no_files_that_are_gone() {
    let write_page: Script = vec![("Unit dbt-all of", vec![page("revenue", "Refunds.")])];
    let files = [("models/orders.yml", SCHEMA), ("models/people.yml", PEOPLE)];
    let sandbox = locally(project(&files), &write_page);
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    let filler = format!("-- {}\nselect 1\n", "x".repeat(61_000));
    write(&sandbox, "dbt/models/orders.sql", &filler);
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    let units = answer["results"][0]["units"].as_array().expect("units");
    assert_eq!(units.len(), 2);
    assert_eq!(answer["results"][0]["reconciliation"], Value::Null);
    std::fs::remove_file(sandbox.work().join("dbt/models/orders.yml")).expect("the file");
    let told = "- dbt-all: pages revenue; sources none; files that are gone: models/orders.yml";
    let removes: Script = vec![(told, vec![("wiki_remove", json!({ "key": "revenue" }))])];
    let sandbox = locally(sandbox, &removes);
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    let captured = &answer["results"][0]["reconciliation"]["captured"];
    assert_eq!(captured["wiki"], json!(["revenue"]));
    assert!(sandbox.read("wiki/global/revenue.md").is_err());
}

/// `kill -9` at each step: nothing committed is paid twice, and both units are reconciled.
#[test]
fn a_killed_ingest_goes_on() {
    for point in [
        "memory:captured",
        "publish:before-import",
        "publish:after-files",
    ] {
        let mut sandbox = locally(long(), &parts());
        sandbox.set("KTX_TEST_KILL_AT", point);
        assert_eq!(run(&sandbox, "ingest shop-dbt").code, None, "{point}");
        sandbox.unset("KTX_TEST_KILL_AT");
        let printed = run(&sandbox, "ingest shop-dbt");
        assert_eq!(printed.code, Some(0), "{point}: {printed}");
        assert!(sandbox.read("wiki/global/revenue.md").is_ok(), "{point}");
        assert!(sandbox.read("wiki/global/buyers.md").is_err(), "{point}");
        git(&sandbox, &["fsck", "--strict"]);
        assert_eq!(git(&sandbox, &["status", "--porcelain"]), "", "{point}");
    }
}

/// Warehouses first.
#[test]
fn everything_is_ingested_without_an_id() {
    let mut sandbox = locally(project(&[("models/schema.yml", SCHEMA)]), &whole());
    let describe = |table: &str| {
        let object = json!({ "tableDescription": "Rows.", "columns": [] });
        json!({ "prompt_contains": format!("table: {table}"), "steps": [{ "object": object }] })
    };
    let scenario = std::fs::read_to_string(sandbox.home().join("scenario.json")).expect("it");
    let mut scenario: Value = serde_json::from_str(&scenario).expect("JSON");
    let when = scenario["when"].as_array_mut().expect("a list");
    when.extend([describe("orders"), describe("customers")]);
    play(&mut sandbox, scenario);
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(
        printed.stdout.contains("warehouse\tdone\tdone\n"),
        "{printed}"
    );
    assert!(
        printed
            .stdout
            .contains("shop-dbt\tdbt-all\tdone\trevenue\torders\t"),
        "{printed}"
    );
    let answer = json_of(&sandbox, "ingest --json");
    let targets: Vec<(&Value, &Value)> = answer["plan"]["targets"]
        .as_array()
        .expect("targets")
        .iter()
        .map(|target| (&target["connectionId"], &target["operation"]))
        .collect();
    assert_eq!(
        targets,
        [
            (&json!("warehouse"), &json!("database-ingest")),
            (&json!("shop-dbt"), &json!("source-ingest")),
        ]
    );
    let steps = json!([
        { "operation": "source-ingest", "status": "done" },
        { "operation": "memory-update", "status": "done" },
    ]);
    assert_eq!(answer["results"][1]["steps"], steps);
    assert_eq!(answer["plan"]["warnings"], json!([]));
}

#[test]
fn a_source_is_tested_by_reading_it() {
    let sandbox = locally(project(&[("models/schema.yml", SCHEMA)]), &whole());
    check!(&sandbox, "connection test", @r"
exit 0
✓ shop-dbt  dbt  dbt project of 2 files in 1 unit
✓ warehouse  sqlite  SQLite [VERSION]
2 tested · 2 passed · 0 failed
--- stderr
Project: [SANDBOX]/work
");
    std::fs::remove_file(sandbox.work().join("dbt/dbt_project.yml")).expect("the file");
    check!(&sandbox, "connection test shop-dbt", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: the dbt project of `shop-dbt` cannot be read
  caused by: there is no `dbt_project.yml` in `[SANDBOX]/work/dbt`

hint: set `source_dir` to the folder with `dbt_project.yml`, or `path` to its place below it
");
    assert_eq!(processes(&sandbox), 0);
}

/// KTX-44: facts need no model.
#[test]
fn without_a_model_only_facts_change() {
    let mut sandbox = project(&[("models/schema.yml", SCHEMA)]);
    let refused = json!({ "api_error": { "class": "authentication_failed", "status": 401 } });
    play(&mut sandbox, json!({ "steps": [refused] }));
    check!(&sandbox, "ingest shop-dbt", @r"
exit 5
Source	Unit	Status	Pages	Sources	Commit
shop-dbt	facts of 1 table	done	-	-	[COMMIT]
shop-dbt	dbt-all	not-run	-	-	-
--- stderr
Project: [SANDBOX]/work
error: Claude Code is not usable with your local session

hint: authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command
hint: run the same command again; ktx keeps finished work and does not ask for it again
");
    let changed = git(&sandbox, &["log", "-1", "--format=%s", "--name-only"]);
    assert_eq!(
        changed,
        "ktx ingest: what shop-dbt says about tables\n\nsemantic-layer/warehouse/_schema/public.yaml\n"
    );
}

#[test]
fn bad_sources_cost_nothing() {
    let sandbox = locally(project(&[]), &whole());
    let dbt = "    driver: dbt\n    source_dir: dbt\n";
    for (source, line, expected) in [
        (
            "    driver: dbt\n    source_dir: nowhere\n",
            "ingest shop-dbt",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\n\
             error: the dbt project of `shop-dbt` cannot be read\n  caused by: there is no folder `[SANDBOX]/work/nowhere`\n\n\
             hint: set `source_dir` to the folder of a dbt project; a relative one counts from the project folder\n",
        ),
        (
            "    driver: dbt\n    source_dir: .\n",
            "ingest shop-dbt",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\n\
             error: the dbt project of `shop-dbt` cannot be read\n  caused by: there is no `dbt_project.yml` in `[SANDBOX]/work`\n\n\
             hint: set `source_dir` to the folder with `dbt_project.yml`, or `path` to its place below it\n",
        ),
        (
            "    driver: dbt\n    branch: main\n",
            "ingest shop-dbt",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\n\
             error: `connections.shop-dbt` names neither `source_dir` nor `repo_url`\n\n\
             hint: set `source_dir` to the folder of a dbt project, or `repo_url` to its repository\n",
        ),
        (
            "    driver: dbt\n    source_dir: dbt\n  other:\n    driver: sqlite\n    path: other.db\n",
            "ingest shop-dbt",
            "exit 2\n--- stderr\nProject: [SANDBOX]/work\n\
             error: `shop-dbt` can be about several warehouses: warehouse, other\n\n\
             hint: name one: `ktx ingest shop-dbt --connection-id warehouse`\n",
        ),
        (
            dbt,
            "ingest warehouse --connection-id other",
            "exit 2\n--- stderr\nProject: [SANDBOX]/work\n\
             error: `--connection-id` belongs to `--text`, `--file`, `--transcript` and the ingest of a context source\n\n\
             hint: name the warehouse to ingest without a flag: `ktx ingest <id>`\n",
        ),
        (
            dbt,
            "ingest shop-dbt --connection-id nope",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\n\
             error: there is no connection `nope`\n\n\
             hint: use one of `warehouse`\n",
        ),
    ] {
        write(&sandbox, "ktx.yaml", &CONFIG.replace(dbt, source));
        check(&sandbox, line, expected);
    }
    assert_eq!(processes(&sandbox), 0, "{}", record(&sandbox));
}
