//! Verdicts about what units and imports share with files that are gone: in the report, in `ktx runs
//! show` and in `ktx why`.

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{play, processes};
use crate::sources::{Script, locally, page, project};
use crate::support::{commit, json as json_of, run, write};

const ORDERS: &str = "models:
  - name: orders
    description: One row per order.
";

const PEOPLE: &str = "models:
  - {name: customers, description: Who buys.}
";

/// Each model is read in a unit of its own.
fn two_units(orders: &str, more: &[(&str, &str)]) -> Sandbox {
    let filler = format!("-- {}\nselect 1\n", "x".repeat(61_000));
    let mut files = vec![
        ("models/orders.yml", orders),
        ("models/people.yml", PEOPLE),
        ("models/customers.sql", &filler),
    ];
    files.extend(more);
    project(&files)
}

fn shared_page() -> Script {
    let edit = json!({ "oldText": "Refunds are not revenue.", "newText": "Refunds are not revenue.\n\nPeople pay once." });
    vec![
        (
            "Unit dbt-models-orders of",
            vec![page("revenue", "Refunds are not revenue.")],
        ),
        (
            "Unit dbt-models-people of",
            vec![(
                "wiki_write",
                json!({ "key": "revenue", "replacements": [edit] }),
            )],
        ),
    ]
}

/// Plays a model that answers the question for verdicts.
fn verdicts(sandbox: &mut Sandbox, verdicts: &Value) {
    let when = json!([{
        "prompt_contains": "Verdicts for the source shop-dbt.",
        "steps": [{ "object": { "verdicts": verdicts } }],
    }]);
    play(
        sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": when }),
    );
}

fn without_orders(sandbox: &Sandbox) {
    std::fs::remove_file(sandbox.work().join("dbt/models/orders.yml")).expect("a file");
    commit(sandbox, "no more orders");
}

/// The number of the line that the missing file has led to.
fn line_of(sandbox: &Sandbox, words: &str) -> usize {
    let text = sandbox.read("wiki/global/revenue.md").expect("a page");
    let found = text.lines().position(|line| line == words);
    found.expect("the line") + 1
}

/// KTX-05: the model loses only what came from the missing file, and everyone who asks learns why.
#[test]
fn a_verdict_is_told_everywhere() {
    let mut sandbox = locally(two_units(ORDERS, &[]), &shared_page());
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    without_orders(&sandbox);
    let line = line_of(&sandbox, "Refunds are not revenue.");
    let answer = json!([{
        "thing": 1, "verdict": "rewrite", "reason": "Only models/orders.yml said it.",
        "lines": [{ "line": line }],
    }]);
    verdicts(&mut sandbox, &answer);
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(0), "{printed}");
    let told = "shop-dbt: page revenue: rewrite: Only models/orders.yml said it.\n";
    assert!(printed.stderr.contains(told), "{printed}");
    let row = "shop-dbt\tshared with files that are gone\tdone\trevenue\t-\t";
    assert!(printed.stdout.contains(row), "{printed}");
    let text = sandbox.read("wiki/global/revenue.md").expect("a page");
    assert!(text.contains("People pay once.") && !text.contains("Refunds are not revenue.\n\n"));
    let why = run(&sandbox, "why revenue").stdout;
    let told =
        "page revenue: rewrite when models/orders.yml was gone: Only models/orders.yml said it.\n";
    assert!(why.contains(told), "{why}");
    let told = json_of(&sandbox, "why revenue --json");
    assert_eq!(
        told["data"]["places"][0]["verdicts"][0]["verdict"],
        "rewrite"
    );
    let shown = run(&sandbox, "runs show").stdout;
    assert!(
        shown.contains("    page revenue: rewrite: Only models/orders.yml said it.\n"),
        "{shown}"
    );
    let asked = processes(&sandbox);
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    assert_eq!(processes(&sandbox), asked);
}

