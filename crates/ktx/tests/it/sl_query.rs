//! `ktx sl query`.

use crate::support::{SHOP, check, shop, unscanned, write};

const COMPILED: &str = r#"
exit 0
{
  "connectionId": "warehouse",
  "dialect": "sqlite",
  "sql": "WITH orders_part AS (\nSELECT regions.name AS d1_name, sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue\nFROM orders AS orders\nLEFT JOIN customers AS customers ON orders.customer_id = customers.id\nLEFT JOIN regions AS regions ON customers.region_id = regions.id\nGROUP BY regions.name\n),\nregions_members AS (\nSELECT DISTINCT regions.name AS d1_name\nFROM regions AS regions\n),\nstacked AS (\nSELECT d1_name, a1_revenue\nFROM orders_part\nUNION ALL\nSELECT d1_name, NULL AS a1_revenue\nFROM regions_members\n),\nmerged AS (\nSELECT d1_name, MAX(a1_revenue) AS v1_revenue\nFROM stacked\nGROUP BY d1_name\n)\nSELECT d1_name AS name, v1_revenue AS revenue\nFROM merged\nORDER BY name\nLIMIT 1000",
  "headers": [
    "name",
    "revenue"
  ],
  "totalRows": 0,
  "rows": [],
  "truncated": false,
  "notes": [],
  "plan": {
    "sources_used": [
      "customers",
      "orders",
      "regions"
    ],
    "join_paths": [
      "orders -> customers",
      "orders -> customers -> regions"
    ],
    "joins": [
      {
        "from_source": "orders",
        "to_source": "customers",
        "from_column": "customer_id",
        "to_column": "id",
        "relationship": "many_to_one"
      },
      {
        "from_source": "customers",
        "to_source": "regions",
        "from_column": "region_id",
        "to_column": "id",
        "relationship": "many_to_one"
      }
    ],
    "anchor_source": "orders",
    "anchor_grain": [
      "id"
    ],
    "fan_out_description": null,
    "has_fan_out": false,
    "measure_groups": [
      {
        "source": "orders",
        "measures": [
          "revenue"
        ]
      }
    ],
    "aggregate_locality": [
      "each row of `orders` is counted once",
      "members of `regions` are added"
    ],
    "where_filters": [],
    "having_filters": [],
    "columns": [
      {
        "name": "name",
        "provenance": "dimension",
        "expr": "regions.name",
        "description": null,
        "granularity": null
      },
      {
        "name": "revenue",
        "provenance": "predefined",
        "expr": "orders.revenue",
        "description": "Money received from real customers.",
        "granularity": null
      }
    ],
    "measures": [
      {
        "name": "revenue",
        "expr": "sum(amount)",
        "source_name": "orders",
        "original_name": "revenue",
        "qualified_ref": "orders.revenue",
        "filter": "status = 'paid' and customers.test = 0",
        "provenance": "predefined",
        "is_derived": false,
        "depends_on": [
          "sum(orders.amount) where orders.status = 'paid' AND customers.test = 0"
        ],
        "description": "Money received from real customers.",
        "sql": "v1_revenue"
      }
    ],
    "parts": [
      {
        "name": "orders_part",
        "kind": "groups",
        "home": "orders",
        "lookups": [
          "customers",
          "regions"
        ],
        "sql": "SELECT regions.name AS d1_name, sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue\nFROM orders AS orders\nLEFT JOIN customers AS customers ON orders.customer_id = customers.id\nLEFT JOIN regions AS regions ON customers.region_id = regions.id\nGROUP BY regions.name"
      },
      {
        "name": "regions_members",
        "kind": "members",
        "home": "regions",
        "lookups": [],
        "sql": "SELECT DISTINCT regions.name AS d1_name\nFROM regions AS regions"
      }
    ],
    "execution": {
      "mode": "compile_only",
      "reason": "execution was not asked for"
    }
  }
}
--- stderr
Project: [SANDBOX]/work
"#;

