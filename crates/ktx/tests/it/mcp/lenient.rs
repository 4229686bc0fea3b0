//! Unambiguous but misshapen arguments, and calls without a warehouse.

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::{Client, check};
use crate::support::{check as check_line, commit, database, project, run, shop, write};

/// Arguments as models write them, and by schema.
fn pairs() -> Vec<(&'static str, Value, Value)> {
    let query = |parts: Value| {
        let mut query = json!({ "measures": ["orders.revenue"] });
        let whole = query.as_object_mut().expect("an object");
        whole.extend(parts.as_object().cloned().unwrap_or_default());
        query
    };
    vec![
        (
            "sl_query",
            query(json!({ "dimensions": ["regions.name"] })),
            query(json!({ "dimensions": [{ "field": "regions.name" }] })),
        ),
        (
            "sl_query",
            query(json!({ "dimensions": "regions.name", "order_by": "orders.revenue:desc" })),
            query(json!({
                "dimensions": [{ "field": "regions.name" }],
                "order_by": [{ "field": "orders.revenue", "direction": "desc" }],
            })),
        ),
        (
            "sl_query",
            query(
                json!({ "dimensions": ["regions.name", { "field": "customers.test" }], "limit": "2" }),
            ),
            query(json!({
                "dimensions": [{ "field": "regions.name" }, { "field": "customers.test" }],
                "limit": 2,
            })),
        ),
        (
            "sl_query",
            query(json!({ "dimensions": ["orders.ordered_at:month"], "limit": 5.0 })),
            query(json!({
                "dimensions": [{ "field": "orders.ordered_at", "granularity": "month" }],
                "limit": 5,
            })),
        ),
        (
            "sl_query",
            json!({
                "measures": "sum(orders.amount)", "filters": "orders.status = 'paid'", "include": "sql",
            }),
            json!({
                "measures": ["sum(orders.amount)"], "filters": ["orders.status = 'paid'"], "include": ["sql"],
            }),
        ),
        (
            "sl_query",
            json!({ "measures": { "expr": "orders.revenue" }, "segments": "orders.paid" }),
            json!({ "measures": [{ "expr": "orders.revenue" }], "segments": ["orders.paid"] }),
        ),
        (
            "entity_details",
            json!({ "entities": "regions" }),
            json!({ "connectionId": "warehouse", "entities": [{ "table": "regions" }] }),
        ),
        (
            "entity_details",
            json!({ "entities": [{ "table": "regions", "columns": "name" }] }),
            json!({
                "connectionId": "warehouse", "entities": [{ "table": "regions", "columns": ["name"] }],
            }),
        ),
        (
            "dictionary_search",
            json!({ "values": "islands" }),
            json!({ "values": ["islands"] }),
        ),
        (
            "discover_data",
            json!({ "query": "revenue", "kinds": "wiki", "limit": " 3 " }),
            json!({ "query": "revenue", "kinds": ["wiki"], "limit": 3 }),
        ),
        (
            "wiki_search",
            json!({ "query": "paid", "limit": "1" }),
            json!({ "query": "paid", "limit": 1 }),
        ),
        (
            "sl_read_source",
            json!({ "sourceName": "regions" }),
            json!({ "connectionId": "warehouse", "sourceName": "regions" }),
        ),
        (
            "sql_execution",
            json!({ "sql": "select id from regions order by id", "maxRows": "2" }),
            json!({ "connectionId": "warehouse", "sql": "select id from regions order by id", "maxRows": 2 }),
        ),
    ]
}

#[test]
fn what_can_mean_one_thing_is_read_as_that() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    client.initialize();
    for (tool, written, strict) in pairs() {
        let expected = client.call(tool, strict);
        assert!(expected["isError"].is_null(), "{tool}: {expected}");
        assert_eq!(
            client.call(tool, written.clone()),
            expected,
            "{tool} {written}"
        );
    }
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

