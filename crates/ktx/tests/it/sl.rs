//! `ktx sl`: list, search, read, validate.

use crate::support::{ORDERS, SHOP, project, run, shop, unscanned, write};

#[test]
fn sources_are_listed() {
    let sandbox = shop();
    check!(&sandbox, "sl", @r"
exit 0
warehouse	customers	columns=4	measures=0	joins=2
warehouse	orders	columns=5	measures=2	joins=1
warehouse	regions	columns=2	measures=0	joins=1
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl --output pretty", @r"
exit 0
CONNECTION  SOURCE     COLUMNS  MEASURES  JOINS  DESCRIPTION
warehouse   customers  4        0         2
warehouse   orders     5        2         1      One row per order; cancelled orders are not kept.
warehouse   regions    2        0         1
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl --json --limit 2", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "connectionId": "warehouse",
        "name": "customers",
        "path": "semantic-layer/warehouse/_schema/public.yaml#customers",
        "columnCount": 4,
        "measureCount": 0,
        "joinCount": 2
      },
      {
        "connectionId": "warehouse",
        "name": "orders",
        "path": "semantic-layer/warehouse/orders.yaml",
        "description": "One row per order; cancelled orders are not kept.",
        "columnCount": 5,
        "measureCount": 2,
        "joinCount": 1
      }
    ]
  },
  "meta": {
    "command": "sl list"
  }
}
"#);
}

#[test]
fn sources_are_found_by_their_words_and_values() {
    let sandbox = shop();
    check!(&sandbox, "sl money received", @r"
exit 0
score=1	warehouse	orders	columns=5	measures=2	joins=1
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl --output pretty money", @r"
exit 0
orders  (lexical)
    …at revenue order_count paid The day of the order. Money received from real customers.
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl --output pretty Islands", @r"
exit 0
regions  (dictionary)
    1 2 3 Islands North South
    name: Islands
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl Islands --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "connectionId": "warehouse",
        "name": "regions",
        "path": "semantic-layer/warehouse/_schema/public.yaml#regions",
        "columnCount": 2,
        "measureCount": 0,
        "joinCount": 1,
        "score": 1.0,
        "snippet": "1 2 3 <mark>Islands</mark> North South",
        "matchReasons": [
          "dictionary"
        ],
        "dictionaryMatches": [
          {
            "column": "name",
            "values": [
              "Islands"
            ]
          }
        ],
        "lanes": [
          {
            "lane": "lexical",
            "status": "available",
            "requestedCandidatePoolLimit": 150,
            "effectiveCandidatePoolLimit": 150,
            "returnedCandidateCount": 0,
            "weight": 1.0
          },
          {
            "lane": "dictionary",
            "status": "available",
            "requestedCandidatePoolLimit": 150,
            "effectiveCandidatePoolLimit": 150,
            "returnedCandidateCount": 1,
            "weight": 1.0
          },
          {
            "lane": "token",
            "status": "available",
            "requestedCandidatePoolLimit": 150,
            "effectiveCandidatePoolLimit": 150,
            "returnedCandidateCount": 0,
            "weight": 0.8
          },
          {
            "lane": "semantic",
            "status": "skipped",
            "requestedCandidatePoolLimit": 150,
            "effectiveCandidatePoolLimit": 150,
            "returnedCandidateCount": 0,
            "weight": 1.0,
            "reason": "embedding_unconfigured"
          }
        ]
      }
    ]
  },
  "meta": {
    "command": "sl search"
  }
}
"#);
    check!(&sandbox, "sl zebra", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
nothing found for `zebra`; run `ktx sl` for all sources
");
}

