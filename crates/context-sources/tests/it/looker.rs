//! Tests the files of explores, dashboards and looks.

use ktx_context_sources::looker::{self, LookerCrawl, LookerScope};
use ktx_context_sources::{PageCache, RestError, Unit};
use ktx_secrets::Secret;
use ktx_test_support::looker_fake::{CLIENT_ID, Instance, LookerFake, SECRET, dashboard, explore};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

pub(crate) fn scope(connections: &[&str]) -> LookerScope {
    LookerScope {
        connections: connections.iter().map(|name| (*name).to_owned()).collect(),
        ..LookerScope::default()
    }
}

pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(work)
}

pub(crate) fn crawl(server: &LookerFake, scope: &LookerScope) -> Result<LookerCrawl, RestError> {
    remembering(server, scope, &tempdir().expect("a folder"))
}

pub(crate) fn remembering(
    server: &LookerFake,
    scope: &LookerScope,
    cache: &TempDir,
) -> Result<LookerCrawl, RestError> {
    let secret = Secret::new(SECRET);
    let rest = looker::client(&server.address(), &Secret::new(CLIENT_ID), &secret)?;
    wait(looker::read(&rest, scope, &PageCache::new(cache.path())))
}

fn folders() -> Vec<Value> {
    vec![
        json!({ "id": "1", "name": "Shared", "parent_id": null }),
        json!({ "id": "2", "name": "Finance", "parent_id": "1" }),
        json!({ "id": "3", "name": "Ada Lovelace", "parent_id": "9", "is_personal": true }),
        json!({ "id": "4", "name": "Drafts", "parent_id": "3" }),
    ]
}

pub(crate) fn at(model: &str, explore: &str) -> String {
    format!("/lookml_models/{model}/explores/{explore}")
}

fn orders() -> Value {
    let mut orders = explore(
        "shop_prod",
        "orders",
        "public.orders",
        &[
            ("status", "string", "${TABLE}.status ", "The state."),
            ("state", "string", "${TABLE}.status", "Another word."),
            (
                "is_paid",
                "yesno",
                "${status} = 'paid'",
                "Whether it is paid.",
            ),
            ("revenue", "sum", "${TABLE}.amount", "What was paid."),
        ],
    );
    orders["description"] = json!("One row per order.\r\nTests left out.");
    orders["always_filter"] = json!([{ "name": "orders.is_test", "value": "no" }]);
    orders["joins"] = json!([{
        "name": "buyers", "from": "customers", "type": "left_outer", "relationship": "many_to_one",
        "sql_on": "${orders.buyer_id} = ${buyers.id} ", "sql_table_name": "public.customers", "required_joins": [],
    }]);
    let dimensions = orders["fields"]["dimensions"]
        .as_array_mut()
        .expect("a list");
    let timeframe = |name: &str, kind: &str| {
        json!({
            "name": format!("orders.created_{name}"), "type": kind, "sql": "${TABLE}.created_at ",
            "dimension_group": "orders.created", "description": "When it was made.", "is_timeframe": true,
            "label_short": format!("Created {name}"),
        })
    };
    dimensions.extend([
        timeframe("week", "date_week"),
        timeframe("date", "date_date"),
    ]);
    dimensions.push(json!({
        "name": "buyers.id", "type": "number", "sql": "${TABLE}.id", "view": "buyers", "original_view": "customers",
        "description": "The number on the card.", "hidden": true, "primary_key": true, "label_short": "Card number",
    }));
    orders["fields"]["measures"][0]["filters"] =
        json!([{ "field": "orders.status", "condition": "paid" }]);
    orders
}

fn revenue() -> Value {
    let mut revenue = dashboard(
        "7",
        "Revenue",
        &[("shop", "orders", &["orders.created_week", "orders.revenue"])],
    );
    revenue["folder"] = json!({ "id": "2", "name": "Finance" });
    revenue["dashboard_filters"] = json!([
        { "name": "Date", "title": "Date", "type": "field_filter", "default_value": "30 days", "model": "shop",
          "explore": "orders", "dimension": "orders.created_date" },
    ]);
    let query = &mut revenue["dashboard_elements"][0]["result_maker"]["query"];
    query["filters"] = json!({ "orders.status": "paid", "orders.region": "" });
    query["sorts"] = json!(["orders.revenue desc"]);
    query["dynamic_fields"] = json!(
        r#"[{"table_calculation":"share","label":"Share","expression":"${orders.revenue}/sum(${orders.revenue})","_kind_hint":"measure"}]"#
    );
    let tiles = revenue["dashboard_elements"]
        .as_array_mut()
        .expect("a list");
    tiles.insert(0, json!({ "id": "10", "type": "text", "title_text": "Read me", "body_text": "Net of refunds." }));
    tiles.push(json!({ "id": "11", "type": "vis", "deleted": true, "title": "Old" }));
    revenue
}