#[test]
fn what_can_mean_nothing_is_refused() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    client.initialize();
    let mut refused = |arguments: Value| client.call("sl_query", arguments)["text"].clone();
    let invalid = |what: &str| {
        json!(format!(
            "MCP error -32602: Input validation error: Invalid arguments for tool sl_query: {what}"
        ))
    };
    let measures = ["orders.revenue"];
    assert_eq!(
        refused(json!({ "measures": measures, "limit": "five" })),
        invalid(
            r#"/limit: "five" is not of types "null", "integer"
hint: correct `limit`: most rows (default: 1000)"#
        )
    );
    assert_eq!(
        refused(json!({ "measures": measures, "limit": "-1" })),
        invalid(
            "/limit: -1 is less than the minimum of 0\n\
             hint: correct `limit`: most rows (default: 1000)\n\
             send instead: {\"measures\":[\"orders.revenue\"],\"limit\":0}"
        )
    );
    assert_eq!(
        refused(json!({ "measures": measures, "dimensions": [{ "feild": "regions.name" }] })),
        invalid(
            "/dimensions/0: Additional properties are not allowed ('feild' was unexpected); \
             /dimensions/0: \"field\" is a required property\n\
             hint: correct `dimensions`: what to group by\n\
             send instead: {\"measures\":[\"orders.revenue\"],\"dimensions\":[{\"field\":\"regions.name\"}]}"
        )
    );
    assert_eq!(
        refused(json!({ "measures": measures, "dimensions": [7] })),
        invalid(
            "/dimensions/0: 7 is not valid under any of the schemas listed in the 'anyOf' keyword\n\
             hint: correct `dimensions`: what to group by"
        )
    );
    assert_eq!(
        refused(json!({ "measures": measures, "order_by": "orders.revenue:up" })),
        json!("invalid_query: unknown sort direction `up`\nhint: try `asc`\nhint: try `desc`")
    );
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

/// `orders` is in `shop`, `customers` in two warehouses; `empty` was never scanned.
fn three_warehouses() -> Sandbox {
    let sandbox = project();
    let customers = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        INSERT INTO customers VALUES (1, 'Ada'), (2, 'Ben');";
    database(&sandbox, "crm.db", customers);
    database(
        &sandbox,
        "shop.db",
        &format!(
            "{customers} CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id));
             INSERT INTO orders VALUES (1, 1), (2, 1), (3, 2);"
        ),
    );
    database(
        &sandbox,
        "empty.db",
        "CREATE TABLE notes (id INTEGER PRIMARY KEY);",
    );
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  crm: {driver: sqlite, path: crm.db}
  shop: {driver: sqlite, path: shop.db}
  empty: {driver: sqlite, path: empty.db}
",
    );
    write(&sandbox, ".gitignore", "*.db\n");
    commit(&sandbox, "three warehouses");
    for id in ["crm", "shop"] {
        let scanned = run(&sandbox, &format!("scan {id}"));
        assert_eq!(scanned.code, Some(0), "{scanned}");
    }
    sandbox
}

