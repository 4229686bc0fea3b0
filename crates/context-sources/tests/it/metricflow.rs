//! Tests MetricFlow projects: the files read, the units and the facts.

use ktx_context_sources::metricflow::{facts, read, units};
use ktx_context_sources::{Facts, Snapshot, Unit};

use crate::folder;

fn snapshot(files: &[(&str, &str)]) -> Snapshot {
    read(folder(files).path()).expect("a project")
}

/// Renders each unit as `key: files < dependencies (peers)`.
pub(crate) fn grouped(units: &[Unit]) -> Vec<String> {
    let unit = |unit: &Unit| {
        let mut shown = format!("{}: {}", unit.key, unit.files.join(" "));
        if !unit.dependencies.is_empty() {
            shown = format!("{shown} < {}", unit.dependencies.join(" "));
        }
        if !unit.writes_sources {
            shown.push_str(" pages only");
        }
        shown
    };
    units.iter().map(unit).collect()
}

/// Renders each table as `database.schema.name: description | column = description`.
pub(crate) fn shown(facts: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    for table in &facts.tables {
        let place = [&table.database, &table.schema].into_iter().flatten();
        let place = place.fold(String::new(), |place, part| place + part + ".");
        let text = table.description.as_deref().unwrap_or("-");
        let mut line = format!("{place}{}: {text}", table.name);
        for column in &table.columns {
            let text = column.description.as_deref().unwrap_or("-");
            line = format!("{line} | {} = {text}", column.name);
        }
        lines.push(line);
    }
    lines
}

#[test]
fn tables_and_plain_columns_are_described() {
    let orders = r#"
semantic_models:
  - name: orders
    description: One row per order.
    model: ref('fct_orders')
    entities:
      - {name: order, type: primary, expr: order_id, description: The order.}
    dimensions:
      - {name: status, type: categorical, description: The state.}
      - {name: day, type: time, expr: "date_trunc('day', at)", description: The day.}
    measures:
      - {name: amount, agg: sum, description: What was paid.}
      - {name: state, agg: max, expr: status, description: Not this.}
      - {name: order_count, agg: sum, expr: 1, description: How many.}
      - {name: net, agg: sum, expr: paid-refunded, description: Nor this.}
  - {name: versioned, model: "{{ ref('shop', 'dim_people', v=2) }}", description: People.}
  - {name: raw, model: "source('erp', 'lines')", description: Lines.}
  - {name: other, model: "source('gone', 'things')", description: Things.}
  - {name: placed, model: ref('x'), node_relation: {alias: real, schema_name: mart, database: db}, description: Real.}
  - {name: written, model: mart.plain, description: Plain.}
"#;
    let sources =
        "sources: [{name: erp, schema: landing, tables: [{name: lines, identifier: LINES_V1}]}]";
    let facts = facts(&snapshot(&[("a.yml", orders), ("sources.yaml", sources)]));
    assert_eq!(facts.warnings, Vec::<String>::new());
    assert!(facts.is_complete);
    assert_eq!(
        shown(&facts),
        [
            "dim_people_v2: People.",
            "fct_orders: One row per order. | status = The state. | order_id = The order.",
            "landing.LINES_V1: Lines.",
            "mart.plain: Plain.",
            "db.mart.real: Real.",
            "things: Things.",
        ]
    );
}

#[test]
fn unreadable_parts_are_reported_with_their_place() {
    let facts = facts(&snapshot(&[
        (
            "a.yml",
            "semantic_models: [{name: a, model: \"ref(var('x'))\"}, {name: b, model: ref('b'), description: \"{{ doc('b') }}\"}]",
        ),
        (
            "broken.yml",
            "semantic_models:\n  - name: c\n   description: [\n",
        ),
        (
            "key.yml",
            "semantic_models: [{name: d, model: ref('d'), description: \"Log in with postgres://u:hunter2@h/d.\"}]",
        ),
    ]));
    assert_eq!(shown(&facts), Vec::<String>::new());
    assert!(!facts.is_complete);
    assert_eq!(
        facts.warnings,
        [
            "broken.yml:3:4: did not find expected '-' indicator",
            "a.yml: `a` was left out: its `model` names no table that is known",
            "a.yml: the `description` of `b` was left out: only dbt can write it out",
            "key.yml: the `description` of `d` looks like a password or key and was left out",
        ]
    );
}

#[test]
fn what_builds_on_each_other_is_read_together() {
    let model = |name: &str, measure: &str| {
        format!(
            "semantic_models: [{{name: {name}, model: ref('{name}'), measures: [{{name: {measure}, agg: sum}}]}}]"
        )
    };
    let (orders, people, stock) = (
        model("orders", "amount"),
        model("people", "heads"),
        model("stock", "left"),
    );
    let files = [
        ("models/orders.yml", orders.as_str()),
        ("models/people.yml", &people),
        ("models/stock.yml", &stock),
        (
            "metrics/a.yml",
            "metrics: [{name: revenue, type: simple, type_params: {measure: {name: amount}}}]",
        ),
        (
            "metrics/b.yml",
            "metrics: [{name: ratio, type: ratio, type_params: {numerator: revenue, denominator: {name: headcount}}}]",
        ),
        (
            "metrics/c.yml",
            "metrics: [{name: headcount, type: simple, type_params: {measure: heads}, filter: \"{{ Metric('loop') }} > 1\"}]",
        ),
        (
            "metrics/d.yml",
            "metrics: [{name: loop, type: derived, type_params: {expr: a, metrics: [{name: ratio, alias: a}]}}]",
        ),
        ("metrics/e.yml", "metrics: [{name: loose}]"),
        ("dbt_project.yml", "metrics: []"),
        ("ci.yml", "jobs: []"),
        (".hidden/a.yml", "metrics: []"),
        ("target/a.yml", "metrics: []"),
    ];
    assert_eq!(
        grouped(&units(&snapshot(&files))),
        [
            "metricflow-orders: metrics/a.yml metrics/b.yml metrics/c.yml metrics/d.yml models/orders.yml models/people.yml",
            "metricflow-loose: metrics/e.yml",
            "metricflow-stock: models/stock.yml",
        ]
    );
}

#[test]
fn a_long_group_is_read_in_parts() {
    let filler = format!("# {}\n", "x".repeat(40_000));
    let orders = format!(
        "{filler}semantic_models: [{{name: orders, model: ref('o'), measures: [{{name: amount}}]}}]"
    );
    let metrics = format!("{filler}metrics: [{{name: revenue, type_params: {{measure: amount}}}}]");
    let small = "metrics: [{name: net, type_params: {metrics: [revenue]}}]";
    let files = [
        ("a.yml", orders.as_str()),
        ("b.yml", &metrics),
        ("c.yml", small),
    ];
    let units = units(&snapshot(&files));
    assert_eq!(
        grouped(&units),
        [
            "metricflow-orders: a.yml",
            "metricflow-orders-2: b.yml c.yml"
        ]
    );
    assert_eq!(units[1].peers, ["a.yml"]);
}

#[test]
fn a_folder_without_metrics_is_not_a_project() {
    for files in [&[("ci.yml", "jobs: []")][..], &[]] {
        let folder = folder(files);
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(
            error.starts_with("there is no YAML of `semantic_models` or `metrics` in `"),
            "{error}"
        );
    }
}