pub(crate) fn server() -> Instance {
    Instance {
        connections: vec![("shop_prod", "postgres"), ("crm", "mysql")],
        models: vec![("shop", vec!["shop_prod"], vec!["orders"])],
        explores: [(at("shop", "orders"), orders())].into(),
        folders: folders(),
        dashboards: vec![revenue()],
        looks: vec![json!({
            "id": "3", "title": "Orders", "description": "All of them.", "deleted": false, "folder_id": "1",
            "query": { "model": "shop", "view": "orders", "fields": ["orders.count"], "pivots": ["orders.status"] },
        })],
        ..Instance::default()
    }
}

fn files(read: &LookerCrawl) -> String {
    let files = read.snapshot.files.iter();
    let files = files.map(|(path, text)| format!("=== {path}\n{text}"));
    files.collect()
}

pub(crate) fn units(read: &LookerCrawl) -> Vec<Unit> {
    let warehouses = [("shop_prod", "warehouse"), ("crm", "crm")];
    let warehouses = warehouses.map(|(name, id)| (name.to_owned(), id.to_owned()));
    let all = looker::units(read, &warehouses.into()).into_values();
    all.flatten().collect()
}

/// Renders each unit as one line: key, label, files, dependencies, peers.
pub(crate) fn lines(units: &[Unit]) -> String {
    let line = |unit: &Unit| {
        let label = unit.label.as_deref().unwrap_or_default();
        let lists = [&unit.files, &unit.dependencies, &unit.peers].map(|list| list.join(" "));
        let writes = if unit.writes_sources {
            ""
        } else {
            " | pages only"
        };
        let line = format!("{} | {label} | {}{writes}", unit.key, lists.join(" | "));
        line.trim_end_matches([' ', '|']).to_owned()
    };
    units.iter().map(line).collect::<Vec<_>>().join("\n")
}

const FILES: &str = r"
=== dashboards/7.yaml
title: Revenue
folder: Shared / Finance
filters:
- name: Date
  field: orders.created_date of shop.orders
  default: 30 days
tiles:
- title: Tile 0
  query:
    model: shop
    explore: orders
    fields:
    - orders.created_week
    - orders.revenue
    filters:
      orders.region: ''
      orders.status: paid
    sorts:
    - orders.revenue desc
    limit: '500'
    calculations:
    - expression: ${orders.revenue}/sum(${orders.revenue})
      label: Share
      table_calculation: share
- text: |-
    Read me
    Net of refunds.
=== explores/shop/orders.yaml
model: shop
explore: orders
description: |-
  One row per order.
  Tests left out.
connection: shop_prod
table: public.orders
always_filter:
  orders.is_test: no
joins:
- name: buyers
  view: customers
  table: public.customers
  type: left_outer
  relationship: many_to_one
  sql_on: ${orders.buyer_id} = ${buyers.id}
dimensions:
- name: buyers.id
  defined_in: customers
  type: number
  label: Card number
  description: The number on the card.
  hidden: true
  primary_key: true
  sql: ${TABLE}.id
- name: orders.created
  type: time
  description: When it was made.
  sql: ${TABLE}.created_at
  timeframes:
  - date
  - week
- name: orders.is_paid
  type: yesno
  description: Whether it is paid.
  sql: ${status} = 'paid'
- name: orders.state
  type: string
  description: Another word.
  sql: ${TABLE}.status
- name: orders.status
  type: string
  description: The state.
  sql: ${TABLE}.status
measures:
- name: orders.revenue
  type: sum
  description: What was paid.
  sql: ${TABLE}.amount
  filters:
    orders.status: paid
=== looks/3.yaml
title: Orders
description: All of them.
folder: Shared
query:
  model: shop
  explore: orders
  fields:
  - orders.count
  pivots:
  - orders.status
";

