//! The validator.

use ktx_semantic_layer::validate;

use crate::fixtures::{folder, model};

const CUSTOMERS: &str = "name: customers\ntable: customers\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: name, type: string}\n";

/// Errors, then warnings, of a source `orders` next to a valid `customers`.
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
        let report = validate(&model(name, ktx_sql::Dialect::DuckDb), &[]);
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
    for same in ["sum(orders.id)", "sum((id))", "SUM( (orders.id) )"] {
        let two =
            format!("measures:\n- {{name: m, expr: sum(id)}}\n- {{name: n, expr: '{same}'}}\n");
        check(&with(&two), &["duplicate_measure_expr"], &[]);
    }
    check(
        &with("measures:\n- {name: m, expr: sum(id - 1)}\n- {name: n, expr: sum(id) - 1}\n"),
        &[],
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

const SHARD: &str = "tables:
  customers:
    table: customers
    columns:
    - {name: id, type: integer, pk: true}
    - {name: name, type: text}
  orders:
    table: orders
    columns:
    - {name: id, type: integer, pk: true}
    - {name: customer_id, type: integer}
    joins:
    - {to: customers, on: customer_id = customers.id, relationship: many_to_one}
    - {to: customers, on: id = customers.code, relationship: many_to_one, source: manual}
    - {to: nobody, on: id = nobody.id, relationship: many_to_one}
";

const OVERLAY: &str = "name: orders
grain: [id, line]
measures:
  - name: total
    expr: sum(amount)
segments:
  - {name: paid, expr: state = 'paid'}
";

const ITEMS: &str = "name: items
sql: select order_id, line from order_items
grain: [order_id]
columns:
- {name: order_id, type: number}
- {name: price, type: number}
joins:
- to: orders
  on: order_id = orders.id
  relationship: many_to_one
  alias: customers
";

/// For a scanned table, in the shard.
#[test]
fn findings_have_places() {
    let catalog = folder(&[
        ("_schema/main.yaml", SHARD),
        ("orders.yaml", OVERLAY),
        ("sub/items.yml", ITEMS),
    ]);
    let report = validate(&catalog, &["items".to_owned()]);
    let placed = |found: &ktx_semantic_layer::Finding| {
        let path = found.path.as_deref().unwrap_or_default();
        format!("{path} {}", found.kind)
    };
    let errors: Vec<String> = report.errors.iter().map(placed).collect();
    let warnings: Vec<String> = report.warnings.iter().map(placed).collect();
    assert_eq!(
        errors,
        [
            "_schema/main.yaml:14:8 join_target_column",
            "orders.yaml:2:1 grain_not_in_columns",
            "orders.yaml:4:5 unknown_column",
            "orders.yaml:7:6 unknown_column",
            "sub/items.yml:6:4 unknown_column",
            "sub/items.yml:11:3 duplicate_alias",
        ]
    );
    assert_eq!(
        warnings,
        [
            " disconnected_components",
            "_schema/main.yaml:13:8 ambiguous_join",
            "_schema/main.yaml:15:8 unmatched_manifest_join",
            "sub/items.yml:2:1 singleton_component",
        ]
    );
}

/// Every query over such a join is refused as a fan-out.
#[test]
fn declarations_that_contradict_each_other_are_told() {
    let customers = |relationship: &str| {
        format!(
            "{CUSTOMERS}joins:\n- {{to: orders, on: id = orders.customer_id, relationship: {relationship}}}\n"
        )
    };
    let orders = "name: orders\ntable: orders\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: customer_id, type: number}\njoins:\n- {to: customers, on: customer_id = customers.id, relationship: many_to_one}\n";
    let told = |relationship: &str| -> Vec<String> {
        let customers = customers(relationship);
        let catalog = folder(&[("customers.yaml", &customers), ("orders.yaml", orders)]);
        let errors = validate(&catalog, &[]).errors;
        errors
            .into_iter()
            .map(|one| {
                format!(
                    "{} {}: {}",
                    one.path.unwrap_or_default(),
                    one.kind,
                    one.message
                )
            })
            .collect()
    };
    assert_eq!(
        told("many_to_one"),
        [
            "customers.yaml:8:4 contradictory_join: join `id = orders.customer_id` is declared many_to_one here and \
             many_to_one in `orders`: the two contradict each other, and no query can go along it; declare \
             `one_to_one`, or `many_to_one` on one side and `one_to_many` on the other"
        ]
    );
    assert_eq!(told("one_to_many"), Vec::<String>::new());
}
