//! Small projects in forms that the documentation of the tools describes: each definition arrives
//! exactly, or stays with its reason.

use ktx_context_sources::{
    Definitions, Fragment, MeasureFormula, Purpose, Snapshot, Sql, cube, lookml, metricflow,
};

use crate::folder;

fn sql(sql: &Sql) -> String {
    let of = |model: &Option<String>, name: &String| match model {
        Some(model) => format!("{model}.{name}"),
        None => name.clone(),
    };
    let texts = sql.0.iter().map(|fragment| match fragment {
        Fragment::Text(text) => text.clone(),
        Fragment::Column { model, name } => of(model, name),
        Fragment::Measure { model, name } => format!("[{}]", of(model, name)),
    });
    texts.collect()
}

fn formula(formula: &MeasureFormula) -> String {
    match formula {
        MeasureFormula::Expression(text) => sql(text),
        MeasureFormula::Snapshot {
            expression,
            moments,
            at,
            per,
        } => format!("{} at {at:?} {moments} per {per:?}", sql(expression)),
        MeasureFormula::Ratio {
            numerator,
            denominator,
        } => format!("{} / {}", sql(numerator), sql(denominator)),
        MeasureFormula::Cumulative { measure, window } => format!("{} {window:?}", sql(measure)),
        MeasureFormula::Earlier {
            measure,
            count,
            unit,
        } => format!("{} {count} {} earlier", sql(measure), unit.name()),
    }
}

/// One line for each measure, computed column, join, segment and skipped definition.
fn told(definitions: &Definitions) -> Vec<String> {
    let mut lines = Vec::new();
    for model in &definitions.models {
        let name = &model.name;
        for column in &model.columns {
            lines.push(format!("{name}.{} = {}", column.name, sql(&column.expr)));
        }
        for join in &model.joins {
            let pairs = join.pairs.iter();
            let pairs: Vec<String> = pairs
                .map(|pair| format!("{}={}", pair.own, pair.other))
                .collect();
            let alias = join.alias.as_ref().map(|alias| format!(" as {alias}"));
            lines.push(format!(
                "{name} → {}{} {:?} on {}",
                join.to,
                alias.unwrap_or_default(),
                join.cardinality,
                pairs.join(" ")
            ));
        }
        for measure in &model.measures {
            let mut line = format!("{name}.{}: {}", measure.name, formula(&measure.formula));
            for filter in &measure.filters {
                line = format!("{line} where {}", sql(filter));
            }
            for lost in &measure.lost {
                line = format!("{line} (lost: {lost})");
            }
            if measure.purpose == Purpose::Input {
                line.push_str(" (input)");
            }
            lines.push(line);
        }
        for segment in &model.segments {
            lines.push(format!("{name}.{} if {}", segment.name, sql(&segment.expr)));
        }
    }
    for left in &definitions.left {
        lines.push(format!("left {}: {}", left.name, left.reason));
    }
    lines
}

fn metricflow(text: &str) -> Vec<String> {
    let folder = folder(&[("models/all.yml", text)]);
    let snapshot = metricflow::read(folder.path()).expect("a project");
    told(&metricflow::definitions(&snapshot))
}

fn lookml(files: &[(&str, &str)]) -> Vec<String> {
    let folder = folder(files);
    let snapshot: Snapshot = lookml::read(folder.path()).expect("a project");
    told(&lookml::definitions(&snapshot, None))
}

fn cube(text: &str) -> Vec<String> {
    let folder = folder(&[("model/all.yml", text)]);
    told(&cube::definitions(
        &cube::read(folder.path()).expect("a project"),
    ))
}

const PARCELS: &str = "
semantic_models:
  - name: parcels
    model: ref('fct_parcels')
    defaults: {agg_time_dimension: sent}
    primary_entity: parcel
    entities:
      - {name: sender, type: foreign, expr: sender_id}
    dimensions:
      - {name: sent, type: time, expr: sent_at, type_params: {time_granularity: day}}
      - {name: is_express, type: categorical}
    measures:
      - {name: weight, agg: sum, expr: grams / 1000.0}
      - {name: parcel_count, agg: count, expr: 1, agg_time_dimension: sent}
";

fn parcels(metrics: &str) -> Vec<String> {
    let text = format!("{PARCELS}metrics:\n{metrics}");
    metricflow(&text)
}

