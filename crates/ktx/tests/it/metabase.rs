//! `ktx ingest` of Metabase.

use ktx_test_support::metabase_fake::{Analytics, KEY, MetabaseFake, written};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::processes;
use crate::sources::{Script, locally};
use crate::support::{commit, git, run, tree, unscanned, write};

const ORDERS: &str =
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, status TEXT NOT NULL);";

fn analytics() -> Analytics {
    let sql = "select sum(amount) from orders where status = 'paid' -- password=hunter2hunter2";
    Analytics {
        databases: vec![
            (1, "shop", "postgres"),
            (2, "crm", "mysql"),
            (3, "old", "h2"),
        ],
        collections: json!([{ "id": 10, "name": "Finance", "children": [] }]),
        cards: vec![
            written(1, "Revenue", (1, Some(10)), sql),
            written(2, "Orders", (1, None), "select count(*) from orders"),
            written(3, "Customers", (2, None), "select count(*) from customers"),
        ],
        ..Analytics::default()
    }
}

fn config(server: &MetabaseFake, mappings: &str) -> String {
    format!(
        "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
  crm:
    driver: sqlite
    path: warehouse.db
  bi:
    driver: metabase
    api_url: {}
    api_key_ref: env:METABASE_KEY
    mappings: {mappings}
llm:
  provider:
    backend: claude-code
",
        server.address()
    )
}

const MAPPED: &str = r#"{databaseMappings: {"1": warehouse, "2": crm, "3": null}}"#;

fn project(server: &MetabaseFake, mappings: &str) -> Sandbox {
    let mut sandbox = unscanned(ORDERS);
    write(&sandbox, "ktx.yaml", &config(server, mappings));
    commit(&sandbox, "config");
    sandbox.set("METABASE_KEY", KEY);
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    sandbox
}

fn page(key: &str, words: &str) -> (&'static str, Value) {
    let input = json!({ "key": key, "summary": words, "content": words });
    ("wiki_write", input)
}

fn script() -> Script {
    let yaml = "name: orders\nmeasures:\n  - name: revenue\n    expr: sum(amount)\n    filter: status = 'paid'\n";
    let measure = json!({ "source_name": "orders", "yaml": yaml });
    vec![
        (
            "Unit metabase-db-1-col-root of",
            vec![page("order-counts", "How orders are counted.")],
        ),
        (
            "Unit metabase-db-1-col-10 of",
            vec![
                ("sl_write_source", measure),
                page("revenue-policy", "Revenue is what was paid."),
            ],
        ),
        (
            "Unit metabase-db-2-col-root of",
            vec![page("customer-counts", "How customers are counted.")],
        ),
        (
            "files that are gone: databases/1/cards/2.md",
            vec![("wiki_remove", json!({ "key": "order-counts" }))],
        ),
    ]
}

