//! Positions in files.

use ktx_sql::Dialect;

use super::{Part, place_of};
use crate::catalog::Catalog;
use crate::model::source_file::SourceFile;

const SHARD: &str = "\
tables:
  orders:
    table: main.orders
    columns:
      - name: id
        type: INTEGER
        pk: true
      - name: who
        type: INTEGER
    joins:
      - to: people
        on: who = people.id
        relationship: many_to_one
        source: formal
  people:
    table: main.people
    columns:
    - {name: id, type: INTEGER, pk: true}
";
const OVERLAY: &str = "\
# People wrote this.
name: orders
measures:
  - name: revenue  # all of it
    expr: sum(id)
  - {name: \"count\", expr: count(id)}
segments:
- name: paid
  expr: id > 0
";

fn check(source: &str, part: &Part, expected: &str) {
    let files = vec![
        SourceFile::new("_schema/public.yaml", SHARD),
        SourceFile::new("orders.yaml", OVERLAY),
    ];
    let catalog = Catalog::load(files, Dialect::Sqlite);
    let source = catalog.source(source).unwrap();
    assert_eq!(place_of(&catalog, source, part).to_string(), expected);
}

#[test]
fn what_an_overlay_says_is_found_in_it() {
    check(
        "orders",
        &Part::Measure("revenue".to_owned()),
        "orders.yaml:4:5",
    );
    check(
        "orders",
        &Part::Measure("count".to_owned()),
        "orders.yaml:6:6",
    );
    check(
        "orders",
        &Part::Segment("paid".to_owned()),
        "orders.yaml:8:3",
    );
}

#[test]
fn what_an_overlay_does_not_say_is_found_in_the_shard() {
    check("orders", &Part::Relation, "_schema/public.yaml:3:5");
    check(
        "orders",
        &Part::Column("who".to_owned()),
        "_schema/public.yaml:8:9",
    );
    check("orders", &Part::Join(0), "_schema/public.yaml:11:9");
    check(
        "people",
        &Part::Column("id".to_owned()),
        "_schema/public.yaml:18:8",
    );
}

#[test]
fn what_is_not_found_has_the_place_of_the_nearest_thing() {
    check(
        "orders",
        &Part::Measure("profit".to_owned()),
        "orders.yaml:3:1",
    );
    check("people", &Part::Grain, "_schema/public.yaml:15:3");
}

#[test]
fn of_entries_called_the_same_the_one_that_is_meant_is_found() {
    let text = "name: calls
table: calls
grain: [id]
columns:
- {name: id, type: number}
- name: caller
  type: number
  tests:
    db: [{name: callee}]
- {name: callee, type: number}
joins:
- {to: people, on: caller = people.id, relationship: many_to_one}
- to: people
  on: callee = people.id
  relationship: many_to_one
  alias: answering
";
    let people = "name: people\ntable: people\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n";
    let files = vec![
        SourceFile::new("calls.yaml", text),
        SourceFile::new("people.yaml", people),
    ];
    let catalog = Catalog::load(files, Dialect::Sqlite);
    let source = catalog.source("calls").unwrap();
    let parts = [
        Part::Join(0),
        Part::Join(1),
        Part::Column("id".to_owned()),
        Part::Column("callee".to_owned()),
        Part::Segment("none".to_owned()),
    ];
    let places = parts.map(|part| place_of(&catalog, source, &part).to_string());
    assert_eq!(
        places,
        [
            "calls.yaml:12:4",
            "calls.yaml:16:3",
            "calls.yaml:5:4",
            "calls.yaml:10:4",
            "calls.yaml:1:1",
        ]
    );
}