#[test]
fn metricflow_fills_only_what_the_layer_fills() {
    let told = parcels(
        "  - {name: parcels_sent, type: simple, label: P, type_params: {measure: {name: parcel_count, fill_nulls_with: 0, join_to_timespine: true}}}
  - {name: weight_sent, type: simple, label: W, type_params: {measure: {name: weight, fill_nulls_with: 0}}}
",
    );
    assert_eq!(
        told,
        [
            "parcels.parcels_sent: count(*) (lost: periods without rows appear only with `fill`)",
            "parcels.weight_sent: sum(grams / 1000.0) (lost: periods without rows are not filled with 0)",
        ]
    );
}

#[test]
fn metricflow_offsets_and_conversions_have_a_reason() {
    let told = parcels(
        "  - {name: parcels_sent, type: simple, label: P, type_params: {measure: parcel_count}}
  - {name: growth, type: derived, label: G, type_params: {expr: now - before, metrics: [{name: parcels_sent, alias: now}, {name: parcels_sent, alias: before, offset_window: 1 month}]}}
  - {name: since_start, type: derived, label: S, type_params: {expr: now - then, metrics: [{name: parcels_sent, alias: now}, {name: parcels_sent, alias: then, offset_to_grain: month}]}}
  - {name: returns, type: conversion, label: C, type_params: {conversion_type_params: {base_measure: parcel_count, conversion_measure: parcel_count, entity: sender}}}
",
    );
    assert_eq!(
        told,
        [
            "parcels.parcels_sent: count(*)",
            "parcels.growth__before: [parcels_sent] 1 month earlier (input)",
            "parcels.growth: [parcels_sent] - [growth__before]",
            "left returns: a conversion metric has no counterpart",
            "left since_start: its `offset_to_grain` is not imported: write a `compare` with `offset_to_grain` in an overlay",
        ]
    );
}

/// Without a choice, MetricFlow takes the first moment.
#[test]
fn metricflow_takes_one_moment_of_a_measure_that_does_not_add_up() {
    let stock = "
semantic_models:
  - name: shelves
    model: ref('daily_shelves')
    defaults: {agg_time_dimension: day}
    entities: [{name: shelf, type: primary, expr: shelf_id}]
    dimensions: [{name: day, type: time, type_params: {time_granularity: day}}]
    measures:
      - {name: first_stock, agg: sum, expr: items, create_metric: true, non_additive_dimension: {name: day}}
      - {name: last_stock, agg: sum, expr: items, create_metric: true, non_additive_dimension: {name: day, window_choice: max, window_groupings: [shelf]}}
";
    assert_eq!(
        metricflow(stock),
        [
            "shelves.first_stock: sum(items) at First day per []",
            "shelves.last_stock: sum(items) at Last day per [\"shelf_id\"]",
        ]
    );
}

#[test]
fn metricflow_names_dimensions_with_their_entity() {
    let told = parcels(
        "  - name: express_parcels
    type: simple
    label: E
    filter: |
      {{ Dimension('parcel__is_express') }} and {{ TimeDimension('parcel__sent', 'day') }} >= '2026-01-01'
    type_params: {measure: parcel_count}
  - name: wrong_entity
    type: simple
    label: W
    filter: \"{{ Dimension('truck__is_express') }}\"
    type_params: {measure: parcel_count}
",
    );
    assert!(
        told[0].starts_with("parcels.express_parcels: count(*) where "),
        "{told:?}"
    );
    assert!(told[1].starts_with("left wrong_entity: "), "{told:?}");
}

