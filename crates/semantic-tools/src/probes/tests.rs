//! Tests of probes.

use ktx_sql::Dialect;

use super::{probes, relation_probe};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::SourceFile;

const ORDERS: &str = "\
name: orders
table: shop.orders
grain: [id, line]
columns:
  - {name: id, type: number}
  - {name: line, type: number}
  - {name: who, type: number}
  - {name: cost, type: number}
  - {name: at, type: time}
  - {name: net, type: number, expr: cost * 0.8}
joins:
  - {to: people, on: who = people.id, relationship: many_to_one}
measures:
  - {name: revenue, expr: sum(net), segments: [paid]}
  - {name: running, cumulative: {measure: revenue}}
segments:
  - {name: paid, expr: cost > 0}
";
const PEOPLE: &str = "\
name: people
sql: select id, name from people; -- everyone
grain: [key]
columns:
  - {name: id, type: number}
  - {name: key, type: number, expr: id}
";

fn check(dialect: Dialect, name: &str, expected: &str) {
    let files = vec![
        SourceFile::new("orders.yaml", ORDERS),
        SourceFile::new("people.yaml", PEOPLE),
    ];
    let catalog = Catalog::load(files, dialect);
    let source = catalog.source(name).unwrap();
    let asked = probes(&catalog, source, 1000);
    let mut lines = vec![relation_probe(&catalog, source).sql];
    lines.extend(
        asked
            .asked
            .iter()
            .map(|probe| format!("{}: {}", probe.claim, probe.sql.replace('\n', " "))),
    );
    lines.extend(
        asked
            .not_asked
            .iter()
            .map(|not| format!("{:?} is not asked: {}", not.part, not.reason)),
    );
    assert_eq!(format!("{}\n", lines.join("\n")), expected);
}

#[test]
fn everything_that_a_source_claims_is_asked_in_bounded_statements() {
    check(
        Dialect::Postgres,
        "orders",
        r#"SELECT * FROM shop.orders AS probed LIMIT 0
one row per id, line: SELECT id, line, COUNT(*) AS repeated_rows FROM (SELECT id, line FROM shop.orders AS probed LIMIT 1000) AS sampled GROUP BY id, line HAVING COUNT(*) > 1 LIMIT 1
the columns can be compared: SELECT own_side.who FROM (SELECT who FROM shop.orders AS probed) AS own_side JOIN (SELECT id FROM (SELECT id, name FROM people) AS probed) AS other_side ON own_side.who = other_side.id LIMIT 0
at most one row of people per id: SELECT id, COUNT(*) AS repeated_rows FROM (SELECT id FROM (SELECT id, name FROM people) AS probed WHERE id IS NOT NULL LIMIT 1000) AS sampled GROUP BY id HAVING COUNT(*) > 1 LIMIT 1
the expression runs: WITH orders_members AS ( SELECT DISTINCT (orders.cost * 0.8) AS d1_net FROM shop.orders AS orders ) SELECT d1_net AS net FROM orders_members ORDER BY net LIMIT 0
the condition runs: WITH orders_part AS ( SELECT count(CASE WHEN (orders.cost > 0) THEN orders.id END) AS a1_counted FROM shop.orders AS orders ) SELECT a1_counted AS counted FROM orders_part LIMIT 0
the measure runs: WITH orders_part AS ( SELECT sum(CASE WHEN (orders.cost > 0) THEN (orders.cost * 0.8) END) AS a1_revenue FROM shop.orders AS orders ) SELECT a1_revenue AS revenue FROM orders_part LIMIT 0
the measure runs by day: WITH orders_present AS ( SELECT DISTINCT CAST(DATE_TRUNC('day', orders."at") AS DATE) AS d1_at_day FROM shop.orders AS orders ), periods AS ( SELECT DISTINCT period_start FROM ( SELECT d1_at_day AS period_start FROM orders_present ) AS occurring WHERE period_start IS NOT NULL ), orders_window AS ( SELECT periods.period_start AS d1_at_day, SUM(by_period.a1_running) AS a1_running FROM ( SELECT CAST(DATE_TRUNC('day', orders."at") AS DATE) AS d1_at_day, sum(CASE WHEN (orders.cost > 0) THEN (orders.cost * 0.8) END) AS a1_running FROM shop.orders AS orders GROUP BY CAST(DATE_TRUNC('day', orders."at") AS DATE) ) AS by_period CROSS JOIN periods WHERE by_period.d1_at_day <= periods.period_start GROUP BY periods.period_start ), stacked AS ( SELECT d1_at_day, (SELECT a1_running FROM orders_window WHERE 1 = 0) AS a1_running FROM orders_present UNION ALL SELECT d1_at_day, a1_running FROM orders_window ), merged AS ( SELECT d1_at_day, MAX(a1_running) AS v1_running FROM stacked GROUP BY d1_at_day ) SELECT d1_at_day AS at_day, v1_running AS running FROM merged ORDER BY at_day LIMIT 0
"#,
    );
}

