//! Declared joins override those inferred from few rows.

use ktx_test_support::sandbox::Sandbox;
use serde_json::Value;

use crate::imports::{project, wrong_answers};
use crate::support::{commit, database, run, write};

/// An order can have several payments.
const CONNECTION: &str = "dbt, source_dir: models, manifest: models/artifacts/manifest.json, catalog: models/artifacts/catalog.json";

const SECOND_PAYMENT: &str =
    "INSERT INTO stripe_payments VALUES (4, 1, 'wire', 2, 0.25, '2025-01-09');";

const SHARD: &str = "semantic-layer/warehouse/_schema/public.yaml";

/// Sums by order are safe; an order can count once per kind of payment.
const QUESTIONS: &str = "
- {ask: {measures: [stripe_payments.fees], dimensions: [fct_orders.status]}, sql: \"SELECT status, sum(fee) FROM stripe_payments JOIN fct_orders USING (order_id) GROUP BY 1\"}
- {ask: {measures: [fct_orders.revenue], dimensions: [stripe_payments.kind], across: count_each}, sql: \"SELECT kind, sum(amount) FROM (SELECT DISTINCT kind, order_id, amount FROM stripe_payments JOIN fct_orders USING (order_id)) GROUP BY 1\"}
- {ask: {measures: [fct_orders.revenue]}, sql: \"SELECT sum(amount) FROM fct_orders\"}
";

fn joins(sandbox: &Sandbox, path: &str) -> Vec<String> {
    let text = sandbox.read(path).expect("a file");
    let file: Value = ktx_config::yaml::load_text(&text, path)
        .expect("YAML")
        .value;
    let table = file
        .pointer("/tables/stripe_payments")
        .unwrap_or(&file)
        .clone();
    let joins = table["joins"].as_array().expect("joins").iter();
    joins
        .map(|join| join["relationship"].as_str().expect("text").to_owned())
        .collect()
}

fn assert_counted_once(sandbox: &Sandbox) {
    database(sandbox, "warehouse.db", SECOND_PAYMENT);
    assert_eq!(wrong_answers(sandbox, QUESTIONS), "");
    let line =
        "sl query --measure fct_orders.revenue --dimension stripe_payments.kind --execute --json";
    let refused = run(sandbox, line);
    let error: Value = serde_json::from_str(&refused.stdout).expect("JSON");
    assert_eq!(error["error"]["code"], "fanout", "{refused}");
    assert_eq!(
        error["error"]["suggestions"][0]["across"], "count_each",
        "{refused}"
    );
}

#[test]
fn a_scan_of_few_rows_takes_no_column_for_a_key() {
    let sandbox = project("manifest", CONNECTION);
    assert_eq!(joins(&sandbox, SHARD), ["many_to_one"]);
    let printed = run(&sandbox, "ingest --facts");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert_counted_once(&sandbox);
}

#[test]
fn a_declared_join_replaces_one_to_one_that_a_scan_inferred() {
    let sandbox = project("manifest", CONNECTION);
    let shard = sandbox.read(SHARD).expect("a shard");
    let guessed = |text: &str, column: &str, relationship: &str| {
        let before = format!("{column}\n        relationship: {relationship}\n");
        assert!(text.contains(&before), "{before}{text}");
        text.replace(
            &before,
            &format!("{column}\n        relationship: one_to_one\n"),
        )
    };
    let shard = guessed(&shard, "= fct_orders.order_id", "many_to_one");
    let shard = guessed(&shard, "= stripe_payments.order_id", "one_to_many");
    write(&sandbox, SHARD, &shard);
    commit(&sandbox, "an earlier scan");
    let printed = run(&sandbox, "ingest --facts");
    assert_eq!(printed.code, Some(0), "{printed}");
    let import = "semantic-layer/warehouse/_imports/shop/stripe_payments.yaml";
    assert_eq!(joins(&sandbox, import), ["many_to_one"]);
    assert_counted_once(&sandbox);
    let again = run(&sandbox, "ingest --facts");
    assert!(again.stdout.contains("nothing changed"), "{again}");
}
