//! Tests the `relationships` tests of dbt and their values in shards.

use std::collections::BTreeMap;

use ktx_context_sources::dbt::facts;
use ktx_context_sources::{Facts, Pruning, TableLocation, apply};
use ktx_project_store::{Content, ProjectPath};

use crate::snapshot;

/// Renders references as `table.column -> table.column`.
fn told(facts: &Facts) -> Vec<String> {
    let spoken = |place: &TableLocation| {
        let parts = [&place.database, &place.schema, &Some(place.name.clone())];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join(".")
    };
    let columns = facts.tables.iter().flat_map(|table| {
        let columns = table.columns.iter();
        columns.map(move |column| (table.name.as_str(), column))
    });
    columns
        .filter_map(|(table, column)| {
            let target = column.references.as_ref()?;
            let (to, field) = (spoken(&target.table), &target.column);
            Some(format!("{table}.{} -> {to}.{field}", column.name))
        })
        .collect()
}

fn of(files: &[(&str, &str)]) -> Facts {
    facts(&snapshot(files))
}

#[test]
fn every_spelling_of_a_reference_is_understood() {
    let schema = "
sources:
  - name: erp
    schema: landing
    database: raw
    tables: [{name: people, identifier: PEOPLE_V2, description: People.}]
models:
  - name: orders
    columns:
      - {name: a, tests: [{relationships: {to: ref('customers'), field: id}}]}
      - {name: b, data_tests: [{relationships: {arguments: {to: \"ref('crm', 'customers')\", field: id}}}]}
      - {name: c, tests: [{dbt.relationships: {to: \"source('erp', 'people')\", field: ID}}]}
      - {name: d, tests: [{relationships: {to: \"{{ ref('versioned', v=1) }}\", field: id}}]}
      - {name: e, tests: [{relationships: {to: ref('versioned'), field: id}}]}
      - {name: f, tests: [{relationships: {to: ref('renamed'), field: id}}]}
      - {name: g, tests: [{relationships: {to: ref('in_sql'), field: id}}]}
      - {name: h, tests: [{relationships: {to: ref('orders'), field: a}}]}
  - {name: customers, config: {alias: dim_customers}}
  - name: versioned
    versions: [{v: 1}, {v: 2}, {v: 10}]
";
    let said = of(&[
        ("dbt_project.yml", "name: shop\n"),
        ("models/schema.yml", schema),
        (
            "models/renamed.sql",
            "{{ config(alias='new_name') }} select 1",
        ),
        ("models/in_sql.sql", "select 1"),
    ]);
    assert_eq!(
        (said.warnings.clone(), said.is_complete),
        (Vec::new(), true)
    );
    assert_eq!(
        told(&said),
        [
            "orders.a -> dim_customers.id",
            "orders.b -> dim_customers.id",
            "orders.c -> raw.landing.PEOPLE_V2.ID",
            "orders.d -> versioned_v1.id",
            "orders.e -> versioned_v10.id",
            "orders.f -> new_name.id",
            "orders.g -> in_sql.id",
            "orders.h -> orders.a",
        ]
    );
}

#[test]
fn statements_that_are_not_facts_are_not_copied() {
    let schema = "
models:
  - name: orders
    columns:
      - {name: warned, tests: [{relationships: {to: ref('customers'), field: id, config: {severity: warn}}}]}
      - {name: some, tests: [{relationships: {to: ref('customers'), field: id, where: 'day > 1'}}]}
      - {name: nowhere, tests: [{relationships: {to: \"source('gone', 'people')\", field: id}}]}
      - {name: within, tests: [{relationships: {to: ref('steps'), field: id}}]}
      - {name: computed, tests: [{relationships: {to: \"ref(var('which'))\", field: id}}]}
      - {name: expression, tests: [{relationships: {to: ref('customers'), field: lower(id)}}]}
      - {name: half, tests: [{relationships: {to: ref('customers')}}]}
      - {name: bare, tests: [relationships]}
  - {name: customers}
  - {name: steps, config: {materialized: ephemeral}}
";
    let said = of(&[
        ("dbt_project.yml", "name: shop\n"),
        ("models/a.yml", schema),
    ]);
    assert_eq!((told(&said), said.warnings), (Vec::new(), Vec::new()));
}

const SHARD: &str = "tables:
  orders:
    table: main.orders
    columns:
      - name: Customer
        type: number
      - name: place
        type: number
        constraints: {user: {checked: true}}
      - name: kind
        type: number
  customers:
    table: main.customers
    columns:
      - {name: ID, type: number}
  regions:
    table: main.regions
    columns: []
  other.regions:
    table: other.regions
    columns: []
";

fn applied(shard: &str, schema: &str) -> String {
    let path = ProjectPath::parse("semantic-layer/shop/_schema/public.yaml").expect("a path");
    let shards = BTreeMap::from([(path, shard.as_bytes().to_vec())]);
    let said = of(&[("dbt_project.yml", ""), ("models/a.yml", schema)]);
    let applied = apply(&said, &shards, Pruning::Remove).expect("shards that can be changed");
    match applied.changes.as_slice() {
        [change] => match &change.content {
            Content::Write(bytes) => String::from_utf8(bytes.clone()).expect("text"),
            other @ Content::Delete => format!("{other:?}"),
        },
        changes => format!("{} changes", changes.len()),
    }
}

#[test]
fn references_are_stored_with_the_columns_of_shards() {
    let schema = "
models:
  - name: orders
    columns:
      - {name: customer, tests: [not_null, {relationships: {to: ref('customers'), field: id}}]}
      - {name: place, tests: [{relationships: {to: ref('regions'), field: id}}]}
      - {name: kind, tests: [{relationships: {to: ref('customers'), field: gone}}]}
";
    let now = applied(SHARD, schema);
    assert_eq!(
        now,
        SHARD.replace(
            "      - name: Customer
        type: number
",
            "      - name: Customer
        type: number
        constraints:
          dbt:
            not_null: true
            references:
              table: main.customers
              column: ID
",
        )
    );
    assert_eq!(applied(&now, schema), "0 changes");
    assert_eq!(applied(&now, "models: [{name: orders}]"), SHARD);
}