#[test]
fn a_source_is_printed_as_yaml() {
    let sandbox = shop();
    check!(&sandbox, "sl read orders", @r"
exit 0
name: orders
descriptions:
  user: One row per order; cancelled orders are not kept.
table: orders
grain:
- id
columns:
- name: id
  type: number
- name: customer_id
  type: number
- name: status
  type: string
- name: amount
  type: number
- name: ordered_at
  type: time
  role: time
  descriptions:
    user: The day of the order.
joins:
- to: customers
  on: orders.customer_id = customers.id
  relationship: many_to_one
measures:
- name: revenue
  expr: sum(amount)
  filter: status = 'paid' and customers.test = 0
  description: Money received from real customers.
- name: order_count
  expr: count(id)
segments:
- name: paid
  expr: status = 'paid'
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl read regions", @r"
exit 0
name: regions
table: regions
grain:
- id
columns:
- name: id
  type: number
- name: name
  type: string
joins:
- to: customers
  on: regions.id = customers.region_id
  relationship: one_to_many
measures: []
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl read regions --json", @r#"
exit 0
{
  "sourceName": "regions",
  "yaml": "name: regions\ntable: regions\ngrain:\n- id\ncolumns:\n- name: id\n  type: number\n- name: name\n  type: string\njoins:\n- to: customers\n  on: regions.id = customers.region_id\n  relationship: one_to_many\nmeasures: []\n"
}
"#);
    check!(&sandbox, "sl read region", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: unknown source `region`

hint: try `regions`
");
    check!(&sandbox, "sl read regions --connection-id wharehouse", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: there is no connection `wharehouse`

hint: use one of `warehouse`
");
}

#[test]
fn a_project_without_sources_says_how_to_get_them() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "sl", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no semantic sources; run `ktx scan`, or write one to semantic-layer/<connection>/
");
    check!(&sandbox, "sl --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": []
  },
  "meta": {
    "command": "sl list"
  }
}
--- stderr
no semantic sources; run `ktx scan`, or write one to semantic-layer/<connection>/
"#);
    check!(&project(), "sl", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no semantic sources; run `ktx scan`, or write one to semantic-layer/<connection>/
");
}

#[test]
fn right_sources_are_valid() {
    let sandbox = shop();
    check!(&sandbox, "sl validate", @r"
exit 0
warehouse: 3 sources are valid
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl validate orders", @r"
exit 0
Valid semantic-layer source: warehouse/orders
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl validate --all --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "connectionId": "warehouse",
        "sourceName": null,
        "sourceCount": 3,
        "valid": true,
        "errors": [],
        "warnings": []
      }
    ]
  },
  "meta": {
    "command": "sl validate"
  }
}
"#);
    check!(&sandbox, "sl validate ordrs", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: no semantic source `ordrs`

hint: did you mean `orders`?
");
}

