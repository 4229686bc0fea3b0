//! Context sources with failing units or without a model.

use ktx_test_support::loopback::{Answer, Loopback};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{play, processes};
use crate::sources::{CONFIG, SCHEMA, Script, locally, long, page, project, remotely};
use crate::support::{commit, database, run, tree, write};

const SHARD: &str = "semantic-layer/warehouse/_schema/public.yaml";

fn two_sources(sandbox: Sandbox) -> Sandbox {
    write(&sandbox, "crm/dbt_project.yml", "name: crm\n");
    let schema = "models:\n  - {name: customers, description: Who buys.}\n";
    write(&sandbox, "crm/models/people.yml", schema);
    let crm = "  the-crm:\n    driver: dbt\n    source_dir: crm\nllm:";
    write(&sandbox, "ktx.yaml", &CONFIG.replace("llm:", crm));
    commit(&sandbox, "two sources");
    let script: Script = vec![
        (
            "Unit dbt-models-people of",
            vec![page("buyers", "Who buys.")],
        ),
        (
            "Unit dbt-all of the source the-crm",
            vec![page("crm", "The CRM.")],
        ),
    ];
    locally(sandbox, &script)
}

fn ending(sandbox: &mut Sandbox, steps: &Value) {
    let scenario = std::fs::read_to_string(sandbox.home().join("scenario.json")).expect("it");
    let mut scenario: Value = serde_json::from_str(&scenario).expect("JSON");
    let when = scenario["when"].as_array_mut().expect("a list");
    when.insert(
        0,
        json!({ "prompt_contains": "Unit dbt-models-orders of", "steps": steps }),
    );
    play(sandbox, scenario);
}

fn answer(printed: &ktx_test_support::sandbox::RunOutput) -> Value {
    serde_json::from_str(&printed.stdout).expect("JSON")
}

fn states(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().expect("results");
    let units = results.iter().flat_map(|result| {
        let units = result["units"].as_array().cloned().unwrap_or_default();
        units.into_iter().map(|unit| {
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {}",
                text(&result["connectionId"]),
                text(&unit["unitKey"]),
                text(&unit["status"]),
                text(&unit["errorCode"])
            )
        })
    });
    units.collect()
}

/// A refusal, a too long answer, a crash; now and in the next run.
#[test]
fn a_unit_that_fails_is_the_only_one_that_fails() {
    for (steps, code) in [
        (
            json!([{ "end": { "stop_reason": "refusal", "is_error": true } }]),
            "llm_refusal",
        ),
        (json!([{ "exit": 1 }]), "llm_crashed"),
    ] {
        let mut sandbox = two_sources(long());
        ending(&mut sandbox, &steps);
        for again in ["done", "unchanged"] {
            let printed = run(&sandbox, "ingest --json");
            // The warehouse's tables have no descriptions here.
            assert_eq!(printed.code, Some(7), "{printed}");
            assert_eq!(
                states(&answer(&printed)),
                [
                    format!("shop-dbt dbt-models-orders failed {code}"),
                    format!("shop-dbt dbt-models-people {again} -"),
                    format!("the-crm dbt-all {again} -"),
                ],
                "{printed}"
            );
        }
    }
}

#[test]
fn a_limit_ends_the_run_and_names_every_source() {
    let mut sandbox = two_sources(long());
    let limit = json!([{ "api_error": { "class": "billing_error", "status": 402, "text": "no" } }]);
    ending(&mut sandbox, &limit);
    let warehouse = "connections:\n  warehouse:\n    driver: sqlite\n    path: warehouse.db\n";
    assert!(CONFIG.starts_with(warehouse));
    let printed = run(&sandbox, "ingest --json");
    let answer = answer(&printed);
    assert_eq!(printed.code, Some(5), "{printed}");
    assert_eq!(
        states(&answer),
        [
            "shop-dbt dbt-models-orders failed llm_billing",
            "shop-dbt dbt-models-people not-run -",
            "the-crm dbt-all not-run -",
        ]
    );
    let steps = json!([
        { "operation": "source-ingest", "status": "done" },
        { "operation": "memory-update", "status": "not-run" },
    ]);
    assert_eq!(answer["results"][2]["steps"], steps);
    assert_eq!(answer["results"][2]["facts"]["tables"], json!(1));
}

