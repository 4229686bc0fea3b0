//! Tests that facts are written into shards.

use std::collections::BTreeMap;

use ktx_context_sources::dbt::facts;
use ktx_context_sources::{FactChanges, Pruning, apply};
use ktx_project_store::{Change, Content, ProjectPath};

use crate::snapshot;

const SHARD: &str = "# kept
tables:
  orders:
    table: main.orders # the truth
    descriptions:
      user: Ours.
    columns:
      - name: id
        type: number
        pk: true
      - {name: status, type: string}
  people:
    table: crm.people
    columns: []
";

const SAID: &str = "models:
  - name: ORDERS
    description: Orders as dbt has them.
    columns:
      - {name: ID, tests: [unique, not_null]}
      - {name: status, description: The state., tests: [{accepted_values: {values: [paid, open]}}]}
  - {name: elsewhere, description: Not scanned.}
sources:
  - {name: crm, tables: [{name: people, description: People.}]}
  - {name: erp, tables: [{name: people, description: Others.}]}
";

fn applied(shard: &str, said: &str, pruning: Pruning<'_>) -> FactChanges {
    let snapshot = snapshot(&[("dbt_project.yml", ""), ("models/schema.yml", said)]);
    let path = ProjectPath::parse("semantic-layer/shop/_schema/public.yaml").expect("a path");
    let shards = BTreeMap::from([(path, shard.as_bytes().to_vec())]);
    apply(&facts(&snapshot), &shards, pruning).expect("shards that can be changed")
}

fn text(applied: &FactChanges) -> String {
    match applied.changes.as_slice() {
        [
            Change {
                content: Content::Write(bytes),
                ..
            },
        ] => String::from_utf8(bytes.clone()).expect("text"),
        [] => "unchanged".to_owned(),
        changes => format!("{changes:?}"),
    }
}

#[test]
fn facts_are_written_in_place_and_only_once() {
    let first = applied(SHARD, SAID, Pruning::Remove);
    assert_eq!(
        (first.tables, first.unknown.clone()),
        (2, vec!["elsewhere".to_owned(), "erp.people".to_owned()])
    );
    let now = text(&first);
    assert_eq!(
        now,
        "# kept
tables:
  orders:
    table: main.orders # the truth
    descriptions:
      user: Ours.
      dbt: Orders as dbt has them.
    columns:
      - name: id
        type: number
        pk: true
        constraints:
          dbt:
            not_null: true
            unique: true
      - name: status
        type: string
        descriptions:
          dbt: The state.
        enum_values:
          dbt:
            - paid
            - open
  people:
    table: crm.people
    columns: []
    descriptions:
      dbt: People.
"
    );
    assert_eq!(text(&applied(&now, SAID, Pruning::Remove)), "unchanged");
}

#[test]
fn absence_is_not_removal_before_it_is_certain() {
    let now = text(&applied(SHARD, SAID, Pruning::Remove));
    let less = "models: [{name: orders, description: Orders.}]";
    let removed = text(&applied(&now, less, Pruning::Remove));
    assert!(
        removed.contains("dbt: Orders.\n") && !removed.contains("People."),
        "{removed}"
    );
    assert!(
        !removed.contains("constraints") && !removed.contains("enum_values"),
        "{removed}"
    );
    assert!(
        removed.contains("user: Ours.") && removed.contains("# the truth"),
        "{removed}"
    );
    let other = "sources: [{name: crm, tables: [{name: people, description: Whoever.}]}]";
    let other = facts(&snapshot(&[
        ("dbt_project.yml", ""),
        ("models/schema.yml", other),
    ]));
    let shared = text(&applied(&now, less, Pruning::RemoveUnlessSaid(&[other])));
    assert!(
        shared.contains("dbt: People.\n") && !shared.contains("enum_values"),
        "{shared}"
    );
    let kept = text(&applied(&now, less, Pruning::Keep));
    assert!(
        kept.contains("dbt: Orders.\n") && kept.contains("People."),
        "{kept}"
    );
    let doubtful = "models: [{name: orders, description: \"{{ doc('gone') }}\"}]";
    assert_eq!(text(&applied(&now, doubtful, Pruning::Remove)), "unchanged");
}

#[test]
fn a_name_in_two_schemas_is_resolved_if_the_schema_is_known() {
    let shard = "tables:\n  a:\n    table: raw.orders\n  b:\n    table: marts.orders\n  c:\n    table: x.codes\n  d:\n    table: y.codes\n";
    let said = "sources: [{name: raw, tables: [{name: orders, description: Raw.}]}]\nmodels: [{name: orders, description: Clean.}, {name: codes, description: Codes.}]\n";
    let applied = applied(shard, said, Pruning::Remove);
    assert_eq!(applied.unknown, ["codes (in 2 schemas)"]);
    assert_eq!(
        text(&applied),
        "tables:
  a:
    table: raw.orders
    descriptions:
      dbt: Raw.
  b:
    table: marts.orders
    descriptions:
      dbt: Clean.
  c:
    table: x.codes
  d:
    table: y.codes
"
    );
}

#[test]
fn a_model_does_not_match_a_source_of_the_same_name() {
    let shard = "tables:\n  a:\n    table: raw.orders\n";
    let said = "sources: [{name: raw, tables: [{name: orders}]}]\nmodels: [{name: orders, columns: [{name: id, tests: [unique]}]}]\n";
    let applied = applied(shard, said, Pruning::Remove);
    assert_eq!(
        (applied.tables, applied.unknown.clone()),
        (0, vec!["orders".to_owned()])
    );
    assert_eq!(text(&applied), "unchanged");
}

#[test]
fn places_are_compared_part_by_part() {
    let shard = "tables:\n  a:\n    table: lake.erp.orders\n  b:\n    table: erp.\"odd.name\"\n";
    let said = "sources:\n  - {name: erp, database: other, tables: [{name: orders, description: No.}]}\n  - {name: erp, database: LAKE, tables: [{name: Odd.Name, description: Yes.}]}\n";
    let applied = applied(shard, said, Pruning::Remove);
    assert_eq!(applied.unknown, ["erp.orders"]);
    assert_eq!(
        text(&applied),
        format!("{shard}    descriptions:\n      dbt: Yes.\n")
    );
}

#[test]
fn empty_values_are_accepted() {
    let shard = "tables:\n  a:\n    table: x.a\n    descriptions:\n  b:\n    table: x.b\n    descriptions: {}\n";
    let applied = applied(
        shard,
        "models: [{name: a, description: A.}]",
        Pruning::Remove,
    );
    assert_eq!(
        text(&applied),
        "tables:\n  a:\n    table: x.a\n    descriptions:\n      dbt: A.\n  b:\n    table: x.b\n    descriptions: {}\n"
    );
}
