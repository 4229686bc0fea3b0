//! ClickHouse aggregates of arrays, maps and tuples, which cannot be NULL there.

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile};
use ktx_sql::Dialect;
use serde_json::{Value, json};

const SOURCES: [(&str, &str); 3] = [
    (
        "people.yaml",
        "name: people\ntable: people\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: town, type: string}\n",
    ),
    (
        "visits.yaml",
        "name: visits\ntable: visits\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: person, type: number}\n- {name: kind, type: string}\n- {name: cost, type: number}\n- {name: at, type: time}\n\
         joins:\n- {to: people, on: person = people.id, relationship: many_to_one}\n\
         measures:\n- {name: kinds, expr: groupArray(kind)}\n- {name: dear_kinds, expr: groupUniqArray(2)(kind), filter: cost > 5}\n\
         - {name: top_kinds, expr: topK(2)(kind)}\n- {name: costs, expr: \"quantiles(0.5, 0.9)(cost)\"}\n\
         - {name: by_kind, expr: \"sumMap([kind], [cost])\", filter: cost > 5}\n- {name: total, expr: sum(cost)}\n",
    ),
    (
        "orders.yaml",
        "name: orders\ntable: orders\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: person, type: number}\n\
         joins:\n- {to: people, on: person = people.id, relationship: many_to_one}\n\
         measures:\n- {name: orders, expr: count(*)}\n",
    ),
];

fn sql(query: &Value) -> String {
    let files = SOURCES.map(|(path, text)| SourceFile::new(path, text));
    let catalog = Catalog::load(files.to_vec(), Dialect::ClickHouse);
    let query = Query::from_value(query).expect("a query");
    let compiled = compile(&catalog, &query, Dialect::ClickHouse).expect("an answer");
    ktx_read_only_sql::check(&compiled.sql, Dialect::ClickHouse).expect("the gate lets it pass");
    compiled.sql
}

fn table<'s>(sql: &'s str, name: &str) -> &'s str {
    let (_, rest) = sql
        .split_once(&format!("{name} AS (\n"))
        .expect("the table is there");
    rest.split("\n)").next().unwrap_or(rest)
}

/// Includes a filter that a CASE could not express.
#[test]
fn one_part_aggregates_containers_as_they_are_written() {
    let query = json!({
        "measures": ["visits.kinds", "visits.dear_kinds", "visits.top_kinds", "visits.costs", "visits.by_kind"],
        "dimensions": ["visits.kind"],
    });
    assert_eq!(
        sql(&query),
        "WITH visits_part AS (
SELECT visits.kind AS d1_kind, groupArray(visits.kind) AS a1_kinds, groupUniqArray(2)(visits.kind) FILTER (WHERE (visits.cost > 5)) AS a2_dear_kinds, topK(2)(visits.kind) AS a3_top_kinds, quantiles(0.5, 0.9)(visits.cost) AS a4_costs, sumMap([visits.kind], [visits.cost]) FILTER (WHERE (visits.cost > 5)) AS a5_by_kind
FROM visits AS visits
GROUP BY visits.kind
)
SELECT d1_kind AS kind, a1_kinds AS kinds, a2_dear_kinds AS dear_kinds, a3_top_kinds AS top_kinds, a4_costs AS costs, a5_by_kind AS by_kind
FROM visits_part
ORDER BY kind
LIMIT 1000"
    );
}

/// An empty array represents NULL.
#[test]
fn several_parts_merge_containers() {
    let query = json!({
        "measures": ["visits.kinds", "visits.total", "orders.orders"], "dimensions": ["people.town"],
    });
    let sql = sql(&query);
    assert_eq!(
        [table(&sql, "stacked"), table(&sql, "merged")],
        [
            "SELECT d1_town, array(visits_part.a1_kinds) AS a1_kinds, a2_total, NULL AS a3_orders
FROM visits_part
UNION ALL
SELECT d1_town, array() AS a1_kinds, NULL AS a2_total, a3_orders
FROM orders_part
UNION ALL
SELECT d1_town, array() AS a1_kinds, NULL AS a2_total, NULL AS a3_orders
FROM people_members",
            "SELECT d1_town, anyLastOrNullArray(a1_kinds) AS v1_kinds, MAX(a2_total) AS v2_total, COALESCE(MAX(a3_orders), 0) AS v3_orders
FROM stacked
GROUP BY d1_town",
        ]
    );
}

#[test]
fn filled_periods_merge_containers() {
    let query = json!({
        "measures": ["visits.top_kinds"], "dimensions": ["visits.at:month"], "fill": true,
        "filters": ["visits.at >= '2024-01-01'", "visits.at < '2024-03-01'"],
    });
    let sql = sql(&query);
    assert_eq!(
        [
            table(&sql, "stacked"),
            table(&sql, "filled"),
            table(&sql, "merged")
        ],
        [
            "SELECT d1_at_month, array(visits_part.a1_top_kinds) AS a1_top_kinds
FROM visits_part",
            "SELECT d1_at_month, a1_top_kinds
FROM stacked
UNION ALL
SELECT periods.period_start AS d1_at_month, array() AS a1_top_kinds
FROM periods",
            "SELECT d1_at_month, anyLastOrNullArray(a1_top_kinds) AS v1_top_kinds
FROM filled
GROUP BY d1_at_month",
        ]
    );
}
