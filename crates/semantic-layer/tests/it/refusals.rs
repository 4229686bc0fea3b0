//! Queries without a correct answer.

use ktx_semantic_layer::{Query, compile};
use ktx_sql::Dialect;

use crate::fixtures;

/// `expected` is the kind and the first suggestion.
fn check(model: &str, query: &str, expected: (&str, Option<&str>)) {
    let catalog = fixtures::model(model, Dialect::Sqlite);
    let outcome =
        Query::from_json(query).and_then(|query| compile(&catalog, &query, Dialect::Sqlite));
    let error = outcome.expect_err(query);
    let first = error.suggestions.first().map(String::as_str);
    assert_eq!((error.kind.as_str(), first), expected, "{query}: {error}");
}

#[test]
fn names_that_mean_nothing_are_met_with_near_ones() {
    check(
        "clinic",
        r#"{"measures": ["visits.cost_totl"]}"#,
        ("unknown_measure", Some("visits.cost_total")),
    );
    check(
        "clinic",
        r#"{"measures": ["visit.cost_total"]}"#,
        ("unknown_source", Some("visits")),
    );
    check(
        "clinic",
        r#"{"measures": ["visits.cost_total"], "dimensions": ["visits.knd"]}"#,
        ("unknown_column", Some("visits.kind")),
    );
    check(
        "clinic",
        r#"{"measures": ["visits.visit_count"], "segments": ["visits.urgnt"]}"#,
        ("unknown_segment", Some("visits.urgent")),
    );
    check(
        "clinic",
        r#"{"measures": ["sum(cost)"]}"#,
        ("unqualified_column", Some("visits.cost")),
    );
    check(
        "clinic",
        r#"{"measures": ["avg(visits.cost_total)"]}"#,
        ("nested_aggregate", Some("visits.cost_total")),
    );
    check(
        "clinic",
        r#"{"measures": ["visits.cost"]}"#,
        ("not_a_measure", Some("sum(visits.cost)")),
    );
    check(
        "clinic",
        r#"{"measures": ["visits.visit_count"], "dimensions": ["name"]}"#,
        ("ambiguous_column", Some("doctors.name")),
    );
    check(
        "clinic",
        r#"{"measures": ["visits.visit_count"], "order_by": ["visit_cnt"]}"#,
        ("unknown_order_field", Some("visit_count")),
    );
    check(
        "clinic",
        r#"{"measures": ["visits.visit_count"], "dimension": []}"#,
        ("invalid_query", Some("dimensions")),
    );
    check(
        "clinic",
        r#"{"measures": ["visits.visit_count"], "dimensions": [{"field": "visits.at", "granularty": "day"}]}"#,
        ("invalid_query", Some("granularity")),
    );
}

#[test]
fn hidden_columns_have_no_spelling() {
    for query in [
        r#"{"measures": ["sum(doctors.pay)"]}"#,
        r#"{"measures": ["doctors.pay"]}"#,
        r#"{"measures": ["sum(pay)"]}"#,
        r#"{"measures": ["sum(DOCTORS.PAY)"]}"#,
        r#"{"measures": ["sum(\"doctors\".\"pay\")"]}"#,
        r#"{"measures": ["visits.visit_count"], "dimensions": ["doctors.pay"]}"#,
        r#"{"measures": ["visits.visit_count"], "dimensions": ["\"doctors\".\"pay\""]}"#,
        r#"{"measures": ["visits.visit_count"], "dimensions": ["pay"]}"#,
        r#"{"measures": ["visits.visit_count"], "dimensions": ["upper(doctors.pay)"]}"#,
        r#"{"measures": ["visits.visit_count"], "filters": ["doctors.pay > 1"]}"#,
        r#"{"measures": ["visits.visit_count"], "filters": ["pay > 1"]}"#,
        r#"{"measures": ["visits.visit_count"], "filters": ["visits.visit_count > 1 or doctors.pay > 1"]}"#,
        r#"{"measures": ["visits.visit_count"], "filters": ["max(doctors.pay) > 1"]}"#,
        r#"{"measures": ["visits.visit_count"], "order_by": ["doctors.pay"]}"#,
        r#"{"measures": ["visits.visit_count"], "order_by": ["upper(pay)"]}"#,
    ] {
        check("clinic", query, ("hidden_column", None));
    }
}

/// Without grouping, the filter tests the total.
#[test]
fn a_filter_that_would_test_a_total_is_refused() {
    check(
        "clinic",
        r#"{"measures": ["patients.patient_count"], "filters": ["visits.visit_count > 2"]}"#,
        ("total_filter", Some("patients.id")),
    );
}

#[test]
fn expressions_are_scalar_and_flat() {
    for (expression, kind) in [
        ("visits.cost > (select 1)", "subquery_not_allowed"),
        ("exists (select 1 from doctors)", "subquery_not_allowed"),
        (
            "visits.cost in (select pay from doctors)",
            "subquery_not_allowed",
        ),
        (
            "row_number() over (order by visits.cost) = 1",
            "window_function",
        ),
        ("sum(max(visits.cost)) > 1", "nested_aggregate"),
        ("visits.cost = ?", "parse_error"),
        ("visits.cost = 1; drop table visits", "parse_error"),
        ("visits.cost = 1 -- x\n union select 1", "parse_error"),
        ("visits.cost >", "parse_error"),
        ("visits.day:month = '2024-01-01'", "parse_error"),
        ("count(*) > 1", "no_source"),
    ] {
        let query =
            serde_json::json!({"measures": ["visits.visit_count"], "filters": [expression]});
        check("clinic", &query.to_string(), (kind, None));
    }
}