const EXECUTED: &str = r#"
exit 0
{
  "connectionId": "warehouse",
  "dialect": "sqlite",
  "sql": "WITH orders_part AS (\nSELECT regions.name AS d1_name, sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue\nFROM orders AS orders\nLEFT JOIN customers AS customers ON orders.customer_id = customers.id\nLEFT JOIN regions AS regions ON customers.region_id = regions.id\nGROUP BY regions.name\n),\nregions_members AS (\nSELECT DISTINCT regions.name AS d1_name\nFROM regions AS regions\n),\nstacked AS (\nSELECT d1_name, a1_revenue\nFROM orders_part\nUNION ALL\nSELECT d1_name, NULL AS a1_revenue\nFROM regions_members\n),\nmerged AS (\nSELECT d1_name, MAX(a1_revenue) AS v1_revenue\nFROM stacked\nGROUP BY d1_name\n)\nSELECT d1_name AS name, v1_revenue AS revenue\nFROM merged\nORDER BY name\nLIMIT 1000",
  "headers": [
    "name",
    "revenue"
  ],
  "totalRows": 3,
  "rows": [
    [
      "Islands",
      null
    ],
    [
      "North",
      15.5
    ],
    [
      "South",
      10.0
    ]
  ],
  "truncated": false,
  "notes": [],
  "plan": {
    "sources_used": [
      "customers",
      "orders",
      "regions"
    ],
    "join_paths": [
      "orders -> customers",
      "orders -> customers -> regions"
    ],
    "joins": [
      {
        "from_source": "orders",
        "to_source": "customers",
        "from_column": "customer_id",
        "to_column": "id",
        "relationship": "many_to_one"
      },
      {
        "from_source": "customers",
        "to_source": "regions",
        "from_column": "region_id",
        "to_column": "id",
        "relationship": "many_to_one"
      }
    ],
    "anchor_source": "orders",
    "anchor_grain": [
      "id"
    ],
    "fan_out_description": null,
    "has_fan_out": false,
    "measure_groups": [
      {
        "source": "orders",
        "measures": [
          "revenue"
        ]
      }
    ],
    "aggregate_locality": [
      "each row of `orders` is counted once",
      "members of `regions` are added"
    ],
    "where_filters": [],
    "having_filters": [],
    "columns": [
      {
        "name": "name",
        "provenance": "dimension",
        "expr": "regions.name",
        "description": null,
        "granularity": null
      },
      {
        "name": "revenue",
        "provenance": "predefined",
        "expr": "orders.revenue",
        "description": "Money received from real customers.",
        "granularity": null
      }
    ],
    "measures": [
      {
        "name": "revenue",
        "expr": "sum(amount)",
        "source_name": "orders",
        "original_name": "revenue",
        "qualified_ref": "orders.revenue",
        "filter": "status = 'paid' and customers.test = 0",
        "provenance": "predefined",
        "is_derived": false,
        "depends_on": [
          "sum(orders.amount) where orders.status = 'paid' AND customers.test = 0"
        ],
        "description": "Money received from real customers.",
        "sql": "v1_revenue"
      }
    ],
    "parts": [
      {
        "name": "orders_part",
        "kind": "groups",
        "home": "orders",
        "lookups": [
          "customers",
          "regions"
        ],
        "sql": "SELECT regions.name AS d1_name, sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue\nFROM orders AS orders\nLEFT JOIN customers AS customers ON orders.customer_id = customers.id\nLEFT JOIN regions AS regions ON customers.region_id = regions.id\nGROUP BY regions.name"
      },
      {
        "name": "regions_members",
        "kind": "members",
        "home": "regions",
        "lookups": [],
        "sql": "SELECT DISTINCT regions.name AS d1_name\nFROM regions AS regions"
      }
    ],
    "execution": {
      "mode": "executed",
      "driver": "sqlite",
      "maxRows": 1000,
      "rowCount": 3
    }
  }
}
--- stderr
Project: [SANDBOX]/work
"#;

#[test]
fn the_whole_answer_is_json() {
    let sandbox = shop();
    let query = "sl query --measure orders.revenue --dimension regions.name";
    check(&sandbox, query, COMPILED);
    check(&sandbox, &format!("{query} --execute"), EXECUTED);
}

