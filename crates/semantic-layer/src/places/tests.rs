//! Value tests of places in files.

use ktx_warehouse::Dialect;

use super::{Part, place_of};
use crate::{Catalog, SourceFile};

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
