//! `ktx sl validate --live`: sources that contradict the warehouse.

use ktx_test_support::services::{Service, ServiceName, service};

use crate::support::{SHOP, database, json, run, shop, unscanned, write};

#[test]
fn a_sound_project_is_sound_on_the_warehouse() {
    let sandbox = shop();
    check!(&sandbox, "sl validate --live", @r"
exit 0
warehouse: 3 sources are valid
warehouse: the warehouse answered 14 questions, keys in at most 100000 rows of each source
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl validate --live orders --sample 3", @r"
exit 0
Valid semantic-layer source: warehouse/orders
warehouse: the warehouse answered 6 questions, keys in at most 3 rows of each source
--- stderr
Project: [SANDBOX]/work
");
    let audit = sandbox.read(".ktx/state/audit.jsonl").unwrap();
    assert!(audit.lines().count() > 5 && audit.contains(r#""tool":"sl_validate""#));
}

#[test]
fn what_the_warehouse_says_otherwise_is_found_with_its_place() {
    let sandbox = shop();
    std::fs::remove_file(sandbox.work().join("warehouse.db")).unwrap();
    database(
        &sandbox,
        "warehouse.db",
        &SHOP
            .replace("status TEXT NOT NULL", "state TEXT NOT NULL")
            .replace("id INTEGER PRIMARY KEY, region_id", "id INTEGER, region_id")
            .replace("(4, 2, 'Dag', 1)", "(3, 2, 'Dag', 1)"),
    );
    write(
        &sandbox,
        "semantic-layer/warehouse/big.yaml",
        "name: big\nsql: select id, amout from orders\ngrain: [id]\ncolumns:\n  - name: id\n    type: number\n  - name: amout\n    type: number\n",
    );
    write(
        &sandbox,
        "semantic-layer/warehouse/gone.yaml",
        "name: gone\ntable: nowhere\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n",
    );
    write(
        &sandbox,
        "semantic-layer/warehouse/typed.yaml",
        "name: typed\nsql: select id, name from regions\ngrain: [name]\ncolumns:\n  - {name: id, type: string}\n  - {name: name, type: number}\n",
    );
    check!(&sandbox, "sl validate --live", @"
    exit 3
    warehouse: 8 errors, 3 warnings
    warehouse: the warehouse answered 18 questions, keys in at most 100000 rows of each source
    --- stderr
    Project: [SANDBOX]/work
    warning: semantic-layer/warehouse/: disconnected_components: the sources form 4 groups without a join between them, such as those of `big`, `customers`, `gone`, `typed`
    error: semantic-layer/warehouse/big.yaml:2:1: relation_not_readable: the query: no such column: amout
    error: semantic-layer/warehouse/_schema/public.yaml:2:3: grain_not_unique: grain: one row per id, but `3` is in 2 rows
    error: semantic-layer/warehouse/_schema/public.yaml:24:9: join_finds_several: join to `orders`: at most one row of customers per id, but `3` is in 2 rows
    error: semantic-layer/warehouse/gone.yaml:2:1: relation_not_readable: table `nowhere`: no such table: nowhere
    error: semantic-layer/warehouse/_schema/public.yaml:38:9: unknown_column: column `status` is not in table `orders`; did you mean `state`
    error: semantic-layer/warehouse/_schema/public.yaml:48:9: join_finds_several: join to `customers`: at most one row of customers per id, but `3` is in 2 rows
    error: semantic-layer/warehouse/orders.yaml:16:5: segment_fails: segment `paid`: no such column: orders.status
    error: semantic-layer/warehouse/orders.yaml:9:5: measure_fails: measure `revenue`: no such column: orders.status
    warning: semantic-layer/warehouse/typed.yaml:5:6: type_mismatch: column `id` is declared as string, the warehouse has `INTEGER`
    warning: semantic-layer/warehouse/typed.yaml:6:6: type_mismatch: column `name` is declared as number, the warehouse has `TEXT`
    ");
    check!(&sandbox, "sl validate --live typed --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "connectionId": "warehouse",
        "sourceName": "typed",
        "sourceCount": 1,
        "valid": true,
        "errors": [],
        "warnings": [
          {
            "path": null,
            "source": null,
            "kind": "disconnected_components",
            "message": "the sources form 4 groups without a join between them, such as those of `big`, `customers`, `gone`, `typed`"
          }
        ],
        "live": {
          "looked": "everything",
          "questions": 2,
          "sample": 100000,
          "findings": [
            {
              "severity": "warning",
              "kind": "type_mismatch",
              "message": "column `id` is declared as string, the warehouse has `INTEGER`",
              "source": "typed",
              "path": "semantic-layer/warehouse/typed.yaml",
              "line": 5,
              "column": 6
            },
            {
              "severity": "warning",
              "kind": "type_mismatch",
              "message": "column `name` is declared as number, the warehouse has `TEXT`",
              "source": "typed",
              "path": "semantic-layer/warehouse/typed.yaml",
              "line": 6,
              "column": 6
            }
          ],
          "notLookedAt": [],
          "notChecked": [],
          "reason": null,
          "hint": null
        }
      }
    ]
  },
  "meta": {
    "command": "sl validate"
  }
}
"#);
}

#[test]
fn a_warehouse_that_cannot_be_reached_says_nothing_about_sources() {
    let sandbox = shop();
    std::fs::remove_file(sandbox.work().join("warehouse.db")).unwrap();
    check!(&sandbox, "sl validate --live --all", @r"
exit 4
warehouse: 3 sources are valid
warehouse: the warehouse could not be looked at after 0 questions
--- stderr
Project: [SANDBOX]/work
could not look: warehouse: the database file `[SANDBOX]/work/warehouse.db` does not exist
hint: correct `path`; a relative path starts at the project folder
");
    let printed = run(&sandbox, "sl validate --live orders --json");
    assert_eq!(printed.code, Some(4), "{printed}");
    let answer: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    let item = &answer["data"]["items"][0];
    assert_eq!(item["valid"], true);
    assert_eq!(item["live"]["looked"], "could_not_look");
}

#[test]
fn sources_with_errors_are_not_asked_about() {
    let sandbox = shop();
    write(
        &sandbox,
        "semantic-layer/warehouse/orders.yaml",
        "name: orders\nmeasures:\n  - {name: money, expr: sum(amoun)}\n",
    );
    check!(&sandbox, "sl validate --live orders", @r"
exit 3
warehouse: 1 error, 0 warnings
warehouse: the warehouse answered 0 questions, keys in at most 100000 rows of each source; 1 not looked at
--- stderr
Project: [SANDBOX]/work
error: semantic-layer/warehouse/orders.yaml:3:6: unknown_column: measure `money`: unknown column `orders.amoun`; did you mean `orders.amount`
not looked at: warehouse/orders: everything: its files have errors
");
}

const POSTGRES: &str = "
CREATE TABLE regions (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE customers (id int, region_id text, name text NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL, amount numeric(10, 2), placed_at timestamptz);
INSERT INTO regions VALUES (1, 'North'), (2, 'South');
INSERT INTO customers VALUES (1, '1', 'Ada'), (1, '2', 'Ben');
INSERT INTO orders VALUES (1, 1, 10.5, '2026-01-05'), (2, 1, 2.5, '2026-02-05');
";

const SOURCES: [(&str, &str); 3] = [
    (
        "customers",
        "name: customers\ntable: public.customers\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: region_id, type: number}\n  - {name: name, type: string}\njoins:\n  - to: regions\n    on: region_id = regions.id\n    relationship: many_to_one\n",
    ),
    (
        "orders",
        "name: orders\ntable: public.orders\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: customer_id, type: number}\n  - {name: amount, type: number}\n  - {name: placed_at, type: string}\njoins:\n  - {to: customers, on: customer_id = customers.id, relationship: many_to_one}\nmeasures:\n  - {name: money, expr: sum(amount)}\n  - {name: typed, expr: sum(amount || 'x')}\n",
    ),
    (
        "regions",
        "name: regions\ntable: public.regions\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: name, type: string}\n",
    ),
];

#[test]
fn postgres_is_asked_as_well() {
    let Service::Available(url) = service(ServiceName::Postgres) else {
        return;
    };
    let sandbox = unscanned("");
    let database = postgres(&url);
    write(
        &sandbox,
        "ktx.yaml",
        &format!("connections:\n  warehouse:\n    driver: postgres\n    url: {database}\n"),
    );
    for (name, text) in SOURCES {
        write(
            &sandbox,
            &format!("semantic-layer/warehouse/{name}.yaml"),
            text,
        );
    }
    check!(&sandbox, "sl validate --live", @r"
exit 3
warehouse: 5 errors, 1 warning
warehouse: the warehouse answered 9 questions, keys in at most 100000 rows of each source
--- stderr
Project: [SANDBOX]/work
warning: ktx.yaml:4:10: `connections.warehouse.url` holds a secret as plain text, and the file is in git
error: semantic-layer/warehouse/customers.yaml:6:6: type_mismatch: column `region_id` is declared as number, the warehouse has `text`
error: semantic-layer/warehouse/customers.yaml:3:1: grain_not_unique: grain: one row per id, but `1` is in 2 rows
error: semantic-layer/warehouse/customers.yaml:9:5: join_fails: join to `regions`: operator does not exist: text = integer (at character 182)
warning: semantic-layer/warehouse/orders.yaml:8:6: type_mismatch: column `placed_at` is declared as string, the warehouse has `timestamp with time zone`
error: semantic-layer/warehouse/orders.yaml:10:6: join_finds_several: join to `customers`: at most one row of customers per id, but `1` is in 2 rows
error: semantic-layer/warehouse/orders.yaml:13:6: measure_fails: measure `typed`: function sum(text) does not exist (at character 29)
");
    let answer = json(&sandbox, "sl validate --live regions --json");
    assert_eq!(answer["data"]["items"][0]["live"]["looked"], "everything");
}

fn postgres(url: &str) -> String {
    let mut config: tokio_postgres::Config = url.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        for sql in [
            "DROP DATABASE IF EXISTS ktx_live",
            "CREATE DATABASE ktx_live",
        ] {
            postgres_session(&config)
                .await
                .batch_execute(sql)
                .await
                .unwrap();
        }
        config.dbname("ktx_live");
        let session = postgres_session(&config).await;
        session.batch_execute(POSTGRES).await.unwrap();
    });
    let (front, _) = url.rsplit_once('/').unwrap();
    format!("{front}/ktx_live")
}

async fn postgres_session(config: &tokio_postgres::Config) -> tokio_postgres::Client {
    let (client, session) = config.connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(session);
    client
}

/// The replaced join is reported.
#[test]
fn an_overlay_join_that_contradicts_a_scanned_one_replaces_it() {
    let sandbox = shop();
    let orders = sandbox
        .read("semantic-layer/warehouse/orders.yaml")
        .unwrap();
    let joins = "joins:
  - to: customers
    on: orders.customer_id = customers.id
    relationship: one_to_one
";
    write(
        &sandbox,
        "semantic-layer/warehouse/orders.yaml",
        &format!("{orders}{joins}"),
    );
    let validated = run(&sandbox, "sl validate");
    assert_eq!(validated.code, Some(0), "{validated}");
    let told = "warning: semantic-layer/warehouse/orders.yaml:19:5: replaced_join: join \
                `orders.customer_id = customers.id` says one_to_one and replaces the scanned join to `customers`, \
                which says many_to_one";
    assert!(
        validated.stderr.lines().any(|line| line == told),
        "{validated}"
    );
    for (source, other) in [("orders", "customers"), ("customers", "orders")] {
        let read = run(&sandbox, &format!("sl read {source}")).stdout;
        let joins: Vec<&str> = read
            .split("- to: ")
            .filter(|part| part.starts_with(other))
            .collect();
        let is_scanned = |join: &&str| !join.contains("relationship: one_to_one");
        assert!(!joins.iter().any(is_scanned), "{read}");
    }
}

#[test]
fn joins_that_the_scan_has_written_are_validated_in_silence() {
    let sandbox = unscanned(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE letters (id INTEGER PRIMARY KEY, sender_id INTEGER NOT NULL REFERENCES people (id),
           reader_id INTEGER NOT NULL REFERENCES people (id));
         INSERT INTO people VALUES (1, 'Ada'), (2, 'Ben');
         INSERT INTO letters VALUES (1, 1, 2), (2, 2, 1);",
    );
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    check!(&sandbox, "sl validate", @r"
exit 0
warehouse: 2 sources are valid
--- stderr
Project: [SANDBOX]/work
");
    write(
        &sandbox,
        "semantic-layer/warehouse/letters.yaml",
        "name: letters\ndisable_joins: [letters.reader_id = people.id]\njoins:\n  - to: people\n    on: letters.id = people.id\n    relationship: many_to_one\n",
    );
    let validated = run(&sandbox, "sl validate");
    assert!(validated.stderr.contains("ambiguous_join"), "{validated}");
}
