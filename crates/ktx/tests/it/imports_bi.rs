//! Imports Cube, Metabase and Looker without a model.

use ktx_test_support::looker_fake::{CLIENT_ID, Instance, LookerFake, SECRET, explore};
use ktx_test_support::metabase_fake::{Analytics, KEY, MetabaseFake, written};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::imports::{project, wrong, wrong_answers};
use crate::support::{run, transcript, unscanned, write};

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer INTEGER, status TEXT, amount NUMERIC, at DATE, paid_at INTEGER);
CREATE TABLE people (id INTEGER PRIMARY KEY, country TEXT);
INSERT INTO orders (id, buyer, status, amount, at) VALUES (1, 1, 'paid', 10, '2025-01-01'), (2, 1, 'open', 20, '2025-01-03'), (3, 2, NULL, 5, '2025-02-01');
INSERT INTO people VALUES (1, 'DE'), (2, 'JP');";

fn scanned(connection: &str, secret: (&str, &str)) -> Sandbox {
    let mut sandbox = unscanned(ORDERS);
    let config = format!(
        "connections:\n  warehouse: {{driver: sqlite, path: warehouse.db}}\n  bi:\n{connection}"
    );
    write(&sandbox, "ktx.yaml", &config);
    sandbox.set(secret.0, secret.1);
    let printed = run(&sandbox, "scan");
    assert_eq!(printed.code, Some(0), "{printed}");
    sandbox
}

pub(crate) fn card(id: u64, kind: &str, name: &str, query: Value) -> Value {
    let mut card = written(id, name, (1, None), "");
    card["type"] = json!(kind);
    card["dataset_query"] = query;
    card
}

pub(crate) fn older(query: &Value) -> Value {
    json!({ "type": "query", "database": 1, "query": query })
}

fn newer(stage: &Value) -> Value {
    json!({ "lib/type": "mbql/query", "database": 1, "stages": [stage] })
}

fn cards() -> Vec<Value> {
    let field = |id: u64| json!(["field", id, null]);
    let paid = json!(["=", field(13), "paid"]);
    vec![
        card(
            1,
            "metric",
            "Revenue",
            older(&json!({"source-table": 1, "aggregation": [["sum", field(14)]]})),
        ),
        card(
            2,
            "metric",
            "Paid revenue",
            older(&json!({"source-table": 1, "aggregation": [["sum", field(14)]], "filter": paid})),
        ),
        card(
            3,
            "metric",
            "Not paid",
            older(
                &json!({"source-table": 1, "aggregation": [["count"]], "filter": ["!=", field(13), "paid"]}),
            ),
        ),
        card(
            4,
            "metric",
            "Paid share",
            older(
                &json!({"source-table": 1, "aggregation": [["/", ["metric", 2], ["metric", 1]]]}),
            ),
        ),
        card(
            5,
            "metric",
            "Big orders",
            newer(&json!({
                "lib/type": "mbql.stage/mbql", "source-table": 1,
                "aggregation": [["count-where", {"lib/uuid": "a"}, [">", {"lib/uuid": "b"}, ["field", {"lib/uuid": "c", "base-type": "type/Decimal"}, 14], 9]]],
            })),
        ),
        card(
            6,
            "metric",
            "Of paid orders",
            older(&json!({"source-table": "card__7", "aggregation": [["avg", field(14)]]})),
        ),
        card(
            7,
            "model",
            "Paid orders",
            older(&json!({"source-table": 1, "filter": ["and", paid, ["not-null", field(12)]]})),
        ),
        card(
            8,
            "model",
            "Priced orders",
            older(&json!({"source-table": 1, "expressions": {"With tax": ["*", field(14), 1.5]}})),
        ),
        card(
            9,
            "metric",
            "Lately",
            older(
                &json!({"source-table": 1, "aggregation": [["count"]], "filter": ["time-interval", field(15), -7, "day"]}),
            ),
        ),
        card(
            10,
            "metric",
            "By country",
            older(
                &json!({"source-table": 1, "aggregation": [["count"]], "joins": [{"alias": "People"}]}),
            ),
        ),
        card(
            11,
            "metric",
            "Deviation",
            older(&json!({"source-table": 1, "aggregation": [["stddev", field(14)]]})),
        ),
        card(
            12,
            "question",
            "Orders by month",
            older(
                &json!({"source-table": 1, "aggregation": [["count"]], "breakout": [["field", 15, {"temporal-unit": "month"}]]}),
            ),
        ),
        card(
            15,
            "metric",
            "Open share",
            older(
                &json!({"source-table": 1, "aggregation": [["/", ["metric", 2], ["metric", 1]]], "filter": ["=", field(13), "open"]}),
            ),
        ),
        card(
            16,
            "model",
            "Halved orders",
            older(&json!({"source-table": 1, "expressions": {"Half": ["/", field(11), 2]}})),
        ),
        card(
            13,
            "metric",
            "Chicken",
            older(&json!({"source-table": 1, "aggregation": [["+", ["metric", 14], 1]]})),
        ),
        card(
            14,
            "metric",
            "Egg",
            older(&json!({"source-table": 1, "aggregation": [["+", ["metric", 13], 1]]})),
        ),
    ]
}

