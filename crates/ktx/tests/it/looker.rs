//! `ktx ingest` of Looker.

use ktx_test_support::looker_fake::{
    CLIENT_ID, Instance, LookerFake, SECRET, TOKEN, dashboard, explore,
};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::processes;
use crate::sources::{Script, locally};
use crate::support::{check, commit, git, run, tree, unscanned, write};

const ORDERS: &str =
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, status TEXT NOT NULL);";

const SHOP_ORDERS: &str = "/lookml_models/shop/explores/orders";

fn instance() -> Instance {
    let orders = explore(
        "shop_prod",
        "orders",
        "orders",
        &[
            (
                "status",
                "string",
                "${TABLE}.status",
                "The state. Refunds are not revenue.",
            ),
            (
                "amount",
                "number",
                "${TABLE}.amount",
                "password=hunter2hunter2",
            ),
            ("revenue", "sum", "${TABLE}.amount", "What was paid."),
        ],
    );
    let people = explore("crm_prod", "people", "orders", &[]);
    let ask: &[(&str, &str, &[&str])] = &[("shop", "orders", &["orders.revenue"])];
    Instance {
        connections: vec![
            ("shop_prod", "postgres"),
            ("crm_prod", "mysql"),
            ("old", "mysql"),
        ],
        models: vec![
            ("shop", vec!["shop_prod"], vec!["orders"]),
            ("crm", vec!["crm_prod"], vec!["people"]),
            ("old", vec!["old"], vec!["things"]),
        ],
        explores: [
            (SHOP_ORDERS.to_owned(), orders),
            ("/lookml_models/crm/explores/people".to_owned(), people),
        ]
        .into(),
        dashboards: vec![
            dashboard("1", "Revenue", ask),
            dashboard("2", "Orders", ask),
        ],
        ..Instance::default()
    }
}

fn config(server: &LookerFake, mappings: &str) -> String {
    format!(
        "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
  crm:
    driver: sqlite
    path: warehouse.db
  bi:
    driver: looker
    base_url: {}
    client_id: {CLIENT_ID}
    client_secret_ref: env:LOOKER_SECRET
    mappings: {mappings}
llm:
  provider:
    backend: claude-code
",
        server.address()
    )
}

const MAPPED: &str = "{connectionMappings: {shop_prod: warehouse, crm_prod: crm, old: null}}";

fn project(server: &LookerFake, mappings: &str) -> Sandbox {
    let mut sandbox = unscanned(ORDERS);
    write(&sandbox, "ktx.yaml", &config(server, mappings));
    commit(&sandbox, "config");
    sandbox.set("LOOKER_SECRET", SECRET);
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
            "Unit looker.warehouse.explore.shop.orders of",
            vec![
                ("sl_write_source", measure),
                page("revenue-policy", "Revenue is what was paid."),
            ],
        ),
        (
            "Unit looker.warehouse.dashboards.shop.orders of",
            vec![page("boards", "What is looked at.")],
        ),
        (
            "Unit looker.crm.explore.crm.people of",
            vec![page("people", "Who they are.")],
        ),
        (
            "files that are gone: dashboards/2.yaml",
            vec![("wiki_remove", json!({ "key": "boards" }))],
        ),
    ]
}

const FIRST: &str = r"
exit 0
Source	Unit	Status	Pages	Sources	Commit
bi	facts of 0 tables	done	-	-	nothing changed
bi	explore crm.people	done	people	-	[COMMIT]
bi	facts of 1 table	done	-	-	[COMMIT]
bi	1 definition	1 imported	-	-	-
bi	explore shop.orders	done	revenue-policy	orders	[COMMIT]
bi	dashboards of shop.orders	done	boards	-	[COMMIT]
bi	reconciliation	done	-	-	nothing to keep
--- stderr
Project: [SANDBOX]/work
bi: reading Looker
[1/1] bi · explore crm.people
[1/1] bi · explore crm.people · turn 1 of 40
[1/1] bi · explore crm.people · turn 2 of 40
[1/2] bi · explore shop.orders
[1/2] bi · explore shop.orders · turn 1 of 40
[1/2] bi · explore shop.orders · turn 2 of 40
[1/2] bi · explore shop.orders · turn 3 of 40
[2/2] bi · dashboards of shop.orders
[2/2] bi · dashboards of shop.orders · turn 1 of 40
[2/2] bi · dashboards of shop.orders · turn 2 of 40
bi · reconciliation
bi · reconciliation · turn 1 of 60
warning: the model `fake-sonnet` has no list price; what it costs is unknown
warning: bi: the connection `old` is mapped to no warehouse: what is about it was not read
warning: bi: the description of `orders.amount` looks like a password or key and was left out
9 model messages, 1233 tokens in, 180 out, list price unknown
";

