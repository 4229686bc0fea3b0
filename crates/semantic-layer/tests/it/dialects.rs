//! The SQL of every dialect for measures that look beyond their group, as documents.
//! `KTX_UPDATE_DOCS` writes them.
#![expect(
    clippy::disallowed_methods,
    reason = "the documents are rewritten on request"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile};
use ktx_sql::Dialect;
use ktx_sql::grammar::Grammar;
use serde_json::Value;
use sqlparser::ast::Statement;
use sqlparser::parser::Parser;

const ORDERS: &str = "\
name: orders
table: sales.orders
grain: [id]
columns:
  - {name: id, type: number}
  - {name: customer_id, type: number}
  - {name: ordered_at, type: time}
  - {name: status, type: string}
  - {name: amount, type: number}
joins:
  - {to: customers, on: customer_id = customers.id, relationship: many_to_one}
measures:
  - {name: revenue, expr: sum(amount)}
  - {name: order_count, expr: count(*)}
  - {name: buyers, expr: count(distinct customer_id)}
  - {name: middle, expr: median(amount)}
  - {name: big_count, expr: count_if(amount >= 100)}
  - {name: paid_revenue, expr: \"sum_if(amount, status = 'paid')\"}
  - {name: paid_share, ratio: {numerator: paid_revenue, denominator: revenue}}
  - {name: revenue_so_far, cumulative: {measure: revenue}}
  - {name: buyers_so_far, cumulative: {measure: buyers}}
  - {name: middle_so_far, cumulative: {measure: middle}}
  - {name: revenue_7_days, cumulative: {measure: revenue, window: {count: 7, unit: day}}}
  - {name: revenue_this_year, cumulative: {measure: revenue, window: {to_date: year}}}
  - {name: revenue_growth, compare: {measure: revenue, offset: 1, unit: year, as: ratio}}
  - {name: orders_last_month, compare: {measure: order_count, unit: month, as: value}}
  - {name: orders_last_hour, compare: {measure: order_count, unit: hour, as: value}}
";

const CUSTOMERS: &str = "\
name: customers
table: sales.customers
grain: [id]
columns:
  - {name: id, type: number}
  - {name: region, type: string}
";

const BALANCES: &str = "\
name: balances
table: bank.balances
grain: [account_id, day]
columns:
  - {name: account_id, type: number}
  - {name: day, type: time, natural_granularity: day}
  - {name: amount, type: number}
measures:
  - {name: balance, expr: sum(amount), semi_additive: {dimension: day, at: last}}
  - {name: open_accounts, expr: count(*), semi_additive: {dimension: day, at: last, per: []}}
";

const FEATURES: [(&str, &str, &str); 15] = [
    (
        "totals",
        "Totals over the last dimensions",
        r#"{"measures": ["orders.revenue", "orders.paid_share"], "dimensions": ["customers.region", "orders.ordered_at:month"], "totals": true}"#,
    ),
    (
        "others",
        "The first regions, all others, and the total",
        r#"{"measures": ["orders.revenue", "avg(orders.amount)"], "dimensions": ["customers.region"], "order_by": ["orders.revenue:desc"], "limit": 3, "others": true, "totals": true}"#,
    ),
    (
        "first-rows",
        "The two best months of each region, and the change since the row before",
        r#"{"measures": ["orders.revenue", "row_change(orders.revenue)"], "dimensions": ["customers.region", "orders.ordered_at:month"], "order_by": ["orders.revenue:desc"], "limit": 2, "limit_per": ["customers.region"]}"#,
    ),
    (
        "rolling-by-month",
        "Seven days that end with each month",
        r#"{"measures": ["orders.revenue_7_days"], "dimensions": ["orders.ordered_at:month"]}"#,
    ),
    (
        "per-entity",
        "A measure of one source as a column of another",
        r#"{"measures": ["avg(per(customers, orders.order_count))"], "dimensions": ["customers.region"], "filters": ["per(customers, orders.revenue) > 100"]}"#,
    ),
    (
        "groups",
        "Shares, places and a running total",
        r#"{"measures": ["share(orders.revenue, customers.region)", "rank(orders.revenue)", "running_total(orders.revenue)"], "dimensions": ["customers.region", "orders.ordered_at:month"], "filters": ["rank(orders.revenue) <= 3"]}"#,
    ),
    (
        "ratio",
        "A ratio, and aggregates with a condition",
        r#"{"measures": ["orders.paid_share", "orders.big_count"], "dimensions": ["customers.region"]}"#,
    ),
    (
        "cumulative",
        "A running total by month",
        r#"{"measures": ["orders.revenue", "orders.revenue_so_far"], "dimensions": ["customers.region", "orders.ordered_at:month"]}"#,
    ),
    (
        "cumulative-distinct",
        "A running count of different values, and a running median, by week",
        r#"{"measures": ["orders.buyers_so_far", "orders.middle_so_far"], "dimensions": ["orders.ordered_at:week"]}"#,
    ),
    (
        "rolling",
        "Seven days that end with each day of January",
        r#"{"measures": ["orders.revenue_7_days"], "dimensions": ["orders.ordered_at:day"], "filters": ["orders.ordered_at >= '2025-01-01' and orders.ordered_at < '2025-02-01'"]}"#,
    ),
    (
        "to-date",
        "The year to date by quarter",
        r#"{"measures": ["orders.revenue_this_year"], "dimensions": ["orders.ordered_at:quarter"]}"#,
    ),
    (
        "compare",
        "A month over the same month of the year before",
        r#"{"measures": ["orders.revenue", "orders.revenue_growth"], "dimensions": ["orders.ordered_at:month"], "filters": ["orders.ordered_at >= '2025-01-01'"]}"#,
    ),
    (
        "compare-short",
        "A month earlier by the day, where months are of different lengths",
        r#"{"measures": ["orders.orders_last_month"], "dimensions": ["orders.ordered_at:day"]}"#,
    ),
    (
        "semi-additive",
        "Balances at the end of each month",
        r#"{"measures": ["balances.balance", "balances.open_accounts"], "dimensions": ["balances.day:month"]}"#,
    ),
    (
        "fill",
        "Every hour of two days, with the hour before",
        r#"{"measures": ["orders.order_count", "orders.orders_last_hour"], "dimensions": ["orders.ordered_at:hour", "customers.region"], "filters": ["orders.ordered_at between '2025-01-01' and '2025-01-02 23:59:59'"], "fill": true}"#,
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/mdtest/semantic-layer-dialects")
}

fn catalog(dialect: Dialect) -> Catalog {
    let files = [
        ("orders.yaml", ORDERS),
        ("customers.yaml", CUSTOMERS),
        ("balances.yaml", BALANCES),
    ];
    let files = files.map(|(path, text)| SourceFile::new(path, text));
    Catalog::load(files.to_vec(), dialect)
}

fn written(query: &Value, dialect: Dialect) -> String {
    let query = Query::from_value(query).expect("a query");
    let compiled = compile(&catalog(dialect), &query, dialect)
        .unwrap_or_else(|error| panic!("{dialect}: {error}"));
    let sql = compiled.sql;
    if let Err(refusal) = ktx_read_only_sql::check(&sql, dialect) {
        panic!("{dialect}: the gate says {refusal}\n{sql}");
    }
    match Parser::parse_sql(&Grammar::new(dialect), &sql) {
        Ok(statements) if matches!(statements.as_slice(), [Statement::Query(_)]) => sql,
        other => panic!("{dialect}: {other:?}\n{sql}"),
    }
}

fn document(title: &str, query: &str) -> String {
    let query: Value = serde_json::from_str(query).expect("JSON");
    let pretty = serde_json::to_string_pretty(&query).expect("JSON");
    let mut text = format!("# {title}\n\n```json\n{pretty}\n```\n");
    for dialect in Dialect::ALL {
        let sql = written(&query, dialect);
        write!(text, "\n## {dialect}\n\n```sql\n{sql}\n```\n").expect("text grows");
    }
    text
}

#[test]
fn every_dialect_is_sent_its_own_sql_for_each_feature() {
    for (name, title, query) in FEATURES {
        let written = document(title, query);
        let path = folder().join(format!("{name}.md"));
        if std::env::var_os("KTX_UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(folder()).expect("the folder");
            std::fs::write(&path, &written).expect("the document is written");
        } else {
            let stands = std::fs::read_to_string(&path).expect("a document");
            assert_eq!(
                written, stands,
                "{name} is stale: set KTX_UPDATE_DOCS=1 and look at the difference"
            );
        }
    }
}

#[test]
fn the_model_is_valid_in_every_dialect() {
    for dialect in Dialect::ALL {
        let report = ktx_semantic_layer::validate(&catalog(dialect), &[]);
        assert_eq!(report.errors, Vec::new(), "{dialect}");
    }
}