/// Without an answer, the page stays, the run is partial, and the next one asks again.
#[test]
fn what_has_no_verdict_stays_and_is_asked_again() {
    let mut sandbox = locally(two_units(ORDERS, &[]), &shared_page());
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    without_orders(&sandbox);
    let before = sandbox.read("wiki/global/revenue.md").expect("a page");
    verdicts(&mut sandbox, &json!([]));
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(7), "{printed}");
    let told = "shop-dbt: page revenue has no verdict yet, and stays until it has one\n";
    assert!(printed.stderr.contains(told), "{printed}");
    assert_eq!(sandbox.read("wiki/global/revenue.md").expect("it"), before);
    let shown = run(&sandbox, "runs show").stdout;
    assert!(
        shown.contains("    page revenue: no verdict yet\n"),
        "{shown}"
    );
    let answer = json!([{ "thing": 1, "verdict": "keep", "reason": "It holds for all." }]);
    verdicts(&mut sandbox, &answer);
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    let eviction = &answer["results"][0]["eviction"];
    let expected = json!([{
        "kind": "page", "name": "revenue", "verdict": "keep", "reason": "It holds for all.",
        "decidedBy": "model", "gone": ["models/orders.yml"],
    }]);
    let mut verdicts = eviction["verdicts"].clone();
    verdicts[0]
        .as_object_mut()
        .expect("a verdict")
        .remove("text");
    assert_eq!((verdicts, &eviction["open"]), (expected, &json!([])));
    assert_eq!(sandbox.read("wiki/global/revenue.md").expect("it"), before);
}

const METRICS: &str = "semantic_models:
  - name: orders
    model: ref('orders')
    entities: [{name: order, type: primary, expr: id}]
    measures: [{name: revenue, agg: sum, expr: amount, create_metric: true}]
";

fn measure(expr: &str) -> Script {
    let yaml = format!("name: orders\nmeasures:\n  - name: revenue\n    expr: {expr}\n");
    vec![(
        "Unit dbt-models-orders of",
        vec![(
            "sl_write_source",
            json!({ "source_name": "orders", "yaml": yaml }),
        )],
    )]
}

/// A measure of a missing file continues as the import of another file that defines it.
#[test]
fn a_measure_that_an_import_shares_stays() {
    let sandbox = locally(two_units(ORDERS, &[]), &measure("sum(amount)"));
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    write(&sandbox, "dbt/models/metrics.yml", METRICS);
    without_orders(&sandbox);
    let asked = "sl query --connection-id warehouse --measure orders.revenue --execute --json";
    let before = json_of(&sandbox, asked);
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    let verdict = &answer["results"][0]["eviction"]["verdicts"][0];
    assert_eq!(
        (
            &verdict["kind"],
            &verdict["name"],
            &verdict["verdict"],
            &verdict["decidedBy"]
        ),
        (
            &json!("measure"),
            &json!("orders.revenue"),
            &json!("keep"),
            &json!("ledger")
        ),
        "{answer}"
    );
    assert!(
        sandbox
            .read("semantic-layer/warehouse/orders.yaml")
            .is_err()
    );
    assert_eq!(
        json_of(&sandbox, asked)["data"]["rows"],
        before["data"]["rows"]
    );
}

/// Another formula of an import would change a number: a person decides.
#[test]
fn a_measure_that_an_import_defines_otherwise_is_proposed() {
    let sandbox = locally(two_units(ORDERS, &[]), &measure("sum(amount) * 2"));
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    write(&sandbox, "dbt/models/metrics.yml", METRICS);
    without_orders(&sandbox);
    let before = sandbox
        .read("semantic-layer/warehouse/orders.yaml")
        .expect("it");
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(7), "{printed}");
    let told = "shop-dbt: measure orders.revenue: propose: ";
    assert!(printed.stderr.contains(told), "{printed}");
    let after = sandbox
        .read("semantic-layer/warehouse/orders.yaml")
        .expect("it");
    assert_eq!(after, before);
    assert!(run(&sandbox, "review").stdout.contains("eviction"));
}
