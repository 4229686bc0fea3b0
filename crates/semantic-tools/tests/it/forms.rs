//! Compares and formats measures that are not plain expressions.

use ktx_semantic_layer::{Catalog, SourceFile};
use ktx_semantic_tools::{diff, diff_text, format_source};
use ktx_sql::Dialect;

const HEAD: &str = "name: sales\ntable: sales\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: at, type: time}\n- {name: kind, type: string}\n- {name: cost, type: number}\nmeasures:\n- {name: total, expr: sum(cost)}\n- {name: cnt, expr: count(*)}\n";
const FORMS: &str = "- {name: a, ratio: {numerator: total, denominator: cnt}}\n- {name: b, cumulative: {measure: total, window: {to_date: year}}}\n- {name: c, compare: {measure: total, unit: month, as: ratio}}\n- {name: d, expr: sum(cost), semi_additive: {dimension: at, at: last, per: [kind]}}\n";

fn sales(text: &str) -> Catalog {
    Catalog::load(vec![SourceFile::new("sales.yaml", text)], Dialect::Sqlite)
}

#[test]
fn changed_forms_are_reported_and_so_are_measures_that_use_them() {
    let old = sales(&format!("{HEAD}{FORMS}"));
    let text = format!("{HEAD}{FORMS}")
        .replace("to_date: year", "to_date: month")
        .replace("at: last", "at: first")
        .replace(
            "{name: c, compare: {measure: total, unit: month, as: ratio}}",
            "{name: c, expr: sum(id)}",
        )
        .replace(
            "{name: cnt, expr: count(*)}",
            "{name: cnt, expr: count(cost)}",
        );
    let new = sales(&text);
    let expected = "\
sales
  ~ measure a (numbers)
      sql: differs
  ~ measure b (numbers)
      cumulative: `total, year to date` -> `total, month to date`
  ~ measure c (numbers)
      expr: none -> `sum(id)`
      compare: `ratio of total and 1 month earlier` -> none
  ~ measure cnt (numbers)
      expr: `count(*)` -> `count(cost)`
  ~ measure d (numbers)
      semi_additive: `last at per kind` -> `first at per kind`
";
    assert_eq!(diff_text(&diff(&old, &new)), expected);
}

#[test]
fn the_formatter_orders_the_keys_of_forms() {
    let text = "\
name: sales
table: sales
grain: [id]

columns:
  - name: id
    type: number

measures:
  - description: so far
    cumulative:
      window:
        unit: day
        count: 7
      measure: total
    name: m
";
    let expected = text.replace(
        "  - description: so far
    cumulative:
      window:
        unit: day
        count: 7
      measure: total
    name: m
",
        "  - name: m
    cumulative:
      measure: total
      window:
        count: 7
        unit: day
    description: so far
",
    );
    assert_eq!(format_source(text, "sales.yaml"), Ok(expected));
}
