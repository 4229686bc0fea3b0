//! Complete answers of all tools.

use serde_json::{Value, json};

use super::client::{Client, check};
use crate::sl_paths::TWO_ROLES;
use crate::support::{run, shop, tree, unscanned};

/// Uses a separate session without traces.
#[track_caller]
fn answers(tool: &str, arguments: Value, expected: &str) {
    let sandbox = shop();
    let before = tree(&sandbox);
    let mut client = Client::start(&sandbox);
    client.initialize();
    check(&sandbox, tool, &client.call(tool, arguments), expected);
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn connection_list() {
    answers(
        "connection_list",
        json!({}),
        r#"
{
  "connections": [
    {
      "id": "warehouse",
      "name": "warehouse",
      "connectionType": "SQLITE"
    }
  ]
}
"#,
    );
}

#[test]
fn wiki_search() {
    answers(
        "wiki_search",
        json!({ "query": "paid" }),
        r#"
{
  "results": [
    {
      "key": "revenue",
      "path": "wiki/global/revenue.md",
      "scope": "GLOBAL",
      "summary": "Revenue counts paid orders only",
      "score": 1.0,
      "matchReasons": [
        "lexical"
      ]
    }
  ],
  "totalFound": 1
}
"#,
    );
}

#[test]
fn wiki_read() {
    answers(
        "wiki_read",
        json!({ "key": "revenue" }),
        r##"
{
  "key": "revenue",
  "scope": "GLOBAL",
  "summary": "Revenue counts paid orders only",
  "content": "# Revenue\n\nTest customers never count; see [[test-customers]].\n",
  "tags": [
    "finance",
    "revenue"
  ],
  "refs": [
    "test-customers"
  ],
  "slRefs": [
    "warehouse.orders"
  ]
}
"##,
    );
}

#[test]
fn sl_read_source() {
    answers(
        "sl_read_source",
        json!({ "connectionId": "warehouse", "sourceName": "regions" }),
        r#"
{
  "sourceName": "regions",
  "yaml": "name: regions\ntable: regions\ngrain:\n- id\ncolumns:\n- name: id\n  type: number\n- name: name\n  type: string\njoins:\n- to: customers\n  on: regions.id = customers.region_id\n  relationship: one_to_many\nmeasures: []\n"
}
"#,
    );
}

#[test]
fn dictionary_search() {
    answers(
        "dictionary_search",
        json!({ "values": ["islands"] }),
        r#"
{
  "searched": [
    {
      "connectionId": "warehouse",
      "coverage": {
        "sampledRows": 6,
        "valuesPerColumn": 5,
        "profiledColumns": 10,
        "syncId": "[SYNC]",
        "profiledAt": "[TIME]"
      },
      "status": "ready"
    }
  ],
  "results": [
    {
      "value": "islands",
      "matches": [
        {
          "connectionId": "warehouse",
          "sourceName": "regions",
          "columnName": "name",
          "matchedValue": "Islands",
          "cardinality": 3
        }
      ],
      "misses": []
    }
  ]
}
"#,
    );
}

#[test]
fn discover_data() {
    answers(
        "discover_data",
        json!({ "query": "revenue", "limit": 3 }),
        r#"
{
  "refs": [
    {
      "kind": "sl_measure",
      "id": "orders.revenue",
      "score": 1.0,
      "summary": "Money received from real customers.",
      "snippet": "revenue",
      "matchedOn": "name",
      "connectionId": "warehouse",
      "dataRange": "ordered_at from 2026-01-05 to 2026-03-04"
    },
    {
      "kind": "wiki",
      "id": "revenue",
      "score": 1.0,
      "summary": "Revenue counts paid orders only",
      "snippet": "revenue",
      "matchedOn": "name"
    },
    {
      "kind": "sl_source",
      "id": "orders",
      "score": 0.984,
      "summary": "One row per order; cancelled orders are not kept.",
      "snippet": "…amount ordered_at revenue order_count paid The day of the order. Money received from…",
      "matchedOn": "body",
      "connectionId": "warehouse",
      "dataRange": "ordered_at from 2026-01-05 to 2026-03-04"
    }
  ],
  "catalog": [
    "customers: id, region_id, name, test",
    "orders: id, customer_id, status, amount, ordered_at; measures revenue, order_count",
    "regions: id, name"
  ]
}
"#,
    );
}

#[test]
fn entity_details() {
    answers(
        "entity_details",
        json!({ "connectionId": "warehouse", "entities": [{ "table": "regions" }] }),
        r#"
{
  "results": [
    {
      "ok": true,
      "connectionId": "warehouse",
      "tableRef": {
        "catalog": null,
        "db": null,
        "name": "regions"
      },
      "display": "regions",
      "kind": "table",
      "comment": null,
      "estimatedRows": 3,
      "columns": [
        {
          "name": "id",
          "nativeType": "INTEGER",
          "normalizedType": "INTEGER",
          "dimensionType": "number",
          "nullable": false,
          "primaryKey": true,
          "comment": null,
          "sampleValues": [
            "1",
            "2",
            "3"
          ]
        },
        {
          "name": "name",
          "nativeType": "TEXT",
          "normalizedType": "TEXT",
          "dimensionType": "string",
          "nullable": false,
          "primaryKey": false,
          "comment": null,
          "sampleValues": [
            "Islands",
            "North",
            "South"
          ]
        }
      ],
      "foreignKeys": [],
      "snapshot": {
        "syncId": "[SYNC]",
        "extractedAt": "[TIME]",
        "scanRunId": "[UUID]"
      },
      "sourceName": "regions",
      "joins": [
        {
          "to": "customers",
          "on": "regions.id = customers.region_id",
          "relationship": "one_to_many"
        }
      ]
    }
  ]
}
"#,
    );
}

#[test]
fn sl_query() {
    let query = json!({ "measures": ["orders.revenue"], "dimensions": [{ "field": "regions.name" }], "order_by": [{ "field": "regions.name" }], "include": ["sql"] });
    answers(
        "sl_query",
        query,
        r#"
{
  "connectionId": "warehouse",
  "dialect": "sqlite",
  "headers": [
    "name",
    "revenue"
  ],
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
  "totalRows": 3,
  "truncated": false,
  "sql": "WITH orders_part AS (\nSELECT regions.name AS d1_name, sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue\nFROM orders AS orders\nLEFT JOIN customers AS customers ON orders.customer_id = customers.id\nLEFT JOIN regions AS regions ON customers.region_id = regions.id\nGROUP BY regions.name\n),\nregions_members AS (\nSELECT DISTINCT regions.name AS d1_name\nFROM regions AS regions\n),\nstacked AS (\nSELECT d1_name, a1_revenue\nFROM orders_part\nUNION ALL\nSELECT d1_name, NULL AS a1_revenue\nFROM regions_members\n),\nmerged AS (\nSELECT d1_name, MAX(a1_revenue) AS v1_revenue\nFROM stacked\nGROUP BY d1_name\n)\nSELECT d1_name AS name, v1_revenue AS revenue\nFROM merged\nORDER BY name\nLIMIT 1000"
}
"#,
    );
}

#[test]
fn sql_execution() {
    let sql = |sql: &str| json!({ "connectionId": "warehouse", "sql": sql, "maxRows": 2 });
    answers(
        "sql_execution",
        sql("select id, name from regions order by id"),
        r#"
{
  "headers": [
    "id",
    "name"
  ],
  "headerTypes": [
    "INTEGER",
    "TEXT"
  ],
  "rows": [
    [
      1,
      "North"
    ],
    [
      2,
      "South"
    ]
  ],
  "rowCount": 2,
  "truncated": true
}
"#,
    );
}

#[test]
fn a_refused_query_has_arguments_that_work() {
    let sandbox = unscanned(TWO_ROLES);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let mut client = Client::start(&sandbox);
    client.initialize();
    let details = client.call("entity_details", json!({ "entities": ["orders"] }));
    let joins = details["results"][0]["joins"].as_array().expect("joins");
    let paths: Vec<&Value> = joins.iter().map(|join| &join["path"]).collect();
    assert_eq!(
        paths,
        [
            &json!("orders.billing_address"),
            &json!("orders.shipping_address")
        ]
    );
    let asked = json!({ "measures": ["sum(orders.total)"], "dimensions": ["city.name"] });
    let refused = client.call("sl_query", asked);
    let text = refused["text"].as_str().expect("a refusal");
    let offered = text
        .lines()
        .filter_map(|line| line.strip_prefix("send instead: "));
    let offered: Vec<Value> = offered
        .map(|arguments| serde_json::from_str(arguments).expect("JSON"))
        .collect();
    let rows: Vec<Value> = offered
        .into_iter()
        .map(|arguments| client.call("sl_query", arguments)["rows"].clone())
        .collect();
    assert_eq!(
        rows,
        [
            json!([["Bern", 30], ["Thun", 40]]),
            json!([["Bern", 20], ["Thun", 50]]),
        ],
        "{text}"
    );
}
