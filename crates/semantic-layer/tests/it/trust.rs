//! The more trusted of two paths wins, by the evidence for its joins.

use ktx_semantic_layer::{Query, compile};
use ktx_sql::Dialect;

use crate::fixtures;

/// Most trusted first.
const TRUST: [&str; 6] = [
    "source: formal",
    "source: manual",
    "source: inferred, evidence: decision",
    "source: inferred, evidence: queries",
    "source: inferred",
    "source: inferred, evidence: names",
];

/// Orders lead to regions over shops and over agents.
fn path(shops: &str, agents: &str) -> Result<String, String> {
    let join = |to: &str, column: &str, said: &str| {
        format!("{{to: {to}, on: {column} = {to}.id, relationship: many_to_one, {said}}}")
    };
    let shard = format!(
        "tables:
  orders:
    table: orders
    columns: [{{name: id, type: integer, pk: true}}, {{name: shop_id, type: integer}}, {{name: agent_id, type: integer}}]
    joins:
    - {}
    - {}
  shops:
    table: shops
    columns: [{{name: id, type: integer, pk: true}}, {{name: region_id, type: integer}}]
    joins:
    - {}
  agents:
    table: agents
    columns: [{{name: id, type: integer, pk: true}}, {{name: region_id, type: integer}}]
    joins:
    - {}
  regions:
    table: regions
    columns: [{{name: id, type: integer, pk: true}}, {{name: name, type: text}}]
",
        join("shops", "orders.shop_id", shops),
        join("agents", "orders.agent_id", agents),
        join("regions", "shops.region_id", "source: formal"),
        join("regions", "agents.region_id", "source: formal"),
    );
    let catalog = fixtures::folder(&[("_schema/public.yaml", &shard)]);
    let query =
        Query::from_json(r#"{"measures": ["count(orders.*)"], "dimensions": ["regions.name"]}"#);
    let compiled = compile(&catalog, &query.expect("a query"), Dialect::Sqlite);
    let compiled = compiled.map_err(|error| error.kind.to_string())?;
    let joins = compiled.plan.joins.iter();
    let over = joins.filter(|join| join.from_source == "orders");
    Ok(over
        .map(|join| join.to_source.clone())
        .collect::<Vec<_>>()
        .join(" "))
}

#[test]
fn the_path_that_is_trusted_more_is_taken() {
    for (at, more) in TRUST.iter().enumerate() {
        for less in TRUST.iter().skip(at + 1) {
            assert_eq!(path(more, less), Ok("shops".to_owned()), "{more} / {less}");
            assert_eq!(path(less, more), Ok("agents".to_owned()), "{less} / {more}");
        }
        let refused = Err("ambiguous_join_path".to_owned());
        assert_eq!(path(more, more), refused, "{more}");
    }
    let confirmed = "source: inferred, evidence: statement";
    let decided = "source: inferred, evidence: decision";
    assert_eq!(
        path(confirmed, decided),
        Err("ambiguous_join_path".to_owned())
    );
}

#[test]
fn an_inferred_join_leaves_declared_paths_clear() {
    for weak in ["source: inferred", "source: inferred, evidence: names"] {
        assert_eq!(path("source: formal", weak), Ok("shops".to_owned()));
    }
}

/// Customers without a declared key. `orders` is the evidence for the join of the orders.
fn orders_per_customer(orders: &str) -> Result<String, String> {
    let shard = format!(
        "tables:
  accounts:
    table: accounts
    columns: [{{name: id, type: integer, pk: true}}]
  customers:
    table: customers
    columns: [{{name: id, type: integer}}, {{name: account_id, type: integer}}, {{name: town, type: text}}]
    joins:
    - {{to: accounts, on: customers.account_id = accounts.id, relationship: one_to_one, source: inferred}}
    - {{to: orders, on: customers.id = orders.customer_id, relationship: one_to_many, {orders}}}
  orders:
    table: orders
    columns: [{{name: id, type: integer, pk: true}}, {{name: customer_id, type: integer}}]
"
    );
    let catalog = fixtures::folder(&[("_schema/public.yaml", &shard)]);
    let query = Query::from_json(r#"{"measures": ["avg(per(customers, count(orders.*)))"]}"#);
    let compiled = compile(&catalog, &query.expect("a query"), Dialect::Sqlite);
    compiled
        .map(|compiled| compiled.sql)
        .map_err(|error| error.message)
}

/// What orders look up identifies customers, also those without an account.
#[test]
fn rows_are_told_apart_by_what_other_tables_look_up() {
    let sql = orders_per_customer("source: inferred").expect("an answer");
    assert!(sql.contains("customers.id"), "{sql}");
    assert!(!sql.contains("account_id"), "{sql}");
    assert_eq!(
        orders_per_customer("source: inferred, evidence: names"),
        Err(
            "`per` needs the columns that tell the rows of `customers` apart: declare its `grain`"
                .to_owned()
        )
    );
}

/// `billing` and `shipping` are the evidence for the joins.
fn two_addresses(billing: &str, shipping: &str) -> ktx_semantic_layer::Catalog {
    let join = |column: &str, said: &str| {
        format!(
            "{{to: addresses, on: orders.{column} = addresses.id, relationship: many_to_one, {said}}}"
        )
    };
    let shard = format!(
        "tables:
  orders:
    table: orders
    columns: [{{name: id, type: integer, pk: true}}, {{name: billing_address_id, type: integer}}, {{name: shipping_address_id, type: integer}}, {{name: status, type: text}}]
    joins:
    - {}
    - {}
  addresses:
    table: addresses
    columns: [{{name: id, type: integer, pk: true}}, {{name: city, type: text}}]
",
        join("billing_address_id", billing),
        join("shipping_address_id", shipping),
    );
    fixtures::folder(&[("_schema/public.yaml", &shard)])
}

fn asked(catalog: &ktx_semantic_layer::Catalog, query: &str) -> Result<Vec<String>, Vec<String>> {
    let query = Query::from_json(query).expect("a query");
    match compile(catalog, &query, Dialect::Sqlite) {
        Ok(compiled) => Ok(compiled.notes),
        Err(error) => {
            let mut told = vec![error.kind.to_string()];
            told.extend(error.suggestions);
            Err(told)
        }
    }
}

/// Past queries that use one address do not show that a question means it.
#[test]
fn trust_does_not_choose_between_two_roles() {
    let by_city = r#"{"measures": ["count(orders.*)"], "dimensions": ["addresses.city"], "include_empty": false}"#;
    let supported = [
        "source: inferred, evidence: decision",
        "source: inferred, evidence: queries",
        "source: inferred",
    ];
    let refused = Err(vec![
        "ambiguous_join_path".to_owned(),
        "orders.billing_address".to_owned(),
        "orders.shipping_address".to_owned(),
    ]);
    for one in supported {
        for other in supported {
            let catalog = two_addresses(one, other);
            assert_eq!(asked(&catalog, by_city), refused, "{one} / {other}");
            let named = by_city.replace("addresses.city", "orders.shipping_address.city");
            assert!(asked(&catalog, &named).is_ok(), "{one} / {other}");
        }
    }
}

#[test]
fn the_role_that_is_not_taken_is_named() {
    let by_city = r#"{"measures": ["count(orders.*)"], "dimensions": ["addresses.city"], "include_empty": false}"#;
    for (taken, other) in [
        ("source: formal", "source: inferred"),
        ("source: inferred", "source: inferred, evidence: names"),
    ] {
        let notes = asked(&two_addresses(taken, other), by_city).expect("an answer");
        let other = "`addresses` is looked up along orders -[billing_address_id]-> addresses; another path, \
             orders -[shipping_address_id]-> addresses, may give other numbers; to take that one, ask for \
             `orders.shipping_address`";
        assert!(notes.iter().any(|note| note == other), "{notes:?}");
    }
}

/// An address counts once in each status of its orders, by either role.
#[test]
fn trust_does_not_choose_between_two_roles_of_a_bridge() {
    let across = r#"{"measures": ["count(addresses.*)"], "dimensions": ["orders.status"], "across": "count_each"}"#;
    let catalog = two_addresses("source: inferred, evidence: queries", "source: inferred");
    let found = asked(&catalog, across).expect_err("a refusal");
    assert_eq!(
        found.first().map(String::as_str),
        Some("ambiguous_join_path")
    );
}
