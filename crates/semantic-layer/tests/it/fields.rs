//! Order fields and dimensions.

use ktx_semantic_layer::{Query, QueryWords, compile};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::fixtures::folder;

const ORDERS: &str = "name: orders\ntable: orders\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: status, type: string}\n  - {name: amount, type: number}\n  - {name: at, type: time}\nmeasures:\n  - {name: revenue, expr: sum(amount)}\n";

fn order(measures: &Value, field: &Value) -> String {
    let catalog = folder(&[("orders.yaml", ORDERS)]);
    let asked =
        json!({"measures": measures, "dimensions": ["orders.at:month"], "order_by": [field]});
    let compiled =
        Query::from_value(&asked).and_then(|query| compile(&catalog, &query, Dialect::Sqlite));
    match compiled {
        Ok(compiled) => {
            let line = compiled
                .sql
                .lines()
                .find(|line| line.starts_with("ORDER BY "));
            line.unwrap_or_default().to_owned()
        }
        Err(error) => format!("{}: {error}", error.kind.as_str()),
    }
}

#[test]
fn an_order_by_expression_names_the_expression_itself() {
    let sum =
        |status: &str| format!("sum(case when orders.status = '{status}' then orders.amount end)");
    let measures = json!([
        {"expr": sum("A b"), "name": "upper"},
        {"expr": sum("a b"), "name": "lower"},
        {"expr": sum("ab"), "name": "together"},
    ]);
    let found = ["A b", "a b", "ab"].map(|status| order(&measures, &json!(sum(status))));
    assert_eq!(
        found,
        [
            "ORDER BY upper NULLS LAST",
            "ORDER BY lower NULLS LAST",
            "ORDER BY together NULLS LAST"
        ]
    );
    let spaced = sum("a b").replace("sum(", "SUM( ");
    assert_eq!(
        order(&measures, &json!({"field": spaced})),
        "ORDER BY lower NULLS LAST"
    );
    let unknown = order(&measures, &json!(sum("B")));
    assert!(
        unknown.starts_with("unknown_order_field: cannot order by"),
        "{unknown}"
    );
}

#[test]
fn the_colons_of_a_cast_are_part_of_a_field() {
    let measures = json!([{"expr": "sum(orders.amount::int)", "name": "x"}, "orders.revenue"]);
    for (field, expected) in [
        ("sum(orders.amount::int)", "ORDER BY x NULLS LAST"),
        ("sum(orders.amount::int):desc", "ORDER BY x DESC NULLS LAST"),
        ("sum(orders.amount::int) DESC", "ORDER BY x DESC NULLS LAST"),
        ("orders.revenue: desc", "ORDER BY revenue DESC NULLS LAST"),
        ("orders.at:month", "ORDER BY at_month"),
        ("orders.at:month:desc", "ORDER BY at_month DESC"),
        ("orders.at:month desc", "ORDER BY at_month DESC"),
        (
            "orders.revenue:sideways",
            "invalid_query: unknown sort direction `sideways`",
        ),
        (
            "orders.revenue::int",
            "unknown_order_field: cannot order by `orders.revenue::int`: it is not in the query",
        ),
    ] {
        assert_eq!(order(&measures, &json!(field)), expected, "{field}");
    }
}

#[test]
fn the_colons_of_a_cast_are_no_granularity() {
    let catalog = folder(&[("orders.yaml", ORDERS)]);
    let refused = |dimension: &str| {
        let words = QueryWords {
            measures: vec!["orders.revenue".to_owned()],
            dimensions: vec![dimension.to_owned()],
            ..QueryWords::default()
        };
        let query = Query::from_words(words).expect("a query");
        match compile(&catalog, &query, Dialect::Sqlite) {
            Ok(compiled) => compiled.sql,
            Err(error) => format!("{}: {error}", error.kind.as_str()),
        }
    };
    assert_eq!(
        refused("orders.at:fortnight"),
        "bad_granularity: unknown granularity `fortnight`"
    );
    assert_eq!(
        refused("orders.at::date"),
        "unknown_column: unknown column `orders.at::date`: `orders` has the columns `id`, `status`, `amount`, `at`"
    );
}

#[test]
fn parts_after_a_column_are_refused_with_the_right_spelling() {
    let catalog = folder(&[("orders.yaml", ORDERS)]);
    let told = |query: &Value| {
        let query = Query::from_value(query).expect("a query");
        match compile(&catalog, &query, Dialect::Sqlite) {
            Ok(compiled) => compiled.sql,
            Err(error) => format!(
                "{}: {error}; {}",
                error.kind.as_str(),
                error.suggestions.join(", ")
            ),
        }
    };
    for (field, expected) in [
        (
            "orders.at.month",
            "bad_granularity: `orders.at.month` is not a column: write the unit of `orders.at` after a colon, or as \
             `granularity: month`; orders.at:month",
        ),
        (
            "orders.status.foo.bar",
            "unknown_column: `orders.status.foo.bar` is not a column: the column is `orders.status`; to group by a \
             part of its values, add a computed column to its source; orders.status",
        ),
        (
            "orders..status",
            "not_a_dimension: `orders..status` has a dot without a name before or after it; orders.status",
        ),
        (
            ".status",
            "not_a_dimension: `.status` has a dot without a name before or after it; orders.status",
        ),
        (
            "orders.status.",
            "not_a_dimension: `orders.status.` has a dot without a name before or after it; orders.status",
        ),
    ] {
        let found = told(&json!({"measures": ["orders.revenue"], "dimensions": [field]}));
        assert_eq!(found, expected, "{field}");
    }
    let filter = json!({"measures": ["orders.revenue"], "filters": ["orders.at.month = 3"]});
    assert_eq!(
        told(&filter),
        "unknown_column: `orders.at.month` is not a column: `orders.at` is a time and has no parts; orders.at"
    );
    for measure in ["orders..revenue", ".revenue", "orders.revenue."] {
        let found = told(&json!({"measures": [measure]}));
        assert!(found.starts_with("parse_error: "), "{found}");
    }
}