pub(crate) fn metadata() -> Value {
    let field =
        |id: u64, name: &str, kind: &str| json!({ "id": id, "name": name, "base_type": kind });
    json!({ "id": 1, "tables": [
        { "id": 1, "name": "orders", "schema": null, "fields": [
            field(11, "id", "type/Integer"), field(12, "buyer", "type/Integer"), field(13, "status", "type/Text"),
            field(14, "amount", "type/Decimal"), field(15, "at", "type/Date"),
            { "id": 16, "name": "paid_at", "base_type": "type/Integer", "coercion_strategy": "Coercion/UNIXSeconds->DateTime" },
        ] },
    ] })
}

#[test]
fn cubes_answer_by_name_without_a_model() {
    let sandbox = project("cube", "cube, source_dir: models");
    insta::assert_snapshot!(transcript(&run(&sandbox, "ingest --facts")), @"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 0 tables	done	-	-	[COMMIT]
    shop	20 definitions	14 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    shop: orders.yml:26: measure `about_buyers` was imported in part: it counts exactly, where Cube estimates
    shop: orders.yml:27: measure `running` was imported in part: a coarser period shows its last value
    shop: orders.yml:28: measure `week` was imported in part: a coarser period shows its last value
    shop: orders.yml:46: measure `latest.people` was not imported: its cube is a query of its own
    shop: orders.yml:29: measure `orders.ahead` was not imported: a rolling window that looks ahead has no counterpart
    shop: orders.yml:30: measure `orders.templated` was not imported: only Cube can write its SQL out
    shop: orders.yml:48: measure `ring_a.turns` was not imported: it extends a cube that is unknown, or itself
    shop: orders.yml:18: column `orders.size` was not imported: a dimension with `case` has no counterpart
    shop: orders.yml:15: join `orders.nowhere` was not imported: the table of the cube `nowhere` is not known
    ");
    assert_eq!(wrong(&sandbox, "cube"), "");
}

pub(crate) fn metabase(cards: Vec<Value>) -> (MetabaseFake, Sandbox) {
    let server = MetabaseFake::start(Analytics {
        databases: vec![(1, "shop", "sqlite")],
        collections: json!([]),
        cards,
        metadata: [(1, metadata())].into(),
        ..Analytics::default()
    })
    .expect("a server");
    let connection = format!(
        "    driver: metabase\n    api_url: {}\n    api_key_ref: env:METABASE_KEY\n    mappings: {{databaseMappings: {{\"1\": warehouse}}}}\n",
        server.address()
    );
    let sandbox = scanned(&connection, ("METABASE_KEY", KEY));
    (server, sandbox)
}

#[test]
fn metrics_and_models_of_metabase_answer_by_name() {
    let (_server, sandbox) = metabase(cards());
    insta::assert_snapshot!(transcript(&run(&sandbox, "ingest bi --facts")), @"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	[COMMIT]
    bi	16 definitions	9 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Metabase
    warning: bi: the SQL of card 5 (`Big orders`): Metabase at 127.0.0.1 answered 500 for `/api/dataset/native`: Unknown table
    warning: bi: the SQL of card 6 (`Of paid orders`): Metabase at 127.0.0.1 answered 500 for `/api/dataset/native`: Unknown table
    bi: databases/1/cards/10.md: measure `By country` was not imported: it joins tables
    bi: databases/1/cards/13.md: measure `Chicken` was not imported: it is built on a metric that was left out
    bi: databases/1/cards/11.md: measure `Deviation` was not imported: the aggregation `stddev` has no counterpart
    bi: databases/1/cards/14.md: measure `Egg` was not imported: it is built on a metric that was left out
    bi: databases/1/cards/9.md: measure `Lately` was not imported: its filter on a time that moves has no counterpart
    bi: databases/1/cards/15.md: measure `Open share` was not imported: it filters the rows of other metrics
    bi: databases/1/cards/12.md: saved query `Orders by month` was not imported: the semantic layer has no place for questions that are asked again
    ");
    let questions = r#"
- {ask: {measures: [orders.revenue, orders.paid_revenue]}, sql: "SELECT sum(amount), sum(CASE WHEN status = 'paid' THEN amount END) FROM orders"}
- {ask: {measures: [orders.not_paid]}, sql: "SELECT count(*) FROM orders WHERE status <> 'paid' OR status IS NULL"}
- {ask: {measures: [orders.paid_share]}, sql: "SELECT 10.0 / 35"}
- {ask: {measures: [orders.big_orders]}, sql: "SELECT count(*) FROM orders WHERE amount > 9"}
- {ask: {measures: [orders.of_paid_orders]}, sql: "SELECT avg(amount) FROM orders WHERE status = 'paid'"}
- {ask: {measures: [orders.revenue], segments: [orders.paid_orders]}, sql: "SELECT sum(amount) FROM orders WHERE status = 'paid' AND buyer IS NOT NULL"}
- {ask: {measures: [orders.revenue], dimensions: [orders.with_tax]}, sql: "SELECT amount * 1.5, sum(amount) FROM orders GROUP BY 1"}
- {ask: {measures: [orders.revenue], dimensions: [orders.half]}, sql: "SELECT id / 2.0, sum(amount) FROM orders GROUP BY 1"}
"#;
    assert_eq!(wrong_answers(&sandbox, questions), "");
    insta::assert_snapshot!(transcript(&run(&sandbox, "ingest bi --facts")).lines().nth(2).expect("a line"), @"bi	facts of 0 tables	done	-	-	nothing changed");
}

#[test]
fn explores_of_looker_answer_by_name() {
    let mut orders = explore(
        "shop",
        "orders",
        "orders",
        &[
            ("status", "string", "${TABLE}.status", "The state."),
            ("buyer", "number", "${TABLE}.buyer", ""),
            ("doubled", "number", "${TABLE}.amount * 2", "Twice."),
            ("revenue", "sum", "${TABLE}.amount", "What was paid."),
            ("twice", "sum", "${doubled}", ""),
            ("paid", "sum", "${TABLE}.amount", ""),
        ],
    );
    for measure in orders["fields"]["measures"]
        .as_array_mut()
        .expect("measures")
    {
        if measure["name"] == "orders.paid" {
            measure["filters"] = json!([{ "field": "orders.status", "condition": "paid" }]);
        }
    }
    let person = |name: &str, sql: &str, key: bool| json!({ "name": format!("people.{name}"), "type": "string", "sql": sql, "primary_key": key, "view": "people" });
    let dimensions = orders["fields"]["dimensions"]
        .as_array_mut()
        .expect("dimensions");
    dimensions.push(person("id", "${TABLE}.id", true));
    dimensions.push(person("country", "${TABLE}.country", false));
    orders["joins"] = json!([
        { "name": "people", "sql_table_name": "people", "type": "left_outer", "relationship": "many_to_one", "sql_on": "${orders.buyer} = ${people.id}" },
    ]);
    let server = LookerFake::start(Instance {
        connections: vec![("shop", "sqlite")],
        models: vec![("shop", vec!["shop"], vec!["orders"])],
        explores: [("/lookml_models/shop/explores/orders".to_owned(), orders)].into(),
        ..Instance::default()
    })
    .expect("a server");
    let sandbox = looker(&server);
    insta::assert_snapshot!(transcript(&run(&sandbox, "ingest bi --facts")), @"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 1 table	done	-	-	[COMMIT]
    bi	5 definitions	5 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Looker
    ");
    let questions = r#"
- {ask: {measures: [orders.revenue, orders.twice, orders.paid]}, sql: "SELECT sum(amount), sum(amount * 2), sum(CASE WHEN status = 'paid' THEN amount END) FROM orders"}
- {ask: {measures: [orders.revenue], dimensions: [people.country]}, sql: "SELECT country, sum(amount) FROM orders JOIN people ON people.id = buyer GROUP BY 1"}
- {ask: {measures: [orders.revenue], dimensions: [orders.doubled]}, sql: "SELECT amount * 2, sum(amount) FROM orders GROUP BY 1"}
"#;
    assert_eq!(wrong_answers(&sandbox, questions), "");
}

fn looker(server: &LookerFake) -> Sandbox {
    let connection = format!(
        "    driver: looker\n    base_url: {}\n    client_id: {CLIENT_ID}\n    client_secret_ref: env:LOOKER_SECRET\n    mappings: {{connectionMappings: {{shop: warehouse}}}}\n",
        server.address()
    );
    scanned(&connection, ("LOOKER_SECRET", SECRET))
}

/// Imports only what both models agree on.
#[test]
fn a_view_that_two_models_define_otherwise_is_left() {
    let fields = |revenue: &'static str, doubled: &'static str| {
        explore(
            "shop",
            "orders",
            "orders",
            &[
                ("status", "string", "${TABLE}.status", revenue),
                ("doubled", "number", doubled, ""),
                ("revenue", "sum", revenue, ""),
                ("count", "count", "", ""),
                ("of_doubled", "sum", "${doubled}", ""),
            ],
        )
    };
    let server = LookerFake::start(Instance {
        connections: vec![("shop", "sqlite")],
        models: vec![
            ("finance", vec!["shop"], vec!["orders"]),
            ("sales", vec!["shop"], vec!["orders"]),
        ],
        explores: [
            (
                "/lookml_models/finance/explores/orders".to_owned(),
                fields("${TABLE}.amount", "${TABLE}.amount * 2"),
            ),
            (
                "/lookml_models/sales/explores/orders".to_owned(),
                fields("${TABLE}.amount * 1.19", "${TABLE}.id * 2"),
            ),
        ]
        .into(),
        ..Instance::default()
    })
    .expect("a server");
    let sandbox = looker(&server);
    insta::assert_snapshot!(transcript(&run(&sandbox, "ingest bi --facts")), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 1 table	done	-	-	[COMMIT]
    bi	6 definitions	1 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Looker
    bi: explores/finance/orders.yaml: measure `orders.of_doubled` was not imported: there is no dimension `orders.doubled`
    bi: explores/finance/orders.yaml: measure `orders.revenue` was not imported: the model `sales` defines another one of this name
    bi: explores/sales/orders.yaml: measure `orders.revenue` was not imported: the model `finance` defines another one of this name
    bi: explores/finance/orders.yaml: column `orders.doubled` was not imported: the model `sales` defines another one of this name
    bi: explores/sales/orders.yaml: column `orders.doubled` was not imported: the model `finance` defines another one of this name
    ");
    let file = "semantic-layer/warehouse/_imports/bi/orders.yaml";
    insta::assert_snapshot!(sandbox.read(file).expect("an import"), @r"
    name: orders
    measures:
    - name: count
      expr: count(*)
    ");
}