/// Skipped work is reported.
#[test]
fn facts_land_without_a_model() {
    let sandbox = project(&[("models/schema.yml", SCHEMA)]);
    let config = CONFIG.replace("backend: claude-code", "backend: none");
    write(&sandbox, "ktx.yaml", &config);
    check!(&sandbox, "ingest shop-dbt", @r"
exit 0
Source	Unit	Status	Pages	Sources	Commit
shop-dbt	facts of 1 table	done	-	-	[COMMIT]
shop-dbt	dbt-all	not-run	-	-	-
--- stderr
Project: [SANDBOX]/work
shop-dbt: its units were not read, which needs a model (`llm.provider.backend` is `none`)
");
    assert!(
        sandbox
            .read(SHARD)
            .unwrap()
            .contains("dbt: One row per order.")
    );
    // A new table gets its facts at once.
    database(
        &sandbox,
        "warehouse.db",
        "CREATE TABLE invoices (id INTEGER PRIMARY KEY)",
    );
    let more = format!("{SCHEMA}  - {{name: invoices, description: Bills.}}\n");
    write(&sandbox, "dbt/models/schema.yml", &more);
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(0), "{printed}");
    let note =
        "tables were not described, which needs a model (`llm.provider.backend` is `none`)\n";
    assert!(printed.stderr.contains(note), "{printed}");
    let shards = tree(&sandbox);
    let is_told = |(path, bytes): (&String, &Vec<u8>)| {
        path.contains("/_schema/") && String::from_utf8_lossy(bytes).contains("dbt: Bills.")
    };
    assert_eq!(shards.iter().filter(|entry| is_told(*entry)).count(), 1);
}

#[test]
fn facts_land_when_the_model_is_down() {
    let provider = Loopback::start(|_, _| {
        let error = json!({ "type": "error", "error": { "type": "api_error", "message": "no" } });
        Answer::json(500, &error)
    })
    .expect("a provider");
    let sandbox = remotely(project(&[("models/schema.yml", SCHEMA)]), &provider, "");
    let printed = run(&sandbox, "ingest --json");
    assert_eq!(printed.code, Some(5), "{printed}");
    let answer = answer(&printed);
    let results = answer["results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "{printed}");
    assert_eq!(results[0]["steps"][0]["status"], "failed");
    assert_eq!(results[1]["steps"][0]["status"], "done");
    assert_eq!(states(&answer), ["shop-dbt dbt-all not-run -"]);
    assert!(
        sandbox
            .read(SHARD)
            .unwrap()
            .contains("dbt: One row per order.")
    );

    let mut sandbox = project(&[("models/schema.yml", SCHEMA)]);
    sandbox.set("KTX_CLAUDE_PATH", "/nowhere/claude");
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(
        (printed.code, processes(&sandbox)),
        (Some(5), 0),
        "{printed}"
    );
    assert!(
        printed.stdout.contains("shop-dbt\tdbt-all\tnot-run\t"),
        "{printed}"
    );
    assert!(printed.stderr.contains("error: "), "{printed}");
    assert!(
        sandbox
            .read(SHARD)
            .unwrap()
            .contains("dbt: One row per order.")
    );
}

/// Whether one or both sources are read.
#[test]
fn what_one_of_two_sources_of_a_kind_no_longer_says_is_removed() {
    let sandbox = two_sources(project(&[("models/schema.yml", SCHEMA)]));
    let config = sandbox.read("ktx.yaml").expect("the file");
    let config = config.replace("backend: claude-code", "backend: none");
    write(&sandbox, "ktx.yaml", &config);
    let models = |text: &str| {
        write(&sandbox, "crm/models/people.yml", text);
        commit(&sandbox, "other words");
    };
    let described = |line: &str| {
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(0), "{line}: {printed}");
        let shard = sandbox.read(SHARD).expect("the shard");
        let lines = shard
            .lines()
            .filter_map(|line| line.trim().strip_prefix("dbt: "));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    models(
        "models:
  - {name: orders, description: What the CRM sells.}
  - {name: customers, description: Who buys.}
",
    );
    let orders = "What the CRM sells.".to_owned();
    let state = "The state.".to_owned();
    assert_eq!(
        described("ingest"),
        ["Who buys.".to_owned(), state.clone(), orders.clone()]
    );

    models("models: []\n");
    assert_eq!(described("ingest the-crm"), [state.clone(), orders]);
    let refunds = "One row per order. Refunds are not revenue.".to_owned();
    assert_eq!(described("ingest shop-dbt"), [state, refunds]);
    write(&sandbox, "dbt/models/schema.yml", "models: []\n");
    commit(&sandbox, "nothing is said");
    assert_eq!(described("ingest"), Vec::<String>::new());
}