#[test]
fn roles_of_a_broken_file_name_the_file() {
    let orders = format!(
        "{ORDERS}joins:\n  - {{to: depots, on: id = depots.id, relationship: many_to_one, alias: \"from_depot\"}}\nmood: good\n"
    );
    let depots = "name: depots\ntable: depots\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: city, type: string}\nmeasures:\n  - {name: n, expr: count(*)}\n";
    let catalog = folder(&[("orders.yaml", &orders), ("depots.yaml", depots)]);
    let outcome = |query: &Value| {
        let query = Query::from_value(query).expect("a query");
        match compile(&catalog, &query, Dialect::Sqlite) {
            Ok(compiled) => compiled.sql,
            Err(error) => format!("{}: {error}", error.kind.as_str()),
        }
    };
    let found = [
        outcome(&json!({"measures": ["depots.n"], "dimensions": ["from_depot.city"]})),
        outcome(&json!({"measures": ["depots.n"], "filters": ["from_depot.city = 'x'"]})),
        outcome(&json!({"measures": ["count(from_depot.id)"]})),
        outcome(&json!({"measures": ["depots.n"], "dimensions": ["from_dep.city"]})),
    ];
    let broken = "`from_depot` is a join alias of `orders`, which cannot be used: orders.yaml:";
    for text in found.iter().take(3) {
        assert!(
            text.starts_with(&format!("invalid_source: {broken}")),
            "{text}"
        );
    }
    assert_eq!(found[3], "unknown_source: unknown source `from_dep`");
}

#[test]
fn roles_that_lead_to_a_broken_file_name_the_file() {
    let orders = format!(
        "{ORDERS}joins:\n  - {{to: depots, on: id = depots.id, relationship: many_to_one, alias: from_depot}}\n"
    );
    let depots = "name: depots\ntable: depots\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\nmood: good\n";
    let catalog = folder(&[("orders.yaml", &orders), ("depots.yaml", depots)]);
    let query = json!({"measures": ["orders.revenue"], "dimensions": ["from_depot.id"]});
    let query = Query::from_value(&query).expect("a query");
    let error = compile(&catalog, &query, Dialect::Sqlite).expect_err("a refusal");
    let beginning = "invalid_source: `from_depot` is a join alias of `orders` for a source that cannot be used: depots.yaml:6:";
    let text = format!("{}: {error}", error.kind);
    assert!(text.starts_with(beginning), "{text}");
}

/// Outside aggregates only the measure can be meant.
#[test]
fn a_measure_called_like_a_column_is_read_in_measures_of_other_sources() {
    let spends = "name: spends\ntable: spends\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: spend, type: number}\nmeasures:\n  - {name: spend, expr: sum(spend)}\n";
    let sales = "name: sales\ntable: sales\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: spend_id, type: number}\n  - {name: value, type: number}\n\
                 joins:\n  - {to: spends, on: spend_id = spends.id, relationship: many_to_one}\n\
                 measures:\n  - {name: worth, expr: sum(value)}\n  - {name: roas, expr: worth / spends.spend}\n  - {name: bare, expr: worth / spend}\n  - {name: of_column, expr: worth / spends.id}\n";
    let catalog = folder(&[("spends.yaml", spends), ("sales.yaml", sales)]);
    let outer = |measure: &str| {
        let query = Query::from_value(&json!({"measures": [measure]})).expect("a query");
        match compile(&catalog, &query, Dialect::Sqlite) {
            Ok(compiled) => {
                let mut lines = compiled.sql.lines().filter(|line| line.contains(" / "));
                lines.next().unwrap_or_default().to_owned()
            }
            Err(error) => format!("{}: {error}", error.kind),
        }
    };
    let answers = ["sales.roas", "sales.bare", "sales.of_column"].map(outer);
    assert_eq!(
        answers,
        [
            "SELECT (CAST(COALESCE(v1_sum, 0) AS REAL) / NULLIF(COALESCE(v2_sum, 0), 0)) AS roas",
            "not_a_measure: `spend` is a column, not a measure; aggregate it",
            "not_a_measure: `spends.id` is a column, not a measure; aggregate it",
        ]
    );
}

#[test]
fn a_bare_name_is_the_column_that_is_called_exactly_so() {
    let source = |name: &str, column: &str| {
        format!(
            "name: {name}\ntable: {name}\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  - {{name: {column}, type: string}}\n"
        )
    };
    let catalog = folder(&[
        ("agents.yaml", &source("agents", "Name")),
        ("orgs.yaml", &source("orgs", "name")),
    ]);
    let from = |field: &str| {
        let query = Query::from_value(&json!({"dimensions": [field]})).expect("a query");
        match compile(&catalog, &query, Dialect::Sqlite) {
            Ok(compiled) => {
                let mut lines = compiled
                    .sql
                    .lines()
                    .filter(|line| line.starts_with("FROM "));
                lines.next().unwrap_or_default().to_owned()
            }
            Err(error) => format!("{}: {error}", error.kind),
        }
    };
    assert_eq!(
        ["Name", "name", "NAME"].map(from),
        [
            "FROM agents AS agents",
            "FROM orgs AS orgs",
            "ambiguous_column: several sources have a column `NAME`",
        ]
    );
}