#[test]
fn sql_server_says_its_limits_first() {
    check(
        Dialect::SqlServer,
        "orders",
        r"SELECT TOP (0) * FROM shop.orders AS probed
one row per id, line: SELECT TOP (1) id, line, COUNT(*) AS repeated_rows FROM (SELECT TOP (1000) id, line FROM shop.orders AS probed) AS sampled GROUP BY id, line HAVING COUNT(*) > 1
the columns can be compared: SELECT TOP (0) own_side.who FROM (SELECT who FROM shop.orders AS probed) AS own_side JOIN (SELECT id FROM (SELECT id, name FROM people) AS probed) AS other_side ON own_side.who = other_side.id
at most one row of people per id: SELECT TOP (1) id, COUNT(*) AS repeated_rows FROM (SELECT TOP (1000) id FROM (SELECT id, name FROM people) AS probed WHERE id IS NOT NULL) AS sampled GROUP BY id HAVING COUNT(*) > 1
the expression runs: WITH orders_members AS ( SELECT DISTINCT (orders.cost * 0.8) AS d1_net FROM shop.orders AS orders ) SELECT TOP 0 d1_net AS net FROM orders_members ORDER BY net
the condition runs: WITH orders_part AS ( SELECT count(CASE WHEN (orders.cost > 0) THEN orders.id END) AS a1_counted FROM shop.orders AS orders ) SELECT TOP 0 a1_counted AS counted FROM orders_part
the measure runs: WITH orders_part AS ( SELECT sum(CASE WHEN (orders.cost > 0) THEN (orders.cost * 0.8) END) AS a1_revenue FROM shop.orders AS orders ) SELECT TOP 0 a1_revenue AS revenue FROM orders_part
the measure runs by day: WITH orders_present AS ( SELECT DISTINCT CAST(orders.[at] AS DATE) AS d1_at_day FROM shop.orders AS orders ), periods AS ( SELECT DISTINCT period_start FROM ( SELECT d1_at_day AS period_start FROM orders_present ) AS occurring WHERE period_start IS NOT NULL ), orders_window AS ( SELECT periods.period_start AS d1_at_day, SUM(by_period.a1_running) AS a1_running FROM ( SELECT CAST(orders.[at] AS DATE) AS d1_at_day, sum(CASE WHEN (orders.cost > 0) THEN (orders.cost * 0.8) END) AS a1_running FROM shop.orders AS orders GROUP BY CAST(orders.[at] AS DATE) ) AS by_period CROSS JOIN periods WHERE by_period.d1_at_day <= periods.period_start GROUP BY periods.period_start ), stacked AS ( SELECT d1_at_day, (SELECT a1_running FROM orders_window WHERE 1 = 0) AS a1_running FROM orders_present UNION ALL SELECT d1_at_day, a1_running FROM orders_window ), merged AS ( SELECT d1_at_day, MAX(a1_running) AS v1_running FROM stacked GROUP BY d1_at_day ) SELECT TOP 0 d1_at_day AS at_day, v1_running AS running FROM merged ORDER BY at_day
",
    );
}

#[test]
fn queries_are_asked_as_tables_and_computed_keys_are_not_asked() {
    check(
        Dialect::Sqlite,
        "people",
        r#"SELECT * FROM (SELECT id, name FROM people) AS probed LIMIT 0
the expression runs: WITH people_members AS ( SELECT DISTINCT people.id AS d1_key FROM (SELECT id, name FROM people) AS people ) SELECT d1_key AS "key" FROM people_members ORDER BY "key" LIMIT 0
Grain is not asked: `people.key` is computed, and only columns of the relation are looked at
"#,
    );
}
