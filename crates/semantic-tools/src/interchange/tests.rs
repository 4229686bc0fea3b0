//! Tests of the open format.

mod texts;

use ktx_sql::Dialect;

use super::{Fate, Imported, Loss, export_osi, import_osi};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::SourceFile;
use texts::{NOT_SAID, SAID};

const ORDERS: &str = "\
name: orders
descriptions:
  user: One row per order.
  ai: Orders of the shop.
table: shop.orders
grain: [id]
columns:
  - {name: id, type: number}
  - {name: who, type: number, visibility: hidden}
  - {name: status, type: string, descriptions: {user: open or paid}}
  - {name: cost, type: number}
  - {name: at, type: time, role: time}
  - {name: net, type: number, expr: cost * 0.8}
joins:
  - {to: people, on: who = people.id, relationship: many_to_one}
  - {to: people, on: id = people.id, relationship: one_to_one, alias: twin}
measures:
  - {name: revenue, expr: sum(net), filter: status = 'paid' and people.test = 0, description: Money received.}
  - {name: orders, expr: count(*), segments: [large]}
  - {name: per_order, ratio: {numerator: revenue, denominator: orders}}
  - {name: share, expr: revenue / sum(cost)}
  - {name: running, cumulative: {measure: revenue}}
segments:
  - {name: large, expr: cost > 100}
usage: {narrative: asked daily}
";
const PEOPLE: &str = "\
name: people
sql: select id, test from accounts
grain: [id]
columns:
  - {name: id, type: number}
  - {name: test, type: number}
joins:
  - {to: orders, on: id = orders.who, relationship: one_to_many}
measures:
  - {name: orders, expr: count_if(test = 0)}
";

fn catalog(files: &[(&str, &str)]) -> Catalog {
    let files = files
        .iter()
        .map(|(path, text)| SourceFile::new(*path, *text));
    Catalog::load(files.collect(), Dialect::Sqlite)
}

fn shop() -> Catalog {
    catalog(&[("orders.yaml", ORDERS), ("people.yaml", PEOPLE)])
}

fn lines(losses: &[Loss]) -> String {
    let lines: Vec<String> = losses
        .iter()
        .map(|loss| {
            let (fate, place, construct) = (loss.fate.name(), &loss.place, loss.construct);
            format!(
                "{fate} {place} {construct}: {}
",
                loss.message
            )
        })
        .collect();
    lines.concat()
}

fn loaded(imported: &Imported) -> Catalog {
    let files: Vec<(&str, &str)> = imported
        .sources
        .iter()
        .map(|source| (source.path.as_str(), source.text.as_str()))
        .collect();
    catalog(&files)
}

#[test]
fn what_the_format_can_say_is_said_and_the_rest_is_reported() {
    let exported = export_osi(&shop(), "warehouse").unwrap();
    let (said, extension) = exported.text.split_once("  custom_extensions:").unwrap();
    assert_eq!(said, SAID);
    assert!(extension.contains("vendor_name: KTX"), "{extension}");
    assert_eq!(lines(&exported.losses), NOT_SAID);
}

#[test]
fn what_was_exported_comes_back_and_is_exported_as_before() {
    let first = export_osi(&shop(), "warehouse").unwrap();
    let imported = import_osi(&first.text, &catalog(&[])).unwrap();
    assert_eq!(lines(&imported.losses), "");
    let again = loaded(&imported);
    assert_eq!(again.diagnostics(), []);
    assert_eq!(crate::diff_text(&crate::diff::diff(&shop(), &again)), "");
    let second = export_osi(&again, "warehouse").unwrap();
    assert_eq!(second.text, first.text);
}

#[test]
fn imported_files_are_those_that_people_write() {
    let first = export_osi(&shop(), "warehouse").unwrap();
    let imported = import_osi(&first.text, &catalog(&[])).unwrap();
    let orders = imported.sources.first().unwrap();
    assert_eq!(orders.path, "orders.yaml");
    assert_eq!(
        orders.text,
        r"name: orders

descriptions:
  user: One row per order.
  ai: Orders of the shop.

table: shop.orders

grain:
  - id

columns:
  - name: id
    type: number
  - name: who
    type: number
    visibility: hidden
  - name: status
    type: string
    descriptions:
      user: open or paid
  - name: cost
    type: number
  - name: at
    type: time
    role: time
  - name: net
    type: number
    expr: cost * 0.8

joins:
  - to: people
    alias: twin
    on: id = people.id
    relationship: one_to_one
  - to: people
    on: who = people.id
    relationship: many_to_one

measures:
  - name: revenue
    expr: sum(net)
    filter: status = 'paid' and people.test = 0
    description: Money received.
  - name: orders
    expr: count(*)
    segments:
      - large
  - name: per_order
    ratio:
      numerator: revenue
      denominator: orders
  - name: share
    expr: revenue / sum(cost)
  - name: running
    cumulative:
      measure: revenue

segments:
  - name: large
    expr: cost > 100

usage:
  narrative: asked daily
"
    );
}

