//! What the validator finds.

use ktx_semantic_layer::validate;

use crate::fixtures::{folder, model};

const CUSTOMERS: &str = "name: customers\ntable: customers\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: name, type: string}\n";

/// The kinds found in a source `orders` beside a sound `customers`: errors, then warnings.
fn check(rest: &str, errors: &[&str], warnings: &[&str]) {
    let text = format!("name: orders\n{rest}");
    let catalog = folder(&[("customers.yaml", CUSTOMERS), ("orders.yaml", &text)]);
    let report = validate(&catalog, &["orders".to_owned()]);
    let mut found: Vec<&str> = report.errors.iter().map(|one| one.kind.as_str()).collect();
    found.dedup();
    let mut warned: Vec<&str> = report
        .warnings
        .iter()
        .map(|one| one.kind.as_str())
        .collect();
    warned.dedup();
    assert_eq!(
        (found.as_slice(), warned.as_slice()),
        (errors, warnings),
        "{rest}\n{report:#?}"
    );
}

/// A source over a table with an id and a customer, and some more lines.
fn table(more: &str) -> String {
    format!(
        "table: orders\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\n- {{name: customer_id, type: number}}\n- {{name: customer_name, type: string}}\n{more}"
    )
}

const JOIN: &str =
    "joins:\n- {to: customers, on: customer_id = customers.id, relationship: many_to_one}\n";

#[test]
fn a_sound_folder_has_no_findings() {
    check(&table(JOIN), &[], &[]);
    for name in ["fleet", "ledger"] {
        let report = validate(&model(name, ktx_warehouse::Dialect::DuckDb), &[]);
        assert_eq!(
            (report.errors, report.warnings),
            (Vec::new(), Vec::new()),
            "{name}"
        );
    }
}

#[test]
fn grain_and_columns_are_checked() {
    let columns = "columns:\n- {name: id, type: number}\n";
    let join = "joins:\n- {to: customers, on: id = customers.id, relationship: many_to_one}\n";
    check(
        &format!("table: orders\ngrain: [key]\n{columns}{join}"),
        &["grain_not_in_columns"],
        &[],
    );
    check(
        &format!("table: orders\ngrain: [orders.id]\n{columns}{join}"),
        &["grain_qualified"],
        &[],
    );
    check(
        &format!("table: orders\ngrain: [id]\n{columns}- {{name: orders.x, type: number}}\n{join}"),
        &["column_qualified"],
        &[],
    );
    check(
        &format!("sql: select x from t\ngrain: [id]\n{columns}{join}"),
        &["grain_not_projected"],
        &[],
    );
    check(
        &format!("sql: select * from t\ngrain: [id]\n{columns}{join}"),
        &[],
        &[],
    );
}

#[test]
fn joins_are_checked() {
    let join = |on: &str| {
        table(&format!(
            "joins:\n- {{to: customers, on: {on}, relationship: many_to_one}}\n"
        ))
    };
    check(&join("nope = customers.id"), &["join_local_column"], &[]);
    check(
        &join("customer_id = customers.nope"),
        &["join_target_column"],
        &[],
    );
    check(
        &join("customer_name = customers.id"),
        &["display_value_join"],
        &[],
    );
    check(
        &table(""),
        &[],
        &["disconnected_components", "singleton_component"],
    );
    let twice =
        format!("{JOIN}- {{to: customers, on: id = customers.id, relationship: many_to_one}}\n");
    check(&table(&twice), &[], &["ambiguous_join"]);
    let alias = "joins:\n- {to: customers, on: customer_id = customers.id, relationship: many_to_one, alias: customers}\n";
    check(
        &table(alias),
        &["duplicate_alias"],
        &["disconnected_components", "singleton_component"],
    );
}

#[test]
fn sql_sources_must_join_what_they_read() {
    let sql = "sql: with c as (select * from customers) select id, customer_id from c join orders_raw using (id)\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: customer_id, type: number}\n";
    check(
        sql,
        &["undeclared_sql_join"],
        &["disconnected_components", "singleton_component"],
    );
    check(&format!("{sql}{JOIN}"), &[], &[]);
}

#[test]
fn expressions_are_parsed_and_resolved() {
    let measure = |expr: &str| table(&format!("{JOIN}measures:\n- {{name: m, expr: '{expr}'}}\n"));
    check(&measure("sum(nope)"), &["unknown_column"], &[]);
    check(&measure("sum(customers.nope)"), &["unknown_column"], &[]);
    check(&measure("nope + 1"), &["unknown_column"], &[]);
    check(&measure("customer_id"), &["not_a_measure"], &[]);
    check(&measure("1 + 1"), &["not_a_measure"], &[]);
    check(&measure("m + 1"), &["circular_measure"], &[]);
    check(&measure("sum(customer_id"), &["parse_error"], &[]);
    check(&measure("count(name)"), &[], &[]);
    let with = |rest: &str| table(&format!("{JOIN}{rest}"));
    check(
        &with("measures:\n- {name: m, expr: count(id), segments: [nope]}\n"),
        &["unknown_segment"],
        &[],
    );
    check(
        &with("measures:\n- {name: m, expr: count(id), filter: nope = 1}\n"),
        &["unknown_column"],
        &[],
    );
    check(
        &with("segments:\n- {name: s, expr: nope = 1}\n"),
        &["unknown_column"],
        &[],
    );
    check(
        &with("segments:\n- {name: s, expr: id =}\n"),
        &["parse_error"],
        &[],
    );
    check(
        &with("measures:\n- {name: m, expr: count(id)}\n- {name: m, expr: sum(id)}\n"),
        &["duplicate_measure_name"],
        &[],
    );
    check(
        &with("measures:\n- {name: m, expr: count(id)}\n- {name: n, expr: COUNT( id )}\n"),
        &["duplicate_measure_expr"],
        &[],
    );
}

#[test]
fn the_line_protocol_answers_in_lines() {
    let load = |_: &str| {
        Ok(vec![ktx_semantic_layer::SourceFile::new(
            "customers.yaml",
            CUSTOMERS,
        )])
    };
    let ask = |line: &str| ktx_semantic_layer::conformance::answer(line, &load);
    assert_eq!(
        ask(r#"{"op": "validate", "sources_dir": "x", "dialect": "duckdb"}"#),
        r#"{"ok":true,"errors":[],"warnings":[]}"#
    );
    assert_eq!(
        ask(r#"{"op": "compile", "sources_dir": "x", "dialect": "nope", "query": {}}"#),
        r#"{"ok":false,"error":{"kind":"unknown_dialect","message":"unknown dialect `nope`","offending":"nope","suggestions":["postgres","snowflake","bigquery","clickhouse","mysql","mariadb","tsql","sqlite","duckdb","redshift","databricks","trino"]}}"#
    );
    let answer = ask(
        r#"{"op": "compile", "sources_dir": "x", "dialect": "duckdb", "query": {"measures": ["count(customers.id)"]}}"#,
    );
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("one line of JSON");
    assert_eq!(
        answer["columns"],
        serde_json::json!([{"name": "count_customers_id", "ref": "count(customers.id)"}])
    );
}