/// KTX-05: only renamed cards are asked again; reconciliation learns of archived cards, not
/// unreadable ones.
#[test]
fn cards_become_pages_and_measures_of_their_warehouse() {
    let server = MetabaseFake::start(analytics()).expect("a server");
    let sandbox = locally(project(&server, MAPPED), &script());
    check!(&sandbox, "ingest bi", @"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	2 definitions	0 imported	-	-	-
    bi	shop: Our analytics	done	order-counts	-	[COMMIT]
    bi	shop: Finance	done	revenue-policy	orders	[COMMIT]
    bi	reconciliation	done	-	-	nothing to keep
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	1 definition	0 imported	-	-	-
    bi	crm: Our analytics	done	customer-counts	-	[COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Metabase
    [1/2] bi · shop: Our analytics
    [1/2] bi · shop: Our analytics · turn 1 of 40
    [1/2] bi · shop: Our analytics · turn 2 of 40
    [2/2] bi · shop: Finance
    [2/2] bi · shop: Finance · turn 1 of 40
    [2/2] bi · shop: Finance · turn 2 of 40
    [2/2] bi · shop: Finance · turn 3 of 40
    bi · reconciliation
    bi · reconciliation · turn 1 of 60
    [1/1] bi · crm: Our analytics
    [1/1] bi · crm: Our analytics · turn 1 of 40
    [1/1] bi · crm: Our analytics · turn 2 of 40
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    warning: bi: the database 3 (`old`, h2) is mapped to no warehouse and was not read
    bi: databases/1/cards/2.md: saved query `Orders` was not imported: the semantic layer has no place for questions that are asked again
    bi: databases/1/cards/1.md: saved query `Revenue` was not imported: the semantic layer has no place for questions that are asked again
    bi: databases/2/cards/3.md: saved query `Customers` was not imported: the semantic layer has no place for questions that are asked again
    9 model messages, 1233 tokens in, 180 out, list price unknown
    ");
    let measures = sandbox.read("semantic-layer/warehouse/orders.yaml");
    assert!(measures.expect("the measure").contains("revenue"));
    let asked = processes(&sandbox);
    check!(&sandbox, "ingest bi", @"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	2 definitions	0 imported	-	-	-
    bi	shop: Our analytics	unchanged	order-counts	-	[COMMIT]
    bi	shop: Finance	unchanged	revenue-policy	orders	[COMMIT]
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	1 definition	0 imported	-	-	-
    bi	crm: Our analytics	unchanged	customer-counts	-	[COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Metabase
    warning: bi: the database 3 (`old`, h2) is mapped to no warehouse and was not read
    bi: databases/1/cards/2.md: saved query `Orders` was not imported: the semantic layer has no place for questions that are asked again
    bi: databases/1/cards/1.md: saved query `Revenue` was not imported: the semantic layer has no place for questions that are asked again
    bi: databases/2/cards/3.md: saved query `Customers` was not imported: the semantic layer has no place for questions that are asked again
    ");
    assert_eq!(processes(&sandbox), asked);
    server.change(|all| {
        all.cards[2]["name"] = json!("All customers");
        all.broken = [1].into();
    });
    let printed = run(&sandbox, "ingest bi");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(
        printed
            .stdout
            .contains("bi\tshop: Our analytics\tunchanged\torder-counts"),
        "{printed}"
    );
    assert!(
        printed.stdout.contains("bi\tcrm: Our analytics\tdone\t-"),
        "{printed}"
    );
    assert!(sandbox.read("wiki/global/revenue-policy.md").is_ok());
    server.change(|all| {
        all.broken.clear();
        all.cards[1]["archived"] = json!(true);
    });
    let printed = run(&sandbox, "ingest bi");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(
        sandbox.read("wiki/global/order-counts.md").is_err(),
        "{printed}"
    );
    assert!(sandbox.read("wiki/global/revenue-policy.md").is_ok());
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    let files = tree(&sandbox).into_values().flatten().collect::<Vec<u8>>();
    let record = std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap_or_default();
    let all = format!("{record}{}", String::from_utf8_lossy(&files));
    for secret in [KEY, "hunter2hunter2"] {
        assert!(!all.contains(secret), "{secret}");
    }
}

#[test]
fn one_warehouse_is_read_alone() {
    let server = MetabaseFake::start(analytics()).expect("a server");
    let sandbox = locally(project(&server, MAPPED), &script());
    let printed = run(&sandbox, "ingest bi --connection-id crm --json");
    assert_eq!(printed.code, Some(0), "{printed}");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let results = answer["results"].as_array().expect("results");
    let keys: Vec<&Value> = results
        .iter()
        .flat_map(|result| result["units"].as_array().expect("units"))
        .map(|unit| &unit["unitKey"])
        .collect();
    assert_eq!(keys, ["metabase-db-2-col-root"]);
}

#[test]
fn bad_settings_cost_nothing() {
    let server = MetabaseFake::start(analytics()).expect("a server");
    let mut sandbox = locally(project(&server, MAPPED), &script());
    check!(&sandbox, "connection test bi", @r"
exit 0
Connection test passed: bi
Driver: metabase
Status: ok
Server: Databases: 3
Latency: [DURATION]
Role: unknown (the server does not report what the key may do; ktx only reads)
--- stderr
Project: [SANDBOX]/work
");
    for (mappings, line) in [
        ("{}", "ingest bi"),
        (r#"{databaseMappings: {"1": nowhere}}"#, "ingest bi"),
        (r#"{databaseMappings: {"1": bi}}"#, "ingest bi"),
    ] {
        write(&sandbox, "ktx.yaml", &config(&server, mappings));
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(3), "{printed}");
    }
    check!(&sandbox, "ingest bi", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `connections.bi.mappings.databaseMappings.1`: there is no warehouse `bi`

hint: `ktx connection list` shows the connections
");
    write(&sandbox, "ktx.yaml", &config(&server, "{}"));
    check!(&sandbox, "ingest bi", @r#"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `connections.bi.mappings.databaseMappings` names no database that is read; the server has 1 (`shop`, postgres), 2 (`crm`, mysql), 3 (`old`, h2)

hint: write `mappings: {databaseMappings: {"1": <warehouse>}}` below the connection; a database without a warehouse, or switched off by `syncEnabled`, is not read
"#);
    write(&sandbox, "ktx.yaml", &config(&server, MAPPED));
    check!(&sandbox, "ingest bi --connection-id nope", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `bi` maps no database to `nope`

hint: look at `connections.bi.mappings.databaseMappings`
");
    sandbox.set("METABASE_KEY", "mb_another_key_0123456789");
    check!(&sandbox, "ingest bi", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: `bi` cannot be read
  caused by: Metabase at 127.0.0.1 answered 401 for `/api/database`

hint: set `connections.bi.api_key_ref` to a key of a group that may see the collections
");
    assert_eq!(processes(&sandbox), 0);
}