#[test]
fn deep_expressions_are_refused_and_do_not_overflow() {
    let sums = vec!["1"; 20_000].join(" + ");
    let parentheses = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    for expression in [sums, parentheses] {
        let query =
            serde_json::json!({"measures": ["visits.visit_count"], "filters": [expression]});
        check("clinic", &query.to_string(), ("parse_error", None));
    }
}

#[test]
fn circles_are_named() {
    check(
        "clinic",
        r#"{"measures": [{"expr": "b", "name": "a"}, {"expr": "a", "name": "b"}]}"#,
        ("circular_measure", None),
    );
}

#[test]
fn a_result_name_stays_a_name() {
    let catalog = fixtures::model("clinic", Dialect::Sqlite);
    let connection = crate::sqlite::database(&fixtures::model_data("clinic"));
    let name = "x\"; drop table visits; --";
    let query = serde_json::json!({"measures": [{"expr": "visits.visit_count", "name": name}]});
    let query = Query::from_value(&query).expect("a query");
    let compiled = compile(&catalog, &query, Dialect::Sqlite).expect("compiles");
    let (names, rows) = crate::sqlite::run(&connection, &compiled.sql);
    assert_eq!(
        (names, rows),
        (vec![name.to_owned()], vec![vec![serde_json::json!(36)]])
    );
}

#[test]
fn names_that_a_dialect_cannot_be_trusted_to_read_are_refused() {
    let query =
        Query::from_json(r#"{"measures": [{"expr": "visits.visit_count", "name": "a`b"}]}"#);
    let query = query.expect("a query");
    for dialect in [Dialect::BigQuery, Dialect::ClickHouse] {
        let error =
            compile(&fixtures::model("clinic", dialect), &query, dialect).expect_err("refused");
        assert_eq!(error.kind.as_str(), "invalid_query");
    }
}

#[test]
fn a_source_that_only_roles_reach_is_met_with_the_roles() {
    let addresses = "name: addresses\ntable: addresses\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: city, type: string}\n";
    let orders = "name: orders\ntable: orders\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: ship, type: number}\n- {name: bill, type: number}\njoins:\n- {to: addresses, on: ship = addresses.id, relationship: many_to_one, alias: ship_to}\n- {to: addresses, on: bill = addresses.id, relationship: many_to_one, alias: bill_to}\n";
    let catalog = fixtures::folder(&[("a.yaml", addresses), ("o.yaml", orders)]);
    let query =
        Query::from_json(r#"{"measures": ["count(orders.id)"], "dimensions": ["addresses.city"]}"#);
    let error = compile(&catalog, &query.expect("a query"), Dialect::Sqlite).expect_err("refused");
    assert_eq!(error.kind.as_str(), "no_join_path");
    assert_eq!(error.suggestions, ["ship_to.city", "bill_to.city"]);
    let report = ktx_semantic_layer::validate(&catalog, &["orders".to_owned()]);
    assert_eq!((report.errors, report.warnings), (Vec::new(), Vec::new()));
}

/// Number 11 of the contract: MySQL reads such a text as a string with a field.
#[test]
fn texts_have_no_fields() {
    for dialect in [Dialect::MySql, Dialect::MariaDb, Dialect::BigQuery] {
        let catalog = fixtures::model("clinic", dialect);
        let query =
            r#"{"measures": ["visits.cost_total"], "filters": ["\"doctors\".\"pay\" > 1"]}"#;
        let query = Query::from_json(query).expect("a query");
        let error = compile(&catalog, &query, dialect).expect_err("refused");
        assert_eq!(
            (error.kind.as_str(), error.message.as_str()),
            (
                "parse_error",
                "a literal has no fields; quote names as this warehouse does"
            ),
            "{dialect:?}"
        );
    }
}

/// As an aggregate over an ordered group it is allowed.
#[test]
fn window_functions_without_over_are_refused_by_name() {
    for (measure, name) in [
        ("sum(rank(visits.cost))", "rank"),
        ("dense_rank(visits.cost)", "dense_rank"),
        ("max(row_number())", "row_number"),
        ("sum(lag(visits.cost))", "lag"),
        ("first_value(visits.cost)", "first_value"),
    ] {
        let query = serde_json::json!({"measures": [measure]});
        for dialect in [Dialect::Postgres, Dialect::Sqlite, Dialect::MySql] {
            let catalog = fixtures::model("clinic", dialect);
            let query = Query::from_value(&query).expect("a query");
            let error = compile(&catalog, &query, dialect).expect_err(measure);
            assert_eq!(error.kind.as_str(), "window_function", "{measure}");
            let said = format!("`{name}` is a window function, which has no value without `OVER`");
            assert!(error.message.starts_with(&said), "{}", error.message);
        }
    }
    let catalog = fixtures::model("clinic", Dialect::Postgres);
    let query = serde_json::json!({"measures": ["rank(10) within group (order by visits.cost)"]});
    let query = Query::from_value(&query).expect("a query");
    assert!(compile(&catalog, &query, Dialect::Postgres).is_ok());
}