const FOREIGN: &str = "\
version: 0.2.0
licence: none
semantic_model:
  - name: shop
    description: A shop.
    datasets:
      - name: sales
        source: db.shop.sales
        primary_key: [id]
        unique_keys: [[number]]
        ai_context: {synonyms: [orders]}
        fields:
          - name: id
            expression: {dialects: [{dialect: ANSI_SQL, expression: id}]}
          - name: day
            expression:
              dialects:
                - {dialect: SNOWFLAKE, expression: TO_DATE(at)}
                - {dialect: ANSI_SQL, expression: CAST(at AS DATE)}
            dimension: {is_time: true}
            label: Day
          - name: amount
            expression: {dialects: [{dialect: ANSI_SQL, expression: amount / 100}]}
          - expression: {dialects: []}
      - {name: shops, source: db.shop.shops, fields: [{name: id}]}
    relationships:
      - {name: at, from: sales, to: shops, from_columns: [shop_id], to_columns: [id]}
      - {name: lost, from: sales, to: nowhere, from_columns: [x], to_columns: [y]}
    metrics:
      - name: revenue
        expression: {dialects: [{dialect: ANSI_SQL, expression: SUM(sales.net)}]}
        ai_context: the money
      - name: mystery
        expression: {dialects: [{dialect: ANSI_SQL, expression: SUM(net)}]}
      - name: broken
        expression: {dialects: [{dialect: ANSI_SQL, expression: SUM(}]}
    custom_extensions:
      - {vendor_name: OTHER, data: '{}'}
";

#[test]
fn a_file_of_somebody_else_is_taken_over_as_far_as_it_goes() {
    let imported = import_osi(FOREIGN, &catalog(&[])).unwrap();
    let texts: Vec<&str> = imported
        .sources
        .iter()
        .map(|source| source.text.as_str())
        .collect();
    assert_eq!(
        texts.join("---\n"),
        r#"name: sales

descriptions:
  ai_context: '{"synonyms":["orders"]}'

table: db.shop.sales

grain:
  - id

columns:
  - name: id
    type: string
  - name: day
    type: time
    role: time
    descriptions:
      label: Day
    expr: CAST(at AS DATE)
  - name: at
    type: string
    visibility: hidden
  - name: shop_id
    type: string
    visibility: hidden
  - name: net
    type: string
    visibility: hidden

joins:
  - to: shops
    on: shop_id = shops.id
    relationship: many_to_one

measures:
  - name: revenue
    expr: SUM(sales.net)
---
name: shops
table: db.shop.shops

grain:
  - id

columns:
  - name: id
    type: string
"#
    );
    assert_eq!(
        lines(&imported.losses),
        r"dropped $.licence unknown_key: `licence` is not known here
dropped $.semantic_model[0].custom_extensions[0] custom_extension: the extension of `OTHER` is not imported
rewritten $.semantic_model[0].datasets[0] hidden_column: `at` is read by a field and added as a hidden column
rewritten $.semantic_model[0].datasets[0].fields[0] type: the field does not say its type: taken as `string`
dropped $.semantic_model[0].datasets[0].fields[1].expression.SNOWFLAKE dialect: the expression for SNOWFLAKE is not imported
dropped $.semantic_model[0].datasets[0].fields[2] field: the expression reads a column of the field's own name
dropped $.semantic_model[0].datasets[0].fields[3] field: a field needs a name
dropped $.semantic_model[0].datasets[0].unique_keys unique_key: the unique key `number` has no counterpart
rewritten $.semantic_model[0].datasets[1] primary_key: without a key all fields together tell rows apart
rewritten $.semantic_model[0].datasets[1].fields[0] type: the field does not say its type: taken as `string`
dropped $.semantic_model[0].description model_text: there is no place for texts about the whole model
rewritten $.semantic_model[0].metrics[0] hidden_column: `sales.net` is read by a metric and added as a hidden column
dropped $.semantic_model[0].metrics[0].ai_context ai_context: measures have a description only
dropped $.semantic_model[0].metrics[1] metric: `net` does not say its dataset
dropped $.semantic_model[0].metrics[2] metric: cannot parse `SUM(`: Expected: an expression, found: EOF
rewritten $.semantic_model[0].relationships[0] hidden_column: `sales.shop_id` is read by a relationship and added as a hidden column
dropped $.semantic_model[0].relationships[1] relationship: there is no dataset `nowhere`
"
    );
}

#[test]
fn a_dataset_of_a_scanned_table_becomes_an_overlay() {
    let shard = "tables:\n  sales:\n    table: shop.sales\n    columns:\n      - {name: id, type: INTEGER, pk: true}\n      - {name: at, type: TIMESTAMP}\n      - {name: shop_id, type: INTEGER}\n      - {name: net, type: REAL}\n  shops:\n    table: shop.shops\n    columns:\n      - {name: id, type: INTEGER, pk: true}\n";
    let into = catalog(&[("_schema/shop.yaml", shard)]);
    let imported = import_osi(FOREIGN, &into).unwrap();
    let texts: Vec<&str> = imported
        .sources
        .iter()
        .map(|source| source.text.as_str())
        .collect();
    assert_eq!(
        texts.join("---\n"),
        r#"name: sales

descriptions:
  ai_context: '{"synonyms":["orders"]}'

columns:
  - name: day
    type: time
    role: time
    descriptions:
      label: Day
    expr: CAST(at AS DATE)

joins:
  - to: shops
    on: shop_id = shops.id
    relationship: many_to_one

measures:
  - name: revenue
    expr: SUM(sales.net)
"#
    );
}

#[test]
fn types_are_taken_as_they_are_said() {
    let field = |name: &str, rest: &str| {
        format!(
            "          - {{name: {name}, expression: {{dialects: [{{dialect: ANSI_SQL, expression: {name}}}]}}, {rest}}}\n"
        )
    };
    let fields = [
        ("day", "datatype: Date"),
        (
            "logged",
            "datatype: DateTimeTz, dimension: {is_time: false}",
        ),
        ("year", "datatype: Integer, dimension: {is_time: true}"),
        ("paid", "datatype: Boolean"),
        ("price", "datatype: Decimal"),
        ("rate", "datatype: number"),
        ("seen", "datatype: timestamp_tz"),
        ("shape", "datatype: Opaque"),
    ]
    .map(|(name, rest)| field(name, rest));
    let text = format!(
        "version: 0.2.0.dev0\ndialects: [ANSI_SQL]\nvendors: [DBT]\nai_context: Ask politely.\nsemantic_model:\n  - name: shop\n    datasets:\n      - name: sales\n        source: db.shop.sales\n        primary_key: [day]\n        fields:\n{}    metrics:\n      - {{name: n, datatype: Integer, expression: {{dialects: [{{dialect: ANSI_SQL, expression: COUNT(sales.day)}}]}}}}\n",
        fields.concat()
    );
    let imported = import_osi(&text, &catalog(&[])).unwrap();
    let sales = imported.sources.first().unwrap();
    let (_, columns) = sales.text.split_once("columns:\n").unwrap();
    assert_eq!(
        columns,
        "  - name: day
    type: time
    role: time
  - name: logged
    type: time
    role: time
  - name: year
    type: number
    role: time
  - name: paid
    type: boolean
  - name: price
    type: number
  - name: rate
    type: number
  - name: seen
    type: time
    role: time
  - name: shape
    type: string

measures:
  - name: n
    expr: COUNT(sales.day)
"
    );
    assert_eq!(
        lines(&imported.losses),
        "dropped $.ai_context model_text: there is no place for texts about the whole model
rewritten $.semantic_model[0].datasets[0].fields[1].dimension is_time: dates and times are dimensions of time here
rewritten $.semantic_model[0].datasets[0].fields[7] type: the field does not say its type: taken as `string`
rewritten $.semantic_model[0].datasets[0].fields[7].datatype type: the type `Opaque` has no counterpart
rewritten $.semantic_model[0].metrics[0].datatype type: the type of a measure follows from its expression
"
    );
    let again = export_osi(&loaded(&imported), "shop").unwrap();
    let back = import_osi(&again.text, &catalog(&[])).unwrap();
    assert_eq!(back.sources, imported.sources);
}

#[test]
fn what_is_no_model_is_refused() {
    let into = catalog(&[]);
    for (text, reason) in [
        (
            "[",
            "the file is not YAML: did not find expected node content at line 2 column 1, while parsing a flow node",
        ),
        ("- a", "the file has no list `semantic_model`"),
        ("semantic_model: 1", "the file has no list `semantic_model`"),
    ] {
        assert_eq!(import_osi(text, &into).unwrap_err().to_string(), reason);
    }
}

#[test]
fn a_metric_that_was_edited_counts_more_than_the_extension() {
    let first = export_osi(&shop(), "warehouse").unwrap();
    let edited = first
        .text
        .replacen("COUNT(orders.id)", "COUNT(orders.who)", 1);
    let edited = edited.replacen("count(CASE", "COUNT(CASE", 1);
    assert_ne!(edited, first.text);
    let imported = import_osi(&edited, &catalog(&[])).unwrap();
    let rewritten: Vec<&Loss> = imported
        .losses
        .iter()
        .filter(|loss| loss.fate == Fate::Rewritten)
        .collect();
    assert_eq!(rewritten.len(), 1, "{rewritten:?}");
}
