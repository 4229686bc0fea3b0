//! Tests of differences.

use ktx_sql::Dialect;
use serde_json::json;

use super::{diff, diff_json, diff_text};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::SourceFile;

const ORDERS: &str = "\
name: orders
table: orders
grain: [id]
columns:
  - {name: id, type: number}
  - {name: who, type: number}
  - {name: cost, type: number}
  - {name: net, type: number, expr: cost * 0.8}
joins:
  - {to: people, on: who = people.id, relationship: many_to_one}
measures:
  - {name: revenue, expr: sum(cost), description: all of it}
  - {name: profit, expr: sum(net)}
  - {name: paid, expr: sum(cost), segments: [paid]}
segments:
  - {name: paid, expr: cost > 0}
";
const PEOPLE: &str =
    "name: people\ntable: people\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n";

fn catalog(orders: &str, more: &[&str]) -> Catalog {
    let texts = [orders, PEOPLE].into_iter().chain(more.iter().copied());
    let files = texts
        .enumerate()
        .map(|(at, text)| SourceFile::new(format!("{at}.yaml"), text));
    Catalog::load(files.collect(), Dialect::Sqlite)
}

fn check(changes: &[(&str, &str)], expected: &str) {
    let mut changed = ORDERS.to_owned();
    for (old, new) in changes {
        assert!(changed.contains(old), "{old}");
        changed = changed.replace(old, new);
    }
    let found = diff(&catalog(ORDERS, &[]), &catalog(&changed, &[]));
    assert_eq!(diff_text(&found), expected);
}

#[test]
fn nothing_differs_from_itself() {
    check(&[], "");
}

#[test]
fn spelling_and_descriptions_are_only_words() {
    check(
        &[
            (
                "expr: sum(cost), description: all of it",
                "expr: 'sum( cost )', description: everything",
            ),
            ("expr: cost > 0", "expr: 'cost>0'"),
            ("on: who = people.id", "on: orders.who = people.id"),
        ],
        "\
orders
  ~ join people (words)
      on: `who = people.id` -> `orders.who = people.id`
  ~ measure revenue (words)
      expr: `sum(cost)` -> `sum( cost )`
      description: `all of it` -> `everything`
  ~ segment paid (words)
      expr: `cost > 0` -> `cost>0`
",
    );
}

#[test]
fn a_changed_column_or_segment_changes_the_measures_that_stand_on_it() {
    check(
        &[
            ("cost * 0.8", "cost * 0.9"),
            ("expr: cost > 0", "expr: cost >= 0"),
        ],
        "\
orders
  ~ column net (numbers)
      expr: `cost * 0.8` -> `cost * 0.9`
  ~ measure paid (numbers)
      sql: differs
  ~ measure profit (numbers)
      sql: differs
  ~ segment paid (numbers)
      expr: `cost > 0` -> `cost >= 0`
",
    );
}

#[test]
fn grain_joins_and_filters_change_numbers_and_new_names_do_not() {
    check(
        &[
            ("grain: [id]", "grain: [id, who]"),
            ("many_to_one", "one_to_one"),
            (
                "expr: sum(cost), segments: [paid]",
                "expr: sum(cost), filter: cost > 1",
            ),
            (
                "  - {name: profit, expr: sum(net)}\n",
                "  - {name: gains, expr: sum(net)}\n",
            ),
            (
                "{name: id, type: number}",
                "{name: id, type: number, visibility: hidden}",
            ),
        ],
        "\
orders
  ~ source (numbers)
      grain: `id` -> `id, who`
  ~ column id (queries)
      visibility: `public` -> `hidden`
  ~ join people (numbers)
      relationship: `many_to_one` -> `one_to_one`
  + measure gains (queries)
  ~ measure paid (numbers)
      filter: none -> `cost > 1`
      segments: `paid` -> none
  - measure profit (numbers)
",
    );
}

#[test]
fn whole_sources_and_second_joins_come_and_go() {
    let lonely = "name: lonely\ntable: t\ngrain: [id]\ncolumns: [{name: id, type: number}]\n";
    let second = ORDERS.replace(
        "joins:\n",
        "joins:\n  - {to: people, on: id = people.id, relationship: many_to_one}\n",
    );
    let found = diff(&catalog(ORDERS, &[lonely]), &catalog(&second, &[]));
    assert_eq!(
        diff_json(&found),
        json!([
            {"source": "lonely", "subject": "source", "name": "lonely", "change": "removed", "fields": [], "effect": "queries"},
            {"source": "orders", "subject": "join", "name": "people on id = id", "change": "added", "fields": [], "effect": "numbers"},
        ])
    );
    let found = diff(
        &catalog(ORDERS, &[]),
        &catalog(&ORDERS.replace("name: orders", "name: sales"), &[]),
    );
    assert_eq!(
        diff_text(&found),
        "orders\n  - source (numbers)\nsales\n  + source (numbers)\n"
    );
}
