//! Source files with a part withheld.

use insta::assert_snapshot;

use super::{LayerPart, WithheldParts};

const SOURCE: &str = "\
# A note.
name: description
table: joins
descriptions: {user: Orders of the shop.}
columns:
  - {name: joins, type: string, enum_values: {dbt: [a, b]}, descriptions: {ai: A column.}}
joins:
  - {to: customers, on: 'customer_id = customers.id', relationship: many_to_one}
measures:
  - {name: revenue, expr: 'sum(amount) /* gross */', filter: \"note <> '--' -- real ones\", description: Money.}
";

const SHARD: &str = "\
tables:
  joins:
    table: joins
    descriptions: {db: A table.}
    joins: [{to: description, on: 'a = b', relationship: one_to_one}]
  description:
    table: description
    usage: {narrative: Often used.}
";

fn without(part: LayerPart, text: &str) -> String {
    let parts = WithheldParts::from_iter([part]);
    match parts.source_file(text.as_bytes().to_vec()) {
        Some(bytes) => String::from_utf8(bytes).unwrap(),
        None => "nothing".to_owned(),
    }
}

#[test]
fn only_the_keys_of_the_part_are_taken_away() {
    assert_snapshot!(without(LayerPart::Descriptions, SOURCE), @r#"
    name: description
    table: joins
    columns:
    - name: joins
      type: string
      enum_values:
        dbt:
        - a
        - b
    joins:
    - to: customers
      on: customer_id = customers.id
      relationship: many_to_one
    measures:
    - name: revenue
      expr: 'sum(amount)  '
      filter: "note <> '--' \n"
    "#);
    assert_snapshot!(without(LayerPart::Joins, SOURCE), @r"
    name: description
    table: joins
    descriptions:
      user: Orders of the shop.
    columns:
    - name: joins
      type: string
      enum_values:
        dbt:
        - a
        - b
      descriptions:
        ai: A column.
    measures:
    - name: revenue
      expr: sum(amount) /* gross */
      filter: note <> '--' -- real ones
      description: Money.
    ");
    assert_snapshot!(without(LayerPart::Dictionary, SOURCE), @r"
    name: description
    table: joins
    descriptions:
      user: Orders of the shop.
    columns:
    - name: joins
      type: string
      descriptions:
        ai: A column.
    joins:
    - to: customers
      on: customer_id = customers.id
      relationship: many_to_one
    measures:
    - name: revenue
      expr: sum(amount) /* gross */
      filter: note <> '--' -- real ones
      description: Money.
    ");
    assert_snapshot!(without(LayerPart::Descriptions, SHARD), @r"
    tables:
      joins:
        table: joins
        joins:
        - to: description
          on: a = b
          relationship: one_to_one
      description:
        table: description
    ");
    assert_snapshot!(without(LayerPart::Joins, SHARD), @r"
    tables:
      joins:
        table: joins
        descriptions:
          db: A table.
      description:
        table: description
        usage:
          narrative: Often used.
    ");
    assert_eq!(without(LayerPart::Semantic, SHARD), "nothing");
    assert_eq!(without(LayerPart::Wiki, SOURCE), SOURCE);
}

#[test]
fn a_file_that_cannot_be_read_is_not_shown_in_part() {
    let broken = "name: orders\ndescriptions: {user: a secret";
    assert_eq!(without(LayerPart::Descriptions, broken), "nothing");
    assert_eq!(without(LayerPart::Wiki, broken), broken);
}
