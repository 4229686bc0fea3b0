//! Tests the facts in dbt metadata.

use ktx_context_sources::dbt::facts;
use ktx_context_sources::{ColumnFacts, Reference, TableFacts, TableLocation};

use crate::snapshot;

const PROJECT: &str = "name: shop\nvars: {raw: landing, shop: {grain: day}}\n";

fn column(name: &str, description: Option<&str>) -> ColumnFacts {
    ColumnFacts {
        name: name.to_owned(),
        description: description.map(str::to_owned),
        ..ColumnFacts::default()
    }
}

#[test]
fn tables_and_columns_are_described() {
    let schema = r#"
version: 2
sources:
  - name: erp
    schema: "{{ var('raw', 'raw') }}"
    tables:
      - name: orders
        identifier: ORDERS_V1
        description: "{{ doc('orders') }}"
  - name: crm
    tables: [{name: people, description: People.}]
models:
  - name: fct_orders
    config: {alias: orders}
    description: "One row per order and {{ var('grain') }}."
    columns:
      - name: status
        description: The state.
        data_tests:
          - not_null
          - accepted_values: {arguments: {values: [paid, 1, true]}}
      - name: id
        tests: [unique, dbt.not_null, {relationships: {to: ref('x'), field: id}}]
      - name: maybe
        tests: [{not_null: {config: {where: "day > '2020-01-01'"}}}, {unique: {severity: warn}}]
      - name: silent
  - name: nothing_said
seeds: [{name: codes, description: Codes., columns: [{name: code, tests: [{accepted_values: {values: [a]}}]}]}]
"#;
    let docs = "{% docs orders %}\nEvery order.\n{% enddocs %}\n";
    let facts = facts(&snapshot(&[
        ("dbt_project.yml", PROJECT),
        ("models/schema.yml", schema),
        ("models/docs.md", docs),
    ]));
    assert_eq!(
        (facts.warnings.clone(), facts.is_complete),
        (Vec::new(), true)
    );
    let table = |name: &str, schema: Option<&str>, description: &str| TableFacts {
        name: name.to_owned(),
        schema: schema.map(str::to_owned),
        description: Some(description.to_owned()),
        ..TableFacts::default()
    };
    let codes = TableFacts {
        columns: vec![ColumnFacts {
            accepted: Some(vec!["a".to_owned()]),
            ..column("code", None)
        }],
        ..table("codes", None, "Codes.")
    };
    let values = ["paid", "1", "true"].map(str::to_owned).to_vec();
    let orders = TableFacts {
        columns: vec![
            ColumnFacts {
                is_not_null: true,
                accepted: Some(values),
                ..column("status", Some("The state."))
            },
            ColumnFacts {
                is_not_null: true,
                is_unique: true,
                references: Some(Reference {
                    table: TableLocation {
                        name: "x".to_owned(),
                        ..TableLocation::default()
                    },
                    column: "id".to_owned(),
                }),
                ..column("id", None)
            },
        ],
        ..table("orders", None, "One row per order and day.")
    };
    assert_eq!(
        facts.tables,
        [
            codes,
            orders,
            table("ORDERS_V1", Some("landing"), "Every order."),
            table("people", Some("crm"), "People."),
        ]
    );
}

#[test]
fn unreadable_parts_are_reported_with_their_place() {
    let facts = facts(&snapshot(&[
        ("dbt_project.yml", PROJECT),
        (
            "models/a.yml",
            "models:\n  - {name: a, description: First.}\n  - name: b\n    description: \"{{ doc('gone') }}\"\n",
        ),
        (
            "models/b.yml",
            "models:\n  - {name: A, description: Second., columns: [{name: x, description: X.}]}\n",
        ),
        (
            "models/broken.yml",
            "models:\n  - name: c\n   description: [\n",
        ),
        (
            "models/key.yml",
            "models: [{name: d, description: \"Log in with postgres://u:hunter2@h/d.\"}]",
        ),
        ("models/list.yml", "- a\n"),
    ]));
    let warnings: Vec<&str> = facts.warnings.iter().map(String::as_str).collect();
    assert_eq!(warnings.len(), 5, "{warnings:?}");
    assert_eq!(
        warnings[..2],
        [
            "models/a.yml:4:19: `description` was left out: there is no doc block `gone`",
            "models/b.yml: `a` is described differently before, and that counts",
        ]
    );
    assert!(
        warnings[2].starts_with("models/broken.yml:3:"),
        "{warnings:?}"
    );
    assert_eq!(
        warnings[3],
        "models/key.yml: a `description` that looks like a password or key was left out"
    );
    assert_eq!(
        warnings[4],
        "models/list.yml: the top level must be a mapping"
    );
    assert!(!facts.is_complete);
    let names: Vec<(&str, Option<&str>, usize)> = facts
        .tables
        .iter()
        .map(|table| {
            (
                table.name.as_str(),
                table.description.as_deref(),
                table.columns.len(),
            )
        })
        .collect();
    assert_eq!(names, [("a", Some("First."), 1)]);
}