#[test]
fn explores_dashboards_and_looks_become_files() {
    let server = LookerFake::start(server()).expect("a server");
    let read = crawl(&server, &scope(&["shop_prod"])).expect("a crawl");
    assert_eq!(files(&read), FILES.trim_start());
    insta::assert_snapshot!(lines(&units(&read)), @r"
    looker.warehouse.explore.shop.orders | explore shop.orders | explores/shop/orders.yaml
    looker.warehouse.dashboards.shop.orders | dashboards of shop.orders: Revenue | dashboards/7.yaml |  | explores/shop/orders.yaml
    looker.warehouse.looks.shop.orders | looks of shop.orders: Orders | looks/3.yaml |  | explores/shop/orders.yaml
    ");
    assert_eq!(read.warnings, Vec::<String>::new());
    insta::assert_debug_snapshot!(server.asked(), @r#"
    [
        "POST /login",
        "GET /lookml_models?fields=name%2Cexplores%2Callowed_db_connection_names%2Cunlimited_db_connections",
        "GET /lookml_models/shop/explores/orders",
        "GET /folders?fields=id%2Cname%2Cparent_id%2Cis_personal%2Cis_personal_descendant",
        "GET /dashboards/search?fields=id%2Cdeleted&deleted=false&sorts=id&limit=100&offset=0",
        "GET /dashboards/7",
        "GET /looks/search?fields=id%2Cdeleted&deleted=false&sorts=id&limit=100&offset=0",
        "GET /looks/3",
    ]
    "#);
}

#[test]
fn descriptions_of_plain_columns_are_facts() {
    let mut instance = server();
    let mut refunds = explore(
        "shop_prod",
        "refunds",
        "${derived.SQL_TABLE_NAME}",
        &[("id", "number", "${TABLE}.id", "Of a derived table.")],
    );
    refunds["fields"]["dimensions"].as_array_mut().expect("a list").extend([
        json!({ "name": "orders.size", "type": "tier", "sql": "${TABLE}.size", "description": "In steps." }),
    ]);
    let odd = explore(
        "shop_prod",
        "odd",
        "{% if x %}a{% endif %}",
        &[("id", "number", "${TABLE}.id", "Of a template.")],
    );
    let plain = explore(
        "shop_prod",
        "plain",
        "plain",
        &[
            (
                "a",
                "string",
                "${TABLE}.a",
                "Since {{ _user_attributes['x'] }}.",
            ),
            ("b", "string", "${TABLE}.b", "password=hunter2hunter2"),
            ("c", "string", "upper(${TABLE}.c)", "Not as it is."),
            ("d", "string", "${TABLE}.d", "As it is."),
        ],
    );
    instance.models[0].2.extend(["refunds", "odd", "plain"]);
    for (name, explore) in [("refunds", refunds), ("odd", odd), ("plain", plain)] {
        instance.explores.insert(at("shop", name), explore);
    }
    let server = LookerFake::start(instance).expect("a server");
    let read = crawl(&server, &scope(&["shop_prod"])).expect("a crawl");
    let facts = looker::facts(&read, &["shop_prod".to_owned()].into());
    let said: Vec<String> = facts
        .tables
        .iter()
        .flat_map(|table| {
            let schema = table.schema.as_deref().unwrap_or("-");
            table.columns.iter().map(move |column| {
                let said = column.description.as_deref().unwrap_or_default();
                format!("{schema}.{}.{}: {said}", table.name, column.name)
            })
        })
        .collect();
    insta::assert_debug_snapshot!((said, facts.warnings, facts.is_complete), @r#"
    (
        [
            "public.customers.id: The number on the card.",
            "public.orders.status: The state.",
            "public.orders.created_at: When it was made.",
            "-.plain.d: As it is.",
        ],
        [
            "the description of `plain.a` was left out: only Looker can write it out",
            "the description of `plain.b` looks like a password or key and was left out",
            "the view `odd` was left out: its `sql_table_name` is not a plain name",
        ],
        false,
    )
    "#);
    let elsewhere = looker::facts(&read, &["crm".to_owned()].into());
    assert_eq!(elsewhere.tables, []);
}

#[test]
fn looking_at_things_changes_nothing() {
    let mut instance = server();
    instance
        .dashboards
        .push(dashboard("8", "Other", &[("shop", "orders", &[])]));
    let server = LookerFake::start(instance).expect("a server");
    let first = crawl(&server, &scope(&["shop_prod"])).expect("a crawl");
    server.change(|all| {
        all.dashboards.reverse();
        all.dashboards[1]["view_count"] = json!(9999);
        all.dashboards[1]["last_viewed_at"] = json!("2027-01-01T00:00:00Z");
        all.dashboards[1]["dashboard_elements"]
            .as_array_mut()
            .expect("tiles")
            .reverse();
        let orders = all
            .explores
            .get_mut(&at("shop", "orders"))
            .expect("an explore");
        orders["fields"]["dimensions"][0]["times_used"] = json!(9999);
        orders["fields"]["dimensions"]
            .as_array_mut()
            .expect("fields")
            .reverse();
    });
    assert_eq!(
        crawl(&server, &scope(&["shop_prod"])).expect("a crawl"),
        first
    );
}

/// A key that may not see SQL yields a warning and incomplete facts, so that no value is removed.
#[test]
fn hidden_sql_is_reported() {
    let mut instance = server();
    let orders = instance.explores.get_mut(&at("shop", "orders"));
    let orders = orders.expect("an explore");
    for kind in ["dimensions", "measures"] {
        let fields = orders["fields"][kind].as_array_mut().expect("a list");
        for field in fields {
            field["sql"] = Value::Null;
        }
    }
    let server = LookerFake::start(instance).expect("a server");
    let read = crawl(&server, &scope(&["shop_prod"])).expect("a crawl");
    let told =
        "the SQL of 1 explores is hidden from the key: its user lacks the permission `see_lookml`";
    assert_eq!(read.warnings, [told]);
    let facts = looker::facts(&read, &["shop_prod".to_owned()].into());
    assert_eq!((facts.tables, facts.is_complete), (vec![], false));
}