#[test]
fn sql_and_rows_are_printed() {
    let sandbox = shop();
    check!(&sandbox, "sl query --measure orders.revenue --dimension regions.name --format sql", @r"
exit 0
WITH orders_part AS (
SELECT regions.name AS d1_name, sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue
FROM orders AS orders
LEFT JOIN customers AS customers ON orders.customer_id = customers.id
LEFT JOIN regions AS regions ON customers.region_id = regions.id
GROUP BY regions.name
),
regions_members AS (
SELECT DISTINCT regions.name AS d1_name
FROM regions AS regions
),
stacked AS (
SELECT d1_name, a1_revenue
FROM orders_part
UNION ALL
SELECT d1_name, NULL AS a1_revenue
FROM regions_members
),
merged AS (
SELECT d1_name, MAX(a1_revenue) AS v1_revenue
FROM stacked
GROUP BY d1_name
)
SELECT d1_name AS name, v1_revenue AS revenue
FROM merged
ORDER BY name
LIMIT 1000
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl query --measure orders.revenue --dimension regions.name --format sql --execute", @r"
exit 0
WITH orders_part AS (
SELECT regions.name AS d1_name, sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue
FROM orders AS orders
LEFT JOIN customers AS customers ON orders.customer_id = customers.id
LEFT JOIN regions AS regions ON customers.region_id = regions.id
GROUP BY regions.name
),
regions_members AS (
SELECT DISTINCT regions.name AS d1_name
FROM regions AS regions
),
stacked AS (
SELECT d1_name, a1_revenue
FROM orders_part
UNION ALL
SELECT d1_name, NULL AS a1_revenue
FROM regions_members
),
merged AS (
SELECT d1_name, MAX(a1_revenue) AS v1_revenue
FROM stacked
GROUP BY d1_name
)
SELECT d1_name AS name, v1_revenue AS revenue
FROM merged
ORDER BY name
LIMIT 1000

name     revenue
Islands  NULL
North    15.5
South    10
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl query --measure orders.revenue --dimension regions.name --format table --execute", @r"
exit 0
name     revenue
Islands  NULL
North    15.5
South    10
--- stderr
Project: [SANDBOX]/work
");
    check!(
                &sandbox,
                "sl query --measure orders.revenue --measure orders.order_count --dimension regions.name \
                 --order-by orders.revenue:desc --format csv --execute",
                @r"
exit 0
name,revenue,order_count
North,15.5,3
South,10,3
Islands,,0
--- stderr
Project: [SANDBOX]/work
");
}

#[test]
fn members_without_facts_can_be_left_out() {
    let sandbox = shop();
    let query = "sl query --measure orders.revenue --dimension regions.name --format csv --execute";
    check!(&sandbox, &format!("{query} --include-empty"), @r"
exit 0
name,revenue
Islands,
North,15.5
South,10
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, &format!("{query} --include-empty false"), @r"
exit 0
name,revenue
North,15.5
South,10
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, &format!("{query} --include-empty maybe"), @r"
exit 2
--- stderr
error: invalid value 'maybe' for '--include-empty [<BOOL>]'
  [possible values: true, false]

For more information, try '--help'.
");
}

#[test]
fn a_time_column_is_cut_to_a_granularity() {
    let sandbox = shop();
    check!(&sandbox, "sl query --measure orders.revenue --dimension orders.ordered_at:month --format csv --execute", @r"
exit 0
ordered_at_month,revenue
2026-01-01,15.5
2026-02-01,7.25
2026-03-01,2.75
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl query --measure orders.revenue --dimension orders.ordered_at:fortnight", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: unknown granularity `fortnight`

    hint: try `year`
    hint: try `quarter`
    hint: try `month`
    hint: try `week`
    hint: try `day`
    hint: try `hour`
    hint: try `minute`
    hint: run `ktx sl query --measure orders.revenue --dimension orders.ordered_at:year`
    hint: run `ktx sl query --measure orders.revenue --dimension orders.ordered_at:quarter`
    ");
    check!(&sandbox, "sl query --measure orders.revenue --dimension regions.name:month", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: `regions.name` is not a time column; it has no granularity; if its texts are dates, add `columns: [{name: name_time, type: time, expr: name}]` to the overlay of `regions`

    hint: run `ktx sl query --measure orders.revenue --dimension regions.name`
    ");
}

#[test]
fn filters_and_segments_narrow() {
    let sandbox = shop();
    check!(&sandbox, "sl query --measure orders.order_count --segment orders.paid --filter 'regions.name = (select 1)'", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: subqueries are not allowed in expressions

    hint: write `overall(avg(orders.amount))` for a number over all rows, `per(customers, count(orders.*)) = 0` for rows without others, or a source with `sql`
    ");
    check!(&sandbox, "sl query --measure orders.order_count --segment orders.paid --filter 'customers.test = 0' --dimension regions.name --format csv --execute", @r"
exit 0
name,order_count
North,2
South,2
--- stderr
Project: [SANDBOX]/work
note: members of `regions` without facts are left out: filter `customers.test = 0` names `customers`, which has many rows per row of `regions`
");
}

#[test]
fn a_truncated_answer_says_so() {
    let sandbox = shop();
    let query =
        "sl query --measure orders.revenue --dimension orders.id --order-by orders.id --execute";
    check!(&sandbox, &format!("{query} --format table --max-rows 2"), @r"
exit 0
id  revenue
1   10
2   5.5
--- stderr
Project: [SANDBOX]/work
only the first 2 rows; there are more
");
    check!(&sandbox, &format!("{query} --format csv --limit 2"), @r"
exit 0
id,revenue
1,10
2,5.5
--- stderr
Project: [SANDBOX]/work
");
    for (limit, truncated) in [(1, true), (2, true), (1000, false)] {
        let answer = crate::support::json(&sandbox, &format!("{query} --limit {limit}"));
        assert_eq!(answer["truncated"], truncated, "{limit}");
    }
    let answer = crate::support::json(&sandbox, &format!("{query} --max-rows 2"));
    let part = |name: &str| answer.get(name).cloned().unwrap_or_default();
    assert_eq!(
        (part("truncated"), part("totalRows"), part("rows")),
        (
            true.into(),
            2.into(),
            serde_json::json!([[1, 10.0], [2, 5.5]])
        )
    );
}

#[test]
fn a_query_can_come_from_a_file_or_from_stdin() {
    let sandbox = shop();
    let query = r#"{"measures":["orders.revenue"],"dimensions":[{"field":"orders.ordered_at","granularity":"month"}],"segments":["orders.paid"]}"#;
    write(&sandbox, "query.json", query);
    check!(&sandbox, "sl query --query-file query.json --format csv --execute", @r"
exit 0
ordered_at_month,revenue
2026-01-01,15.5
2026-02-01,7.25
2026-03-01,2.75
--- stderr
Project: [SANDBOX]/work
");
    let from_file = crate::support::run(&sandbox, "sl query --query-file query.json");
    let from_stdin = sandbox
        .run_with_input(&["sl", "query", "--query-file", "-"], query)
        .unwrap();
    assert_eq!(from_file, from_stdin);
    let broken = sandbox
        .run_with_input(&["sl", "query", "--query-file", "-"], "{\"measures\":")
        .unwrap();
    compare!("sl query --query-file -", &broken, @r"
exit 6
--- stderr
error: the query is not valid JSON: EOF while parsing a value at line 1 column 12
");
    check!(&sandbox, "sl query --query-file nowhere.json", @r"
exit 2
--- stderr
error: the query file `nowhere.json` cannot be read
  caused by: No such file or directory (os error 2)
");
    check!(&sandbox, "sl query --query-file query.json --measure orders.revenue", @r"
exit 2
--- stderr
error: the argument '--query-file <FILE>' cannot be used with '--measure <MEASURE>'

Usage: ktx sl query --query-file <FILE>

For more information, try '--help'.
");
}

#[test]
fn explain_shows_how_it_is_answered() {
    let sandbox = shop();
    check!(&sandbox, "sl query --measure orders.revenue --dimension regions.name --explain", @r"
exit 0
measure revenue: sum(orders.amount) where orders.status = 'paid' AND customers.test = 0 (rows of orders)
dimension name: regions.name

part orders_part (groups)
  orders
  └─ customers (customer_id = customers.id, many_to_one)
     └─ regions (region_id = regions.id, many_to_one)

part regions_members (members)
  regions
--- stderr
Project: [SANDBOX]/work
");
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_next_step() {
    let sandbox = shop();
    check!(&sandbox, "sl query", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: the query asks for no measures and no dimensions

    hint: begin with one measure, such as `sum(orders.amount)`, and add to the query part by part
    ");
    check!(&sandbox, "sl query --measure orders.revenu", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: unknown measure `orders.revenu`

    hint: try `orders.revenue`
    hint: run `ktx sl query --measure orders.revenue`
    ");
    check!(&sandbox, "sl query --measure orders.revenu --json", @r#"
    exit 6
    {
      "error": {
        "code": "unknown_measure",
        "message": "unknown measure `orders.revenu`",
        "hint": "try `orders.revenue`",
        "suggestions": [
          {
            "measures": [
              "orders.revenue"
            ]
          }
        ],
        "hints": [
          "try `orders.revenue`",
          "run `ktx sl query --measure orders.revenue`"
        ]
      }
    }
    "#);
    check!(&sandbox, "sl query --measure orders.revenue --dimension region.name", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: unknown source `region`

    hint: try `regions`
    hint: run `ktx sl query --measure orders.revenue --dimension regions.name`
    ");
    check!(&sandbox, "sl query --measure orders.revenue --order-by regions.name", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: cannot order by `regions.name`: it is not in the query

    hint: try `revenue`
    hint: run `ktx sl query --measure orders.revenue`
    ");
    check!(&sandbox, "sl query --measure orders.revenue --order-by orders.revenue:sideways", @r"
exit 6
--- stderr
error: unknown sort direction `sideways`

hint: try `asc`
hint: try `desc`
");
    check!(&sandbox, "sl query --measure 'sum(customers.id)' --dimension orders.status", @r"
exit 6
--- stderr
Project: [SANDBOX]/work
error: `orders` has many rows per row of `customers`: grouping by `orders.status` would count them more than once

hint: run `ktx sl query --measure 'sum(customers.id)' --dimension orders.status --across count_each`
");
    check!(&sandbox, "sl query --measure orders.revenue --format table", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: there are no rows: execution was not asked for

hint: add `--execute`, or use `--format sql`
");
    check!(&unscanned(SHOP), "sl query --measure orders.revenue", @r"
exit 6
--- stderr
Project: [SANDBOX]/work
error: `warehouse` has no semantic sources

hint: run `ktx scan warehouse`
");
}