const TICKETS: &str = "
view: tickets {
  sql_table_name: desk.tickets ;;
  dimension: id { primary_key: yes type: number sql: ${TABLE}.id ;; }
  dimension: queue { sql: ${TABLE}.queue ;; }
  dimension: priority { type: number sql: ${TABLE}.priority ;; }
  dimension: agent_id { type: number sql: ${TABLE}.agent_id ;; }
  dimension_group: open { type: duration intervals: [hour, day] sql_start: ${TABLE}.a ;; sql_end: ${TABLE}.b ;; }
  measure: count { type: count }
  measure: others { type: count filters: [queue: \"-Sales,-Spam%\", priority: \"NOT 66, 99\"] }
  measure: minutes { type: sum_distinct sql_distinct_key: ${id} ;; sql: ${TABLE}.minutes ;; }
  measure: share { type: number sql: 1.0 * ${others} / nullif(${count}, 0) ;; }
}
view: agents {
  sql_table_name: desk.agents ;;
  dimension: id { primary_key: yes type: number sql: ${TABLE}.id ;; }
}
";

#[test]
fn lookml_filters_measures_and_refers_to_them() {
    let told = lookml(&[("tickets.view.lkml", TICKETS)]);
    assert_eq!(
        told,
        [
            "tickets.count: count(*)",
            "tickets.others: count(*) where ((queue <> 'Sales' or queue is null) and (queue not like 'Spam%' or queue is null)) where ((priority <> 66 or priority is null) and (priority <> 99 or priority is null))",
            "tickets.share: 1.0 * [others] / nullif([count], 0)",
            "left tickets.minutes: a measure of type `sum_distinct` has no counterpart",
            "left tickets.open: only Looker computes a duration",
        ]
    );
}

/// An explore may call its view otherwise; a refinement of it calls the view so, too.
#[test]
fn lookml_explores_name_their_view() {
    let model = "
connection: \"desk\"
include: \"*.view.lkml\"
explore: cases {
  from: tickets
  always_filter: { filters: [cases.queue: \"Sales\"] }
  access_filter: { field: cases.queue user_attribute: queue }
  sql_always_where: ${cases.queue} <> 'test' ;;
}
explore: +cases {
  join: agents { relationship: many_to_one sql_on: ${cases.agent_id} = ${agents.id} ;; }
}
";
    let told = lookml(&[("tickets.view.lkml", TICKETS), ("desk.model.lkml", model)]);
    for expected in [
        "tickets → agents ManyToOne on agent_id=id",
        "tickets.cases_always if queue <> 'test'",
    ] {
        assert!(told.iter().any(|line| line == expected), "{told:?}");
    }
}

/// A template has no table of its own; the view that extends it overrides its fields, and a refinement
/// those.
#[test]
fn lookml_templates_count_in_what_extends_them() {
    let views = "
view: money {
  extension: required
  dimension: amount { type: number sql: ${TABLE}.amount ;; }
  measure: total { type: sum sql: ${amount} ;; }
}
view: fees {
  extends: [money]
  sql_table_name: shop.fees ;;
  measure: highest { type: max sql: ${amount} ;; }
}
view: +fees {
  dimension: amount { sql: ${TABLE}.net_amount ;; }
}
";
    assert_eq!(
        lookml(&[("fees.view.lkml", views)]),
        [
            "fees.highest: max(net_amount)",
            "fees.total: sum(net_amount)",
        ]
    );
}

#[test]
fn cubes_leave_what_only_cube_computes() {
    let told = cube(
        "
cubes:
  - name: rides
    sql_table: city.rides
    joins:
      - {name: riders, relationship: many_to_one, sql: \"{CUBE}.rider_id = {riders.id}\"}
    dimensions:
      - {name: id, sql: id, type: number, primary_key: true}
      - {name: length, type: string, case: {when: [{sql: \"{CUBE}.km > 10\", label: long}], else: {label: short}}}
      - {name: km, sql: \"{CUBE}.metres / 1000.0\", type: number, sub_query: false}
    measures:
      - {name: count, type: count}
      - {name: distance, type: sum, sql: \"{km}\", multi_stage: false}
      - {name: last_week, type: count, rolling_window: {trailing: 7 day}}
      - {name: this_month, type: sum, sql: \"{km}\", rolling_window: {type: to_date, granularity: month}}
  - name: riders
    sql_table: city.riders
    dimensions:
      - {name: id, sql: id, type: number, primary_key: true}
      - {name: ride_count, type: number, sql: \"{rides.count}\", sub_query: true}
    measures:
      - {name: average_rides, type: avg, sql: \"{ride_count}\"}
",
    );
    let expected = [
        "rides.km = metres / 1000.0",
        "rides → riders ManyToOne on rider_id=id",
        "rides.count: count(*)",
        "rides.distance: sum((metres / 1000.0))",
        "rides.last_week__base: count(*) (input)",
        "rides.last_week: [last_week__base] Last { count: 7, unit: Day } (lost: a coarser period shows its last value)",
        "rides.this_month__base: sum((metres / 1000.0)) (input)",
        "rides.this_month: [this_month__base] ToDate(Month) (lost: a coarser period shows its last value)",
        "left riders.average_rides: a dimension with `sub_query` has no counterpart",
        "left rides.length: a dimension with `case` has no counterpart",
        "left riders.ride_count: a dimension with `sub_query` has no counterpart",
    ];
    let mut told = told;
    let mut expected = expected.map(str::to_owned).to_vec();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
}
