//! Joins that only their declaration makes safe: the validator and every answer report them.

use ktx_semantic_layer::{Catalog, Query, compile, conformance, validate};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::fixtures::folder;
use crate::sqlite;

const RATES: &str = "name: rates
table: rates
grain: [currency, day]
columns:
- {name: currency, type: string}
- {name: day, type: number}
- {name: rate, type: number}
";

fn payments(on: &str, relationship: &str) -> String {
    format!(
        "name: payments
table: payments
grain: [id]
columns:
- {{name: id, type: number}}
- {{name: currency, type: string}}
- {{name: day, type: number}}
- {{name: amount, type: number}}
joins:
- to: rates
  on: {on}
  relationship: {relationship}
measures:
- {{name: total, expr: sum(amount)}}
"
    )
}

fn told(catalog: &Catalog) -> (Vec<String>, Vec<String>) {
    let report = validate(catalog, &[]);
    assert_eq!(report.errors, Vec::new());
    let findings = report.warnings.iter().map(|one| {
        let path = one.path.as_deref().unwrap_or_default();
        format!("{path} {}: {}", one.kind, one.message)
    });
    let query = json!({"measures": ["payments.total"], "dimensions": ["rates.rate"], "include_empty": false});
    let query = Query::from_value(&query).expect("a query");
    let compiled = compile(catalog, &query, catalog.dialect()).expect("an answer");
    let is_usual = |note: &&String| note.contains("has no match in");
    let notes = compiled.notes.iter().filter(|note| !is_usual(note));
    (findings.collect(), notes.cloned().collect())
}

/// Number 2 of the contract: 15 becomes 25 if the declaration is wrong.
#[test]
fn a_join_beside_the_key_is_told() {
    let catalog = folder(&[
        ("rates.yaml", RATES),
        (
            "payments.yaml",
            &payments("currency = rates.currency", "many_to_one"),
        ),
    ]);
    assert_eq!(
        told(&catalog),
        (
            vec![
                "payments.yaml:10:3 unproven_join: join `currency = rates.currency` is declared many_to_one, \
                 and `currency` of `rates` does not hold its grain `currency`, `day`: where several rows match, \
                 numbers come out too high; look with `ktx sl validate --live` or `ktx sl test`, or declare the key"
                    .to_owned()
            ],
            vec![
                "the join from `payments` to `rates` is not verified: `currency` of `rates` does not \
                 hold its grain `currency`, `day`; if several rows match, numbers come out too high; \
                 check it with `ktx sl validate --live`"
                    .to_owned()
            ],
        )
    );
    let database = sqlite::database(&json!({"tables": {
        "rates": {"columns": [["currency", "text"], ["day", "int"], ["rate", "int"]],
                  "rows": [["EUR", 1, 2], ["EUR", 2, 2], ["USD", 1, 3]]},
        "payments": {"columns": [["id", "int"], ["currency", "text"], ["day", "int"], ["amount", "int"]],
                     "rows": [[1, "EUR", 1, 10], [2, "USD", 1, 5]]},
    }}));
    let query = json!({"measures": ["payments.total"], "filters": ["rates.rate > 0"]});
    let query = Query::from_value(&query).expect("a query");
    let compiled = compile(&catalog, &query, Dialect::Sqlite).expect("an answer");
    let (_, rows) = sqlite::run(&database, &compiled.sql);
    assert_eq!(rows, vec![vec![json!(25)]]);
    assert!(
        compiled
            .notes
            .iter()
            .any(|note| note.contains("is not verified"))
    );
}

#[test]
fn a_join_by_the_whole_key_is_not_told() {
    for on in [
        "currency = rates.currency and day = rates.day",
        "day = rates.DAY and currency = rates.Currency and amount = rates.rate",
    ] {
        let catalog = folder(&[
            ("rates.yaml", RATES),
            ("payments.yaml", &payments(on, "many_to_one")),
        ]);
        assert_eq!(told(&catalog), (Vec::new(), Vec::new()), "{on}");
    }
}

#[test]
fn a_column_that_is_said_to_be_unique_is_a_key() {
    for says in [
        "constraints: {dbt: {unique: true}}",
        "tests: {dbt: [{name: not_null, package: null}, {name: unique, package: null}]}",
    ] {
        let rates = RATES.replace(
            "currency, type: string",
            &format!("currency, type: string, {says}"),
        );
        let catalog = folder(&[
            ("rates.yaml", &rates),
            (
                "payments.yaml",
                &payments("currency = rates.currency", "many_to_one"),
            ),
        ]);
        assert_eq!(told(&catalog), (Vec::new(), Vec::new()), "{says}");
    }
}

