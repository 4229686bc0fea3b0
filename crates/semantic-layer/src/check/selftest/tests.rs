//! SQL and verdicts of self-tests.

use ktx_sql::Dialect;
use ktx_warehouse::Cell;

use super::{Expectation, SelfTest, SelfTestKind, Verdict, judge, self_tests};
use crate::catalog::Catalog;
use crate::model::source_file::SourceFile;

const ORDERS: &str = "\
name: orders
table: sales.orders
grain: [id]
columns:
  - {name: id, type: number, visibility: hidden}
  - {name: customer_id, type: number}
  - {name: cost, type: number}
joins:
  - {to: customers, on: customer_id = customers.id, relationship: many_to_one}
measures:
  - {name: revenue, expr: sum(cost), filter: cost > 0}
  - {name: average, expr: avg(cost)}
  - {name: buyers, expr: count(distinct customer_id)}
  - {name: share, expr: revenue / 2}
";

const CUSTOMERS: &str = "\
name: customers
sql: with known as (select id, Name from people) select * from known
grain: [id]
columns:
  - {name: id, type: number}
  - {name: Name, type: string}
";

fn shop(dialect: Dialect) -> Catalog {
    let files = vec![
        SourceFile::new("orders.yaml", ORDERS),
        SourceFile::new("customers.yaml", CUSTOMERS),
    ];
    Catalog::load(files, dialect)
}

#[test]
fn grain_joins_and_additive_measures_are_checked() {
    let tests = self_tests(&shop(Dialect::Postgres), Some("orders"));
    let listed: Vec<(&str, &str)> = tests
        .iter()
        .map(|test| (test.kind.name(), test.name.as_str()))
        .collect();
    assert_eq!(
        listed,
        [
            ("grain_unique", "orders: one row per id"),
            (
                "join_target_unique",
                "orders -> customers: at most one row of customers per id"
            ),
            (
                "join_keys_present",
                "orders -> customers: every row of orders has customer_id"
            ),
            (
                "measure_total",
                "orders.revenue: groups by customers.id add up to the total"
            ),
        ]
    );
    let sql: Vec<&str> = tests.iter().map(|test| test.sql.as_str()).collect();
    assert_eq!(
        sql,
        [
            "WITH orders_part AS (
SELECT orders.id AS d1_id, COUNT(*) AS a1_row_count
FROM sales.orders AS orders
GROUP BY orders.id
)
SELECT COUNT(*) AS repeated_keys
FROM orders_part
WHERE a1_row_count > 1",
            "WITH customers_part AS (
SELECT customers.id AS d1_id, COUNT(*) AS a1_row_count
FROM (WITH known AS (SELECT id, Name FROM people) SELECT * FROM known) AS customers
GROUP BY customers.id
)
SELECT COUNT(*) AS repeated_keys
FROM customers_part
WHERE a1_row_count > 1 AND d1_id IS NOT NULL",
            "WITH orders_part AS (
SELECT COUNT(CASE WHEN (orders.customer_id IS NULL) THEN 1 END) AS a1_row_count
FROM sales.orders AS orders
)
SELECT a1_row_count AS missing_keys
FROM orders_part",
            "WITH orders_part AS (
SELECT customers.id AS d1_id, sum(CASE WHEN (orders.cost > 0) THEN orders.cost END) AS a1_revenue
FROM sales.orders AS orders
LEFT JOIN (WITH known AS (SELECT id, Name FROM people) SELECT * FROM known) AS customers ON orders.customer_id = customers.id
GROUP BY customers.id
),
orders_part_total AS (
SELECT sum(CASE WHEN (orders.cost > 0) THEN orders.cost END) AS a1_revenue
FROM sales.orders AS orders
)
SELECT summed.group_total AS group_total, orders_part_total.a1_revenue AS raw_total
FROM (SELECT SUM(a1_revenue) AS group_total FROM orders_part) AS summed
CROSS JOIN orders_part_total",
        ]
    );
}

#[test]
fn the_gate_lets_every_check_pass_in_every_dialect() {
    let mut refused: Vec<String> = Vec::new();
    for dialect in Dialect::ALL {
        let tests = self_tests(&shop(dialect), None);
        assert_eq!(tests.len(), 4, "{dialect}");
        for test in tests {
            if let Err(refusal) = ktx_read_only_sql::check(&test.sql, dialect) {
                refused.push(format!("{dialect} {}: {refusal}\n{}", test.name, test.sql));
            }
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

fn check(kind: SelfTestKind, expectation: Expectation, cells: &[Cell], expected: &Verdict) {
    let test = SelfTest {
        name: String::new(),
        source: String::new(),
        kind,
        sql: String::new(),
        expectation,
    };
    assert_eq!(&judge(&test, &[cells.to_vec()]), expected);
}

#[test]
fn verdicts_follow_from_the_row() {
    use Expectation::{SameTotals, Zero, ZeroOrWarning};
    use SelfTestKind::{GrainUnique, JoinKeysPresent, MeasureTotal};
    let text = |text: &str| text.to_owned();
    check(GrainUnique, Zero, &[Cell::Int(0)], &Verdict::Passed);
    check(
        GrainUnique,
        Zero,
        &[Cell::UInt(2)],
        &Verdict::Failed(text("2 keys have more than one row")),
    );
    check(
        JoinKeysPresent,
        ZeroOrWarning,
        &[Cell::Decimal(text("3"))],
        &Verdict::Warned(text("3 rows have no key")),
    );
    check(
        GrainUnique,
        Zero,
        &[Cell::Bool(true)],
        &Verdict::Unclear(text("`true` is not a number")),
    );
    check(
        GrainUnique,
        Zero,
        &[],
        &Verdict::Unclear(text("a row of 0 cells")),
    );
    check(
        MeasureTotal,
        SameTotals,
        &[Cell::Null, Cell::Int(0)],
        &Verdict::Passed,
    );
    check(
        MeasureTotal,
        SameTotals,
        &[Cell::Float(0.1 + 0.2), Cell::Float(0.3)],
        &Verdict::Passed,
    );
    check(
        MeasureTotal,
        SameTotals,
        &[Cell::Decimal(text("12.50")), Cell::Int(9)],
        &Verdict::Failed(text("the groups add up to 12.50, the total is 9")),
    );
}

#[test]
fn no_row_is_no_verdict() {
    let tests = self_tests(&shop(Dialect::Sqlite), Some("customers"));
    let verdicts: Vec<Verdict> = tests.iter().map(|test| judge(test, &[])).collect();
    assert_eq!(
        verdicts,
        [Verdict::Unclear("0 rows instead of one".to_owned())]
    );
}
