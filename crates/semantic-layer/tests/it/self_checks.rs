//! Generated self-tests on SQLite.

use ktx_semantic_layer::{Catalog, SourceFile, Verdict, judge, self_tests};
use ktx_sql::Dialect;
use ktx_warehouse::Cell;
use rusqlite::Connection;
use serde_json::Value;

use crate::{fixtures, sqlite};

fn complaints(catalog: &Catalog, connection: &Connection) -> Vec<(String, Verdict)> {
    let cell = |value: Value| match value {
        Value::Null => Cell::Null,
        Value::String(text) => Cell::Text(text),
        value => match value.as_i64() {
            Some(whole) => Cell::Int(whole),
            None => Cell::Float(value.as_f64().expect("a number")),
        },
    };
    let judged = self_tests(catalog, None).into_iter().map(|test| {
        let (_, rows) = sqlite::run(connection, &test.sql);
        let rows: Vec<Vec<Cell>> = rows
            .into_iter()
            .map(|row| row.into_iter().map(cell).collect())
            .collect();
        let verdict = judge(&test, &rows);
        (test.name, verdict)
    });
    judged
        .filter(|(_, verdict)| *verdict != Verdict::Passed)
        .collect()
}

#[test]
fn sound_models_have_no_failures_and_every_check_can_be_run() {
    for (model, least) in [("clinic", 40), ("fleet", 40), ("ledger", 20)] {
        let catalog = fixtures::model(model, Dialect::Sqlite);
        let count = self_tests(&catalog, None).len();
        assert!(count >= least, "{model} has {count} checks");
        let connection = sqlite::database(&fixtures::model_data(model));
        let failed: Vec<(String, Verdict)> = complaints(&catalog, &connection)
            .into_iter()
            .filter(|(_, verdict)| !matches!(verdict, Verdict::Warned(_)))
            .collect();
        assert_eq!(failed, [], "{model}");
    }
}

#[test]
fn the_gate_lets_the_checks_of_every_model_pass_in_every_dialect() {
    let mut refused: Vec<String> = Vec::new();
    for dialect in Dialect::ALL {
        for model in ["clinic", "fleet", "ledger"] {
            for test in self_tests(&fixtures::model(model, dialect), None) {
                if let Err(refusal) = ktx_read_only_sql::check(&test.sql, dialect) {
                    refused.push(format!("{dialect}: {refusal}\n{}", test.sql));
                }
            }
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

const ORDERS: &str = "\
name: orders
table: orders
grain: [id]
columns:
  - {name: id, type: number}
  - {name: who, type: number}
  - {name: cost, type: number}
joins:
  - {to: people, on: who = people.id, relationship: many_to_one}
measures:
  - {name: revenue, expr: sum(cost)}
  - {name: order_count, expr: count(*)}
";
const PEOPLE: &str =
    "name: people\ntable: people\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n";

#[test]
fn repeated_keys_missing_keys_and_wrong_totals_are_found() {
    let files = vec![
        SourceFile::new("orders.yaml", ORDERS),
        SourceFile::new("people.yaml", PEOPLE),
    ];
    let connection = Connection::open_in_memory().expect("a database");
    connection
        .execute_batch(
            "CREATE TABLE people (id INTEGER);
             INSERT INTO people VALUES (1), (1), (2), (NULL), (NULL);
             CREATE TABLE orders (id INTEGER, who INTEGER, cost REAL);
             INSERT INTO orders VALUES (1, 1, 10), (2, 2, 5.5), (3, NULL, 1);",
        )
        .expect("the tables");
    let failed = |text: &str| Verdict::Failed(text.to_owned());
    let complaint = |name: &str, verdict| (name.to_owned(), verdict);
    assert_eq!(
        complaints(&Catalog::load(files, Dialect::Sqlite), &connection),
        [
            complaint(
                "orders -> people: every row of orders has who",
                Verdict::Warned("1 rows have no key".to_owned())
            ),
            complaint(
                "orders.revenue: groups by people.id add up to the total",
                failed("the groups add up to 26.5, the total is 16.5")
            ),
            complaint(
                "orders.order_count: groups by people.id add up to the total",
                failed("the groups add up to 4, the total is 3")
            ),
            complaint(
                "people: one row per id",
                failed("2 keys have more than one row")
            ),
        ]
    );
}