#[test]
fn both_readings_of_a_join_are_looked_at() {
    let one_to_one = folder(&[
        ("rates.yaml", RATES),
        (
            "payments.yaml",
            &payments(
                "currency = rates.currency and day = rates.day",
                "one_to_one",
            ),
        ),
    ]);
    let (findings, notes) = told(&one_to_one);
    assert_eq!(notes, Vec::<String>::new(), "rates are found by their key");
    assert_eq!(findings.len(), 1);
    assert!(findings[0].contains("`currency`, `day` of `payments` does not hold its grain `id`"));
    let other_side = format!(
        "{RATES}joins:\n- {{to: payments, on: currency = payments.currency, relationship: one_to_many}}\n"
    );
    let without = payments("", "").replace("joins:\n- to: rates\n  on: \n  relationship: \n", "");
    let catalog = folder(&[("rates.yaml", &other_side), ("payments.yaml", &without)]);
    let (findings, notes) = told(&catalog);
    assert_eq!((findings.len(), notes.len()), (1, 1));
    assert!(findings[0].starts_with("rates.yaml:9:"), "{findings:?}");
}

/// The warehouse's keys or counted values support scanned joins.
#[test]
fn scanned_keys_and_scanned_joins_speak_for_themselves() {
    let shard = |pk: &str, join: &str| {
        format!(
            "tables:
  rates:
    table: rates
    columns:
    - {{name: currency, type: text{pk}}}
    - {{name: rate, type: integer}}
  payments:
    table: payments
    columns:
    - {{name: id, type: integer, pk: true}}
    - {{name: currency, type: text}}
    - {{name: amount, type: integer}}
{join}"
        )
    };
    let overlay = "name: payments
measures:
- {name: total, expr: sum(amount)}
";
    let joined = format!(
        "{overlay}joins:\n- {{to: rates, on: currency = rates.currency, relationship: many_to_one}}\n"
    );
    let scanned = |source: &str| {
        format!(
            "    joins:\n    - {{to: rates, on: payments.currency = rates.currency, relationship: many_to_one, source: {source}}}\n"
        )
    };
    let cases: [(&str, String, &str, usize); 5] = [
        ("", scanned("formal"), overlay, 0),
        ("", scanned("inferred"), overlay, 0),
        ("", scanned("manual"), overlay, 1),
        ("", String::new(), &joined, 1),
        (", pk: true", String::new(), &joined, 0),
    ];
    for (pk, join, payments, told_of) in cases {
        let shard = shard(pk, &join);
        let catalog = folder(&[("_schema/main.yaml", &shard), ("payments.yaml", payments)]);
        let (findings, notes) = told(&catalog);
        assert_eq!(
            (findings.len(), notes.len()),
            (told_of, told_of),
            "{shard}{payments}"
        );
        for text in findings.iter().chain(&notes) {
            assert!(
                text.contains("nothing says that `currency` is a key of `rates`"),
                "{text}"
            );
        }
    }
    // As a standalone source, its scanned key is still known.
    let own = RATES.replace("[currency, day]", "[day]");
    let shard = "tables:\n  scanned_rates:\n    table: rates\n    columns:\n    - {name: currency, type: text, pk: true}\n    - {name: day, type: integer}\n    - {name: rate, type: integer}\n";
    let catalog = folder(&[
        ("_schema/main.yaml", shard),
        ("rates.yaml", &own),
        (
            "payments.yaml",
            &super::unproven::payments("currency = rates.currency", "many_to_one"),
        ),
    ]);
    let (findings, notes) = told(&catalog);
    assert_eq!(notes, Vec::<String>::new());
    assert!(
        findings
            .iter()
            .all(|one| one.contains("disconnected_components")),
        "{findings:?}"
    );
}

#[test]
fn the_line_protocol_tells_it_beside_the_warnings() {
    let load = |_: &str| {
        Ok(vec![
            ktx_semantic_layer::SourceFile::new("rates.yaml", RATES),
            ktx_semantic_layer::SourceFile::new(
                "payments.yaml",
                payments("currency = rates.currency", "many_to_one"),
            ),
        ])
    };
    let answer = conformance::answer(
        r#"{"op": "validate", "sources_dir": "x", "dialect": "duckdb"}"#,
        &load,
    );
    let answer: Value = serde_json::from_str(&answer).expect("one line of JSON");
    assert_eq!(
        (&answer["errors"], &answer["warnings"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(answer["notes"][0]["kind"], "unproven_join");
}