#[test]
fn the_only_warehouse_that_fits_is_taken() {
    let sandbox = three_warehouses();
    let mut client = Client::start(&sandbox);
    client.initialize();
    for (tool, arguments) in [
        (
            "sl_query",
            json!({ "measures": ["count(orders.id)"], "dimensions": ["customers.name"] }),
        ),
        ("sl_read_source", json!({ "sourceName": "orders" })),
        (
            "entity_details",
            json!({ "entities": ["orders", "customers"] }),
        ),
    ] {
        let mut named = arguments.clone();
        named["connectionId"] = json!("shop");
        let expected = client.call(tool, named);
        assert!(expected["isError"].is_null(), "{tool}: {expected}");
        assert_eq!(client.call(tool, arguments), expected, "{tool}");
    }
    check(
        &sandbox,
        "sql_execution",
        &client.call(
            "sql_execution",
            json!({ "sql": "with c as (select * from customers) select count(*) as n from orders o join c on c.id = o.customer_id" }),
        ),
        r#"
{
  "headers": [
    "n"
  ],
  "rows": [
    [
      3
    ]
  ],
  "rowCount": 1,
  "truncated": false,
  "notes": [
    "`shop` is the only warehouse that has the tables of the statement"
  ]
}
"#,
    );
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

#[test]
fn where_several_or_none_fit_the_answer_lists_them() {
    let sandbox = three_warehouses();
    let mut client = Client::start(&sandbox);
    client.initialize();
    let several = "connection_required: 2 warehouses match the request: name one with `connectionId`\n\
                   hint: use one of `crm`, `shop`";
    let instead = |arguments: &Value| {
        let with = |id: &str| {
            let mut arguments = arguments.clone();
            arguments["connectionId"] = json!(id);
            format!("\nsend instead: {arguments}")
        };
        ["crm", "shop", "empty"].map(with)
    };
    let none = |crm: &str, shop: &str, empty: &str| {
        format!(
            "connection_required: none of 3 warehouses matches the request: `crm`: {crm}; `shop`: {shop}; \
             `empty`: {empty}\nhint: correct the names, or say which warehouse with `connectionId`"
        )
    };
    let unscanned = "it was never scanned";
    let in_scan = |near: &str| {
        format!(
            "there is no table `order` in the last scan; find tables with `discover_data`{near}"
        )
    };
    for (tool, arguments, expected) in [
        ("sl_query", json!({ "measures": ["count(customers.id)"] }), several.to_owned()),
        ("entity_details", json!({ "entities": ["customers"] }), several.to_owned()),
        ("sql_execution", json!({ "sql": "select * from customers" }), several.to_owned()),
        (
            "sql_execution",
            json!({ "sql": "select 1" }),
            "connection_required: 3 warehouses match the request: name one with `connectionId`\n\
             hint: use one of `crm`, `shop`, `empty`"
                .to_owned(),
        ),
        (
            "sql_execution",
            json!({ "sql": "delete from customers" }),
            "not_a_query: only queries are allowed\nhint: send one query that only reads".to_owned(),
        ),
        (
            "sl_query",
            json!({ "measures": ["count(order.id)"] }),
            none(
                "unknown source `order`",
                "unknown source `order`, try `orders`",
                "no semantic sources",
            ),
        ),
        (
            "entity_details",
            json!({ "entities": ["order"] }),
            none(&in_scan(""), &in_scan(", try `orders`"), unscanned),
        ),
        (
            "sql_execution",
            json!({ "sql": "select * from refunds" }),
            none("there is no table `refunds`", "there is no table `refunds`", unscanned),
        ),
        (
            "sl_read_source",
            json!({ "sourceName": "customers" }),
            "connection_required: `customers` is in 2 connections: say which one\nhint: use one of `crm`, `shop`"
                .to_owned(),
        ),
    ] {
        let answer = client.call(tool, arguments.clone());
        let fitting = match expected.split_once("hint: use one of ") {
            Some((_, ids)) => ids.split(", ").count(),
            None => 0,
        };
        let expected = expected + &instead(&arguments)[..fitting].concat();
        assert_eq!(answer["text"], json!(expected), "{tool} {arguments}");
    }
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

#[test]
fn the_command_line_takes_the_only_warehouse_that_fits() {
    let sandbox = three_warehouses();
    check_line(
        &sandbox,
        "sl query --measure count(orders.id) --dimension customers.name --format csv --execute",
        "
exit 0
name,count_orders_id
Ada,2
Ben,1
--- stderr
Project: [SANDBOX]/work
",
    );
    check_line(
        &sandbox,
        "sql 'select count(*) as n from orders' --output csv",
        "
exit 0
n
3
--- stderr
Project: [SANDBOX]/work
note: `shop` is the only warehouse that has the tables of the statement
",
    );
    check_line(
        &sandbox,
        "sl query --measure count(customers.id)",
        "
exit 2
--- stderr
Project: [SANDBOX]/work
error: 2 warehouses match the request: name one with `--connection-id`

hint: use one of `crm`, `shop`
",
    );
    check_line(
        &sandbox,
        "sql 'select * from refunds'",
        "
exit 2
--- stderr
Project: [SANDBOX]/work
error: none of 3 warehouses matches the request: `crm`: there is no table `refunds`; `shop`: there is no table `refunds`; `empty`: it was never scanned

hint: correct the names, or say which warehouse with `--connection-id`
",
    );
}