/// KTX-05: unchanged content is not asked again.
#[test]
fn explores_become_facts_pages_and_measures_of_their_warehouse() {
    let server = LookerFake::start(instance()).expect("a server");
    let sandbox = locally(project(&server, MAPPED), &script());
    check(&sandbox, "ingest bi", FIRST);
    let shard = git(
        &sandbox,
        &["show", "HEAD:semantic-layer/warehouse/_schema/public.yaml"],
    );
    assert!(
        shard.contains("looker: The state. Refunds are not revenue."),
        "{shard}"
    );
    let measures = sandbox.read("semantic-layer/warehouse/orders.yaml");
    assert!(measures.expect("the measure").contains("revenue"));
    let asked = processes(&sandbox);
    check!(&sandbox, "ingest bi", @"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	explore crm.people	unchanged	people	-	[COMMIT]
    bi	facts of 1 table	done	-	-	nothing changed
    bi	1 definition	0 imported	-	-	-
    bi	explore shop.orders	unchanged	revenue-policy	orders	[COMMIT]
    bi	dashboards of shop.orders	unchanged	boards	-	[COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Looker
    warning: bi: the connection `old` is mapped to no warehouse: what is about it was not read
    warning: bi: the description of `orders.amount` looks like a password or key and was left out
    bi: explores/shop/orders.yaml: measure `revenue` was not imported: `orders.yaml` defines a measure of this name, which counts
    ");
    assert_eq!(processes(&sandbox), asked);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    let files = tree(&sandbox).into_values().flatten().collect::<Vec<u8>>();
    let record = std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap_or_default();
    let logs = git(&sandbox, &["log", "-p"]);
    let all = format!("{record}{logs}{}", String::from_utf8_lossy(&files));
    for secret in [SECRET, TOKEN, "hunter2hunter2"] {
        assert!(!all.contains(secret), "{secret}");
    }
}

/// Unreadable content stays; reconciliation learns of deletions.
#[test]
fn what_changes_is_read_again_and_what_fails_is_kept() {
    let server = LookerFake::start(instance()).expect("a server");
    let sandbox = locally(project(&server, MAPPED), &script());
    assert_eq!(run(&sandbox, "ingest bi").code, Some(0));
    let asked = processes(&sandbox);
    server.change(|all| {
        let trouble = [
            ("/dashboards/1", 500),
            ("/dashboards/2", 403),
            (SHOP_ORDERS, 404),
        ];
        all.troubles = trouble
            .map(|(path, status)| (path.to_owned(), status))
            .into();
    });
    check!(&sandbox, "ingest bi", @"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	explore crm.people	unchanged	people	-	[COMMIT]
    bi	facts of 1 table	done	-	-	nothing changed
    bi	1 definition	0 imported	-	-	-
    bi	explore shop.orders	unchanged	revenue-policy	orders	[COMMIT]
    bi	dashboards of shop.orders	unchanged	boards	-	[COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Looker
    warning: bi: `explores/shop/orders.yaml` was not read, and counts as it was before: Looker at 127.0.0.1 answered 404 for `/lookml_models/shop/explores/orders`: Something is wrong
    warning: bi: `dashboards/1.yaml` was not read, and counts as it was before: Looker at 127.0.0.1 answered 500 for `/dashboards/1`: Something is wrong
    warning: bi: `dashboards/2.yaml` was not read, and counts as it was before: Looker at 127.0.0.1 answered 403 for `/dashboards/2`: Something is wrong
    warning: bi: the connection `old` is mapped to no warehouse: what is about it was not read
    warning: bi: the description of `orders.amount` looks like a password or key and was left out
    bi: explores/shop/orders.yaml: measure `revenue` was not imported: `orders.yaml` defines a measure of this name, which counts
    ");
    // A clone has no copy, but nothing counts as gone.
    std::fs::remove_dir_all(sandbox.work().join(".ktx/cache")).expect("the cache");
    let printed = run(&sandbox, "ingest bi");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(
        printed
            .stderr
            .contains("`dashboards/2.yaml` was not read: Looker at 127.0.0.1 answered 403"),
        "{printed}"
    );
    assert_eq!(processes(&sandbox), asked);
    assert!(sandbox.read("wiki/global/boards.md").is_ok());
    server.change(|all| {
        all.troubles.clear();
        let orders = all.explores.get_mut(SHOP_ORDERS).expect("an explore");
        orders["fields"]["measures"][0]["sql"] = json!("${TABLE}.amount / 100");
    });
    let printed = run(&sandbox, "ingest bi");
    assert_eq!(printed.code, Some(0), "{printed}");
    for line in [
        "bi\texplore shop.orders\tdone\t",
        "bi\tdashboards of shop.orders\tunchanged\tboards\t",
        "bi\texplore crm.people\tunchanged\tpeople\t",
    ] {
        assert!(printed.stdout.contains(line), "{printed}");
    }
    server.change(|all| all.dashboards[1]["deleted"] = json!(true));
    let printed = run(&sandbox, "ingest bi");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read("wiki/global/boards.md").is_err(), "{printed}");
    assert!(sandbox.read("wiki/global/revenue-policy.md").is_ok());
}

#[test]
fn one_warehouse_is_read_alone() {
    let mut instance = instance();
    instance.token_lasts = Some(2);
    let server = LookerFake::start(instance).expect("a server");
    let sandbox = locally(project(&server, MAPPED), &script());
    let printed = run(&sandbox, "ingest bi --connection-id crm --json");
    assert_eq!(printed.code, Some(0), "{printed}");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let target = &answer["plan"]["targets"][0];
    assert_eq!(
        (&target["driver"], &target["adapter"]),
        (&json!("looker"), &json!("looker"))
    );
    let results = answer["results"].as_array().expect("results");
    let keys: Vec<&Value> = results
        .iter()
        .flat_map(|result| result["units"].as_array().expect("units"))
        .map(|unit| &unit["unitKey"])
        .collect();
    assert_eq!(keys, ["looker.crm.explore.crm.people"]);
}

#[test]
fn bad_mappings_cost_nothing() {
    let server = LookerFake::start(instance()).expect("a server");
    let sandbox = locally(project(&server, MAPPED), &script());
    check!(&sandbox, "connection test bi", @r"
exit 0
Connection test passed: bi
Driver: looker
Status: ok
Server: User: Ada Lovelace
Latency: [DURATION]
Role: unknown (the server does not report what the key may do; ktx only reads)
--- stderr
Project: [SANDBOX]/work
");
    let bad = MAPPED.replace("warehouse", "bi");
    write(&sandbox, "ktx.yaml", &config(&server, &bad));
    check!(&sandbox, "ingest bi", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `connections.bi.mappings.connectionMappings.shop_prod`: there is no warehouse `bi`

hint: `ktx connection list` shows the connections
");
    write(&sandbox, "ktx.yaml", &config(&server, "{}"));
    check!(&sandbox, "ingest bi", @r#"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `connections.bi.mappings.connectionMappings` names no connection of Looker that is read; the server has `crm_prod` (mysql), `old` (mysql), `shop_prod` (postgres)

hint: write `mappings: {connectionMappings: {"crm_prod": <warehouse>}}` below the connection; what is about a connection without a warehouse is not read
"#);
    let gone = "{connectionMappings: {gone: warehouse}}";
    write(&sandbox, "ktx.yaml", &config(&server, gone));
    check!(&sandbox, "ingest bi", @r"
exit 0
Source	Unit	Status	Pages	Sources	Commit
bi	facts of 0 tables	done	-	-	nothing changed
--- stderr
Project: [SANDBOX]/work
bi: reading Looker
warning: bi: 2 dashboards and looks use no mapped connection: they were not read
warning: bi: the connection `crm_prod` is mapped to no warehouse: what is about it was not read
warning: bi: the connection `old` is mapped to no warehouse: what is about it was not read
warning: bi: the connection `shop_prod` is mapped to no warehouse: what is about it was not read
warning: bi: the server has no connection `gone`, or not for this key
");
    assert_eq!(processes(&sandbox), 0);
}

#[test]
fn a_bad_key_costs_nothing() {
    let server = LookerFake::start(instance()).expect("a server");
    let mut sandbox = locally(project(&server, MAPPED), &script());
    check!(&sandbox, "ingest bi --connection-id nope", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `bi` maps no connection of Looker to `nope`

hint: look at `connections.bi.mappings.connectionMappings`
");
    server.change(|all| {
        all.troubles = [("/folders".to_owned(), 403)].into();
    });
    check!(&sandbox, "ingest bi", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
bi: reading Looker
error: `bi` cannot be read
  caused by: Looker at 127.0.0.1 answered 403 for `/folders`: Something is wrong

hint: give the user of `connections.bi.client_id` the permissions `see_lookml`, `see_looks` and `see_user_dashboards`
");
    sandbox.set("LOOKER_SECRET", "another-secret-0123456789");
    check!(&sandbox, "ingest bi", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: `bi` cannot be read
  caused by: Looker at 127.0.0.1 answered 401 for `/login`: Requires authentication.

hint: set `connections.bi.client_id` and `client_secret_ref` to an API key that is still valid, and `base_url` to the address of its Looker server
");
    let place = server.address();
    let elsewhere = config(&server, MAPPED).replace(&place, &format!("{place}/elsewhere"));
    write(&sandbox, "ktx.yaml", &elsewhere);
    check!(&sandbox, "connection test bi", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: `bi` cannot be read
  caused by: Looker at 127.0.0.1 answered 404 for `/login`: Not found

hint: set `connections.bi.client_id` and `client_secret_ref` to an API key that is still valid, and `base_url` to the address of its Looker server
");
    assert_eq!(processes(&sandbox), 0);
}