/// Other sources stay usable.
#[test]
fn wrong_sources_are_named_with_their_places() {
    let sandbox = shop();
    write(
        &sandbox,
        "semantic-layer/warehouse/orders.yaml",
        &format!("{ORDERS}  - name: broken\n    expr: amont > 1\n"),
    );
    write(
        &sandbox,
        "semantic-layer/warehouse/regions.yaml",
        "name: regions\nmeasurs:\n  - name: n\n    expr: count(id)\n",
    );
    write(
        &sandbox,
        "semantic-layer/warehouse/notes.yaml",
        "name: notes\ncolumns: [\n",
    );
    check!(&sandbox, "sl validate", @r"
exit 3
warehouse: 3 errors, 0 warnings
--- stderr
Project: [SANDBOX]/work
error: semantic-layer/warehouse/notes.yaml:3:1: parse_error: did not find expected node content
error: semantic-layer/warehouse/orders.yaml:18:5: unknown_column: segment `broken`: unknown column `orders.amont`; did you mean `orders.amount`
error: semantic-layer/warehouse/regions.yaml:2:1: invalid_source: unknown field `measurs`, expected one of `name`, `descriptions`, `grain`, `columns`, `column_overrides`, `joins`, `measures`, `segments`, `exclude_columns`, `disable_joins`, `default_time_dimension`, `usage`
");
    check!(&sandbox, "sl validate customers", @r"
exit 3
warehouse: 2 errors, 0 warnings
--- stderr
Project: [SANDBOX]/work
error: semantic-layer/warehouse/notes.yaml:3:1: parse_error: did not find expected node content
error: semantic-layer/warehouse/regions.yaml:2:1: invalid_source: unknown field `measurs`, expected one of `name`, `descriptions`, `grain`, `columns`, `column_overrides`, `joins`, `measures`, `segments`, `exclude_columns`, `disable_joins`, `default_time_dimension`, `usage`
");
    check!(&sandbox, "sl validate --json orders", @r#"
exit 3
{
  "kind": "list",
  "data": {
    "items": [
      {
        "connectionId": "warehouse",
        "sourceName": "orders",
        "sourceCount": 1,
        "valid": false,
        "errors": [
          {
            "path": "notes.yaml:3:1",
            "source": null,
            "kind": "parse_error",
            "message": "did not find expected node content"
          },
          {
            "path": "orders.yaml:18:5",
            "source": "orders",
            "kind": "unknown_column",
            "message": "segment `broken`: unknown column `orders.amont`; did you mean `orders.amount`"
          },
          {
            "path": "regions.yaml:2:1",
            "source": null,
            "kind": "invalid_source",
            "message": "unknown field `measurs`, expected one of `name`, `descriptions`, `grain`, `columns`, `column_overrides`, `joins`, `measures`, `segments`, `exclude_columns`, `disable_joins`, `default_time_dimension`, `usage`"
          }
        ],
        "warnings": []
      }
    ]
  },
  "meta": {
    "command": "sl validate"
  }
}
"#);
    check!(&sandbox, "sl", @r"
exit 0
warehouse	customers	columns=4	measures=0	joins=1
warehouse	notes	columns=0	measures=0	joins=0
warehouse	orders	columns=5	measures=2	joins=1
warehouse	regions	columns=0	measures=0	joins=0
--- stderr
Project: [SANDBOX]/work
error: semantic-layer/warehouse/notes.yaml:3:1: did not find expected node content
error: semantic-layer/warehouse/regions.yaml:2:1: unknown field `measurs`, expected one of `name`, `descriptions`, `grain`, `columns`, `column_overrides`, `joins`, `measures`, `segments`, `exclude_columns`, `disable_joins`, `default_time_dimension`, `usage`
");
    check!(&sandbox, "sl query --measure orders.revenue --format sql", @r"
exit 0
WITH orders_part AS (
SELECT sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue
FROM orders AS orders
LEFT JOIN customers AS customers ON orders.customer_id = customers.id
)
SELECT a1_revenue AS revenue
FROM orders_part
LIMIT 1000
--- stderr
Project: [SANDBOX]/work
");
}

/// The editor chooses line ends and byte order mark.
#[test]
fn formatting_keeps_line_ends_and_mark() {
    let sandbox = shop();
    let path = "semantic-layer/warehouse/orders.yaml";
    assert_eq!(run(&sandbox, "sl fmt").code, Some(0));
    let plain = sandbox.read(path).unwrap();
    let untidy = plain.replace("name: orders", "name:   orders");
    for (mark, end) in [("", "\r\n"), ("\u{feff}", "\n"), ("\u{feff}", "\r\n")] {
        let written = |text: &str| format!("{mark}{}", text.replace('\n', end));
        write(&sandbox, path, &written(&plain));
        assert_eq!(run(&sandbox, "sl fmt --check").code, Some(0), "{end:?}");
        write(&sandbox, path, &written(&untidy));
        assert_eq!(run(&sandbox, "sl fmt --check").code, Some(3), "{end:?}");
        assert_eq!(run(&sandbox, "sl fmt").code, Some(0));
        assert_eq!(sandbox.read(path).unwrap(), written(&plain));
        assert_eq!(
            run(&sandbox, "sl validate orders").code,
            Some(0),
            "{mark:?} {end:?}"
        );
    }
}

/// An empty list would suggest that there are no sources.
#[test]
fn a_limit_of_nothing_is_told() {
    let sandbox = shop();
    for line in ["sl --limit 0", "sl revenue --limit 0"] {
        check!(&sandbox, line, @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: `--limit 0` shows nothing

hint: give `--limit` a number from 1, or leave it out
");
    }
}
