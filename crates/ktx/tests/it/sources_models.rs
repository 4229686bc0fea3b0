//! `ktx ingest` of LookML and MetricFlow.

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::claude::processes;
use crate::sources::{Script, locally};
use crate::support::{check, commit, git, json as json_of, run, unscanned, write};

const TABLES: &str = "
CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, status TEXT NOT NULL);
INSERT INTO orders VALUES (1, 10, 'paid'), (2, 20, 'refunded');
";

const CONFIG: &str = "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
SOURCE
llm:
  provider:
    backend: claude-code
";

const LOOKML: &str = "  source:
    driver: lookml
    source_dir: source
    mappings: {expectedLookerConnectionName: shop}";

const METRICFLOW: &str = "  source:
    driver: metricflow
    metricflow: {source_dir: source}";

const VIEW: &str = "view: orders {
  dimension: status { description: \"The state.\" }
  measure: revenue { type: sum sql: ${TABLE}.amount ;; filters: [status: \"paid\"] }
}
";

const MODELS: &str = "semantic_models:
  - name: orders
    model: ref('orders')
    description: One row per order.
    dimensions: [{name: status, type: categorical, description: The state.}]
    measures: [{name: revenue, agg: sum, expr: amount}]
";

fn configure(sandbox: &Sandbox, source: &str) {
    write(sandbox, "ktx.yaml", &CONFIG.replace("SOURCE", source));
}

fn project(source: &str, files: &[(&str, &str)]) -> Sandbox {
    let sandbox = unscanned(TABLES);
    // Units own what they write.
    std::fs::remove_file(sandbox.work().join("wiki/global/revenue.md")).expect("the page");
    configure(&sandbox, source);
    for (path, text) in files {
        write(&sandbox, &format!("source/{path}"), text);
    }
    commit(&sandbox, "config");
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    sandbox
}

fn script(prompt: &'static str, file: &str) -> Script {
    let yaml = "name: orders\nmeasures:\n  - name: revenue\n    expr: sum(amount)\n    filter: status = 'paid'\n";
    let page = json!({
        "key": "revenue", "summary": "Paid.", "content": "Refunds are not revenue.",
        "sl_refs": ["warehouse.orders"],
    });
    vec![(
        prompt,
        vec![
            ("read_raw_file", json!({ "path": file })),
            (
                "sl_write_source",
                json!({ "source_name": "orders", "yaml": yaml }),
            ),
            ("wiki_write", page),
        ],
    )]
}

fn is_ingested_once(sandbox: &Sandbox, unit: &str, driver: &str) {
    let answer = json_of(sandbox, "ingest source --json");
    let result = &answer["results"][0];
    assert_eq!(result["driver"], json!(driver), "{answer}");
    assert_eq!(
        answer["plan"]["targets"][0]["adapter"],
        json!(driver),
        "{answer}"
    );
    assert_eq!(result["facts"]["tables"], json!(1), "{answer}");
    let done = &result["units"][0];
    assert_eq!(
        (&done["unitKey"], &done["status"]),
        (&json!(unit), &json!("done")),
        "{answer}"
    );
    let captured =
        json!({ "wiki": ["revenue"], "sl": ["orders"], "xrefs": ["revenue -> warehouse.orders"] });
    assert_eq!(done["captured"], captured, "{answer}");
    let asked = processes(sandbox);
    let again = json_of(sandbox, "ingest source --json");
    assert_eq!(
        again["results"][0]["units"][0]["status"],
        json!("unchanged"),
        "{again}"
    );
    assert_eq!(processes(sandbox), asked);
    let query = "sl query --connection-id warehouse --measure orders.revenue --execute --json";
    let rows = json_of(sandbox, query);
    assert!(rows.to_string().contains("10"), "{rows}");
    assert_eq!(git(sandbox, &["status", "--porcelain"]), "");
}

fn shard(sandbox: &Sandbox) -> String {
    let shard = sandbox.read("semantic-layer/warehouse/_schema/public.yaml");
    shard.expect("the shard")
}

#[test]
fn a_lookml_project_becomes_facts_pages_and_measures() {
    let model = "connection: \"shop\"\ninclude: \"/views/*.view\"\nexplore: orders {}\n";
    let files = [("shop.model.lkml", model), ("views/orders.view.lkml", VIEW)];
    let script = script("Unit lookml-shop of the source source", "shop.model.lkml");
    let sandbox = locally(project(LOOKML, &files), &script);
    check!(&sandbox, "connection test", @r"
exit 0
✓ source  lookml  LookML project of 2 files in 1 unit
✓ warehouse  sqlite  SQLite [VERSION]
2 tested · 2 passed · 0 failed
--- stderr
Project: [SANDBOX]/work
");
    is_ingested_once(&sandbox, "lookml-shop", "lookml");
    assert!(
        shard(&sandbox).contains("lookml: The state."),
        "{}",
        shard(&sandbox)
    );
}

/// For models of another warehouse.
#[test]
fn a_model_of_another_connection_writes_pages_only() {
    let model = "connection: \"crm\"\ninclude: \"/views/*.view\"\n";
    let files = [("crm.model.lkml", model), ("views/orders.view.lkml", VIEW)];
    let script = script("Unit lookml-crm of the source source", "crm.model.lkml");
    let sandbox = locally(project(LOOKML, &files), &script);
    let answer = json_of(&sandbox, "ingest source --json");
    let result = &answer["results"][0];
    let captured =
        json!({ "wiki": ["revenue"], "sl": [], "xrefs": ["revenue -> warehouse.orders"] });
    assert_eq!(result["units"][0]["captured"], captured, "{answer}");
    assert_eq!(result["facts"]["tables"], json!(0), "{answer}");
    assert_eq!(
        result["warnings"],
        json!([
            "crm.model.lkml: the model is about the Looker connection `crm`, not `shop`: ktx imports none of it, and its units write pages only"
        ])
    );
    assert!(!shard(&sandbox).contains("lookml"), "{}", shard(&sandbox));
}

#[test]
fn a_metricflow_project_becomes_facts_pages_and_measures() {
    let script = script(
        "Unit metricflow-orders of the source source",
        "models/orders.yml",
    );
    let sandbox = locally(
        project(METRICFLOW, &[("models/orders.yml", MODELS)]),
        &script,
    );
    check!(&sandbox, "connection test", @r"
exit 0
✓ source  metricflow  MetricFlow project of 1 file in 1 unit
✓ warehouse  sqlite  SQLite [VERSION]
2 tested · 2 passed · 0 failed
--- stderr
Project: [SANDBOX]/work
");
    is_ingested_once(&sandbox, "metricflow-orders", "metricflow");
    for words in ["metricflow: One row per order.", "metricflow: The state."] {
        assert!(shard(&sandbox).contains(words), "{}", shard(&sandbox));
    }
}

#[test]
fn repositories_are_named_by_the_settings_of_their_kind() {
    let sandbox = locally(
        project(METRICFLOW, &[("deep/orders.yml", MODELS)]),
        &Vec::new(),
    );
    let folder = "../home/repository";
    std::fs::create_dir_all(sandbox.home().join("repository")).expect("a folder");
    std::fs::write(sandbox.home().join("repository/m.yml"), MODELS).expect("a file");
    for words in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["commit", "--quiet", "--message=first"],
    ] {
        sandbox.git(folder, words).expect("git works");
    }
    let url = sandbox.home().join("repository").display().to_string();
    configure(
        &sandbox,
        &format!("  source:\n    driver: metricflow\n    metricflow: {{repoUrl: '{url}'}}"),
    );
    let printed = run(&sandbox, "connection test source");
    assert!(
        printed
            .stdout
            .contains("MetricFlow project of 1 file in 1 unit"),
        "{printed}"
    );
    for (source, expected) in [
        (
            "  source:\n    driver: metricflow\n    metricflow: {source_dir: nowhere}",
            "error: the MetricFlow project of `source` cannot be read\n  caused by: there is no folder `[SANDBOX]/work/nowhere`\n\n\
             hint: set `metricflow.source_dir` to the folder of a MetricFlow project; a relative one counts from the project folder\n",
        ),
        (
            "  source:\n    driver: metricflow\n    metricflow: {repoUrl: 'https://git.example/m.git', path: ../x}",
            "source: fetching the repository\nerror: `connections.source.metricflow.path` leads out of the repository\n",
        ),
        (
            "  source:\n    driver: metricflow\n    metricflow: {branch: main}",
            "error: ktx.yaml:7:17: `connections.source.metricflow.repoUrl` is missing\n",
        ),
        (
            "  source:\n    driver: lookml\n    source_dir: source",
            "error: the LookML project of `source` cannot be read\n  caused by: there is no LookML (`*.lkml`, `*.lookml`) in `[SANDBOX]/work/source`\n\n\
             hint: set `source_dir` to the folder with LookML (`*.lkml`, `*.lookml`), or `path` to its place below it\n",
        ),
    ] {
        configure(&sandbox, source);
        let head = "exit 3\n--- stderr\nProject: [SANDBOX]/work\n";
        let is_config = expected.starts_with("error: ktx.yaml");
        let head = if is_config {
            head.replace("Project: [SANDBOX]/work\n", "")
        } else {
            head.to_owned()
        };
        check(&sandbox, "ingest source", &format!("{head}{expected}"));
    }
    assert_eq!(processes(&sandbox), 0);
}
