//! Scanned tables whose columns and names are not words: quotes reach them.

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile, validate};
use ktx_sql::Dialect;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::sqlite;

const OVERLAY: &str = "name: odd
measures:
- {name: total, expr: sum(amount)}
- {name: dotted_total, expr: 'sum(\"a.b\")'}
segments:
- {name: smiling, expr: '\"🙂\" = ''yes'''}
";

fn long_name() -> String {
    "long_".repeat(40)
}

fn shard() -> String {
    format!(
        "tables:
  odd:
    table: main.odd
    columns:
    - {{name: id, type: number, pk: true}}
    - {{name: \"\", type: string}}
    - {{name: ' ', type: string}}
    - {{name: a.b, type: number}}
    - {{name: 'say \"hi\"', type: string}}
    - {{name: 🙂, type: string}}
    - {{name: \"with space\", type: string}}
    - {{name: select, type: string}}
    - {{name: {long}, type: string}}
    - {{name: amount, type: number}}
    - {{name: far.id, type: number}}
    joins:
    - {{to: x.y, on: 'odd.\"far.id\" = \"x.y\".\"the.id\"', relationship: many_to_one, source: formal}}
  x.y:
    table: main.\"x.y\"
    columns:
    - {{name: the.id, type: number, pk: true}}
    - {{name: label, type: string}}
    joins:
    - {{to: odd, on: '\"x.y\".\"the.id\" = odd.\"far.id\"', relationship: one_to_many, source: formal}}
",
        long = long_name()
    )
}

fn database() -> Connection {
    let database = Connection::open_in_memory().expect("a database");
    let sql = format!(
        r#"CREATE TABLE odd (id INTEGER PRIMARY KEY, "" TEXT, " " TEXT, "a.b" INTEGER, "say ""hi""" TEXT, "🙂" TEXT,
             "with space" TEXT, "select" TEXT, "{long}" TEXT, amount INTEGER, "far.id" INTEGER);
           INSERT INTO odd VALUES (1, 'e', 'b', 10, 'hi', 'yes', 'w', 's', 'l', 100, 1), (2, 'f', 'c', 20, 'ho', 'no', 'w', 't', 'l', 200, 1);
           CREATE TABLE "x.y" ("the.id" INTEGER PRIMARY KEY, label TEXT);
           INSERT INTO "x.y" VALUES (1, 'one');"#,
        long = long_name()
    );
    database.execute_batch(&sql).expect("two tables");
    database
}

fn catalog(overlay: &str) -> Catalog {
    let files = vec![
        SourceFile::new("_schema/main.yaml", shard()),
        SourceFile::new("odd.yaml", overlay),
    ];
    Catalog::load(files, Dialect::Sqlite)
}

fn rows(catalog: &Catalog, query: &Value) -> Vec<Vec<Value>> {
    let query = Query::from_value(query).expect("a query");
    let compiled = compile(catalog, &query, Dialect::Sqlite).expect("an answer");
    sqlite::run(&database(), &compiled.sql).1
}

#[test]
fn a_table_with_odd_columns_answers() {
    let catalog = catalog(OVERLAY);
    let report = validate(&catalog, &[]);
    assert_eq!(report.errors, Vec::new());
    let told: Vec<String> = report
        .warnings
        .iter()
        .map(|one| {
            format!(
                "{} {}: {}",
                one.path.as_deref().unwrap_or_default(),
                one.kind,
                one.message
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "_schema/main.yaml column_left_out: table `odd` has 1 column(s) without a usable name, which are left out"
        ]
    );
    assert_eq!(
        rows(
            &catalog,
            &json!({"measures": ["odd.total", "odd.dotted_total"]})
        ),
        [[json!(300), json!(30)]]
    );
}

#[test]
fn odd_columns_are_reached_in_quotes() {
    let catalog = catalog(OVERLAY);
    let quoted = |name: &str| format!("odd.\"{}\"", name.replace('"', "\"\""));
    for (name, first) in [
        (" ", json!("b")),
        ("a.b", json!(10)),
        ("say \"hi\"", json!("hi")),
        ("🙂", json!("yes")),
        ("with space", json!("w")),
        ("select", json!("s")),
        (long_name().as_str(), json!("l")),
    ] {
        let field = quoted(name);
        let grouped = rows(
            &catalog,
            &json!({"measures": ["odd.total", format!("min({field})")], "dimensions": [field],
                    "filters": [format!("{field} is not null"), "odd.id = 1"]}),
        );
        assert_eq!(grouped, [[first.clone(), json!(100), first]], "{name}");
    }
    let segment = json!({"measures": ["odd.total"], "segments": ["odd.smiling"]});
    assert_eq!(rows(&catalog, &segment), [[json!(100)]]);
}

#[test]
fn a_table_with_a_dot_in_its_name_is_joined() {
    let catalog = catalog(OVERLAY);
    for label in ["x.y.label", "\"x.y\".label", "label"] {
        let query = json!({"measures": ["odd.total"], "dimensions": [label]});
        assert_eq!(
            rows(&catalog, &query),
            [[json!("one"), json!(300)]],
            "{label}"
        );
    }
    let counted = json!({"measures": ["count(\"x.y\".\"the.id\")"]});
    assert_eq!(rows(&catalog, &counted), [[json!(1)]]);
}

#[test]
fn a_key_without_a_name_is_no_key() {
    let shard = "tables:
  half:
    table: half
    columns:
    - {name: a, type: number, pk: true}
    - {name: '', type: number, pk: true}
    - {name: b, type: number}
";
    let catalog = Catalog::load(
        vec![SourceFile::new("_schema/main.yaml", shard)],
        Dialect::Sqlite,
    );
    let source = catalog.source("half").expect("a source");
    assert_eq!(
        (
            source.grain.as_slice(),
            source.has_declared_grain,
            source.scanned_key.as_slice()
        ),
        (
            ["a".to_owned(), "b".to_owned()].as_slice(),
            false,
            [].as_slice()
        )
    );
}

#[test]
fn a_dot_in_a_written_column_is_still_refused() {
    let text = "name: own\ntable: own\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: a.b, type: number}\n";
    let catalog = Catalog::load(vec![SourceFile::new("own.yaml", text)], Dialect::Sqlite);
    let report = validate(&catalog, &[]);
    let kinds: Vec<&str> = report.errors.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["column_qualified"]);
}

#[test]
fn a_column_that_was_meant_is_proposed_in_its_quotes() {
    let catalog = catalog(OVERLAY);
    for (asked, meant) in [
        ("odd.a_b", "odd.\"a.b\""),
        ("odd.with_space", "odd.with space"),
    ] {
        let ask = |field: &str| {
            let query = json!({"measures": ["odd.total"], "dimensions": [field]});
            let query = Query::from_value(&query).expect("a query");
            compile(&catalog, &query, Dialect::Sqlite)
        };
        let error = ask(asked).expect_err("a refusal");
        assert_eq!(error.suggestions.first().map(String::as_str), Some(meant));
        assert!(ask(meant).is_ok(), "{meant}");
    }
}
