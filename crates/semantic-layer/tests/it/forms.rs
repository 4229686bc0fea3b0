//! Measures other than plain expressions: parsing, refusals, notes, validation and self-tests.

use ktx_semantic_layer::{
    Catalog, Query, QueryError, SourceFile, compile, explain, self_tests, source_schema, validate,
};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::fixtures::{folder, model};

const HEAD: &str = "name: sales\ntable: sales\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: at, type: time}\n- {name: kind, type: string}\n- {name: cost, type: number}\nmeasures:\n- {name: total, expr: sum(cost)}\n- {name: cnt, expr: count(*)}\n";

fn file(measure: &str) -> String {
    format!("{HEAD}- {{name: m, {measure}}}\n")
}

fn asked(measures: &Value, dimensions: &Value) -> Query {
    let query = json!({"measures": measures, "dimensions": dimensions});
    Query::from_value(&query).expect("a query")
}

fn refused(text: &str, query: &Query, dialect: Dialect) -> QueryError {
    let catalog = Catalog::load(vec![SourceFile::new("sales.yaml", text)], dialect);
    compile(&catalog, query, dialect).expect_err("refused")
}

#[test]
fn forms_that_contradict_themselves_are_refused_with_their_place() {
    for (measure, expected) in [
        ("description: nothing", "missing field `expr`"),
        (
            "expr: sum(cost), ratio: {numerator: total, denominator: cnt}",
            "measure `m` has both `expr` and `ratio`",
        ),
        (
            "ratio: {numerator: total, denominator: cnt}, semi_additive: {dimension: at, at: last}",
            "measure `m`: `semi_additive` goes with `expr` only",
        ),
        (
            "cumulative: {measure: total, window: {count: 3}}",
            "measure `m`: a `window` has either `count` and `unit`, or `to_date` alone, or is `unbounded`",
        ),
        (
            "cumulative: {measure: total, window: {count: 1001, unit: day}}",
            "measure `m`: `count` is 1001, it must be from 1 to 1000",
        ),
        (
            "compare: {measure: total, offset: 0, unit: day, as: value}",
            "measure `m`: `offset` is 0, it must be from 1 to 1000",
        ),
        (
            "cumulative: {measure: total, window: forever}",
            "cumulative.window: invalid value: string \"forever\", expected `unbounded`, `{count: 7, unit: day}` or `{to_date: year}`",
        ),
        (
            "compare: {measure: total, unit: fortnight, as: value}",
            "compare.unit: unknown variant `fortnight`, expected one of `year`, `quarter`, `month`, `week`, `day`, `hour`, `minute`",
        ),
        (
            "compare: {measure: total, unit: day, as: percent}",
            "compare.as: unknown variant `percent`, expected one of `value`, `difference`, `ratio`",
        ),
        (
            "ratio: {numerator: total}",
            "ratio: missing field `denominator`",
        ),
    ] {
        let catalog = folder(&[("sales.yaml", &file(measure))]);
        let found: Vec<String> = catalog
            .diagnostics()
            .iter()
            .map(|one| format!("{} {one}", one.code))
            .collect();
        let [found] = found.as_slice() else {
            panic!("{measure}: {found:?}");
        };
        assert!(
            found.starts_with("invalid_source sales.yaml:12:") && found.ends_with(expected),
            "{measure}: {found}"
        );
    }
}

#[test]
fn what_the_planner_cannot_answer_is_refused() {
    for (measure, dimension, expected) in [
        (
            "cumulative: {measure: totl}",
            "sales.at:day",
            "unknown_measure: unknown measure `totl`",
        ),
        (
            "cumulative: {measure: cost}",
            "sales.at:day",
            "not_a_measure: `cost` is a column, not a measure; aggregate it",
        ),
        (
            "cumulative: {measure: m}",
            "sales.at:day",
            "circular_measure: measure `sales.m` depends on itself",
        ),
        (
            "compare: {measure: total, unit: year, as: value}",
            "sales.at:week",
            "bad_window: `sales.m` looks back by the year, and a year is not a whole number of weeks",
        ),
        (
            "expr: sum(cost), semi_additive: {dimension: at, at: last}",
            "sales.at:day",
            "bad_snapshot: `at` is not in the grain of `sales`: `semi_additive` needs `per`, the columns that have a balance each",
        ),
        (
            "expr: total / cnt, semi_additive: {dimension: at, at: last, per: [kind]}",
            "sales.at:day",
            "bad_snapshot: `semi_additive` goes with an aggregate of its own, not with the measure `total`",
        ),
        (
            "expr: median(cost), semi_additive: {dimension: at, at: last, per: [kind]}",
            "sales.at:day",
            "bad_snapshot: `semi_additive` goes with counts and aggregates of one value, such as `sum`",
        ),
        (
            "expr: sum(cost), semi_additive: {dimension: day, at: last, per: [kind]}",
            "sales.at:day",
            "unknown_column: unknown column `sales.day`: `sales` has the columns `id`, `at`, `kind`, `cost`",
        ),
        (
            "expr: \"sum_if(cost)\"",
            "sales.at:day",
            "parse_error: `sum_if` is written `sum_if(value, condition)`",
        ),
    ] {
        let query = asked(&json!(["sales.m"]), &json!([dimension]));
        let error = refused(&file(measure), &query, Dialect::Sqlite);
        assert_eq!(format!("{}: {error}", error.kind), expected, "{measure}");
    }
}

#[test]
fn a_missing_time_dimension_is_proposed() {
    let query = asked(&json!(["sales.m"]), &json!(["sales.kind"]));
    let error = refused(
        &file("cumulative: {measure: total}"),
        &query,
        Dialect::Sqlite,
    );
    assert_eq!(error.suggestions, ["sales.at:month"]);
    let query = asked(&json!(["sales.m"]), &json!(["sales.at:week"]));
    let compared = file("compare: {measure: total, unit: month, as: value}");
    let error = refused(&compared, &query, Dialect::Sqlite);
    assert_eq!(
        error.suggestions,
        [
            "sales.at:month",
            "sales.at:day",
            "sales.at:hour",
            "sales.at:minute"
        ]
    );
}

#[test]
fn a_window_over_a_comparison_has_no_meaning() {
    let text = format!(
        "{HEAD}- {{name: before, compare: {{measure: total, unit: day, as: value}}}}\n- {{name: m, cumulative: {{measure: before}}}}\n"
    );
    let query = asked(&json!(["sales.m"]), &json!(["sales.at:day"]));
    let error = refused(&text, &query, Dialect::Sqlite);
    assert_eq!(
        error.to_string(),
        "a window cannot go over a measure that looks at other periods itself"
    );
    assert_eq!(error.offending.as_deref(), Some("sales.m"));
}

/// DuckDB's grammar reads `f(status = 'x' and …)` as an argument named `status`.
#[test]
fn conditions_in_calls_are_conditions_in_every_dialect() {
    let text = file("expr: \"count_if(kind = 'a' and cost > 1)\"");
    for dialect in Dialect::ALL {
        let catalog = Catalog::load(vec![SourceFile::new("sales.yaml", text.as_str())], dialect);
        let query = asked(&json!(["sales.m"]), &json!([]));
        let compiled = compile(&catalog, &query, dialect).expect("compiles");
        let expected = "COUNT(CASE WHEN (sales.kind = 'a' AND sales.cost > 1) THEN 1 END)";
        assert!(
            compiled.sql.contains(expected),
            "{dialect}: {}",
            compiled.sql
        );
    }
}

#[test]
fn approximate_answers_say_so() {
    let catalog = Catalog::load(
        vec![SourceFile::new(
            "sales.yaml",
            file("expr: approx_count_distinct(kind)"),
        )],
        Dialect::BigQuery,
    );
    let query = asked(&json!(["sales.m"]), &json!([]));
    let compiled = compile(&catalog, &query, Dialect::BigQuery).expect("compiles");
    assert_eq!(compiled.notes, ["`approx_count_distinct` is approximate"]);
}

#[test]
fn the_plan_says_which_periods_count() {
    let catalog = folder(&[(
        "sales.yaml",
        &file("compare: {measure: total, offset: 2, unit: month, as: difference}"),
    )]);
    let query = json!({
        "measures": ["sales.m"],
        "dimensions": ["sales.at:month"],
        "filters": ["sales.at >= '2025-01-01' and sales.at < '2025-04-01'"],
        "fill": true,
        "limit": 2,
    });
    let query = Query::from_value(&query).expect("a query");
    let compiled = compile(&catalog, &query, Dialect::Sqlite).expect("compiles");
    let expected = "measure m: sum(sales.cost) over whole periods, sum(sales.cost) 2 months earlier (rows of sales)
dimension at_month: sales.at by month
periods: months of `sales.at`: all 3 from 2025-01-01
filter sales.at >= '2025-01-01': picks periods; measures over other periods look past it
filter sales.at < '2025-04-01': picks periods; measures over other periods look past it

part sales_present (present)
  sales

part sales_window (groups, over whole periods)
  sales

part sales_earlier (groups, 2 months earlier)
  sales
note: there are 3 periods, and at most 2 rows are given
note: filter `sales.at >= '2025-01-01'` picks the periods shown: measures over other periods look past it and see whole periods
note: filter `sales.at < '2025-04-01'` picks the periods shown: measures over other periods look past it and see whole periods
";
    assert_eq!(explain(&compiled), expected);
}

const FORMS: &str = "- {name: a, ratio: {numerator: total, denominator: cnt}}\n- {name: b, cumulative: {measure: total, window: {to_date: year}}}\n- {name: c, compare: {measure: total, unit: month, as: ratio}}\n- {name: d, expr: sum(cost), semi_additive: {dimension: at, at: last, per: [kind]}}\n";

#[test]
fn sound_forms_are_valid_and_have_no_totals_to_add_up() {
    let catalog = folder(&[("sales.yaml", &format!("{HEAD}{FORMS}"))]);
    assert_eq!(validate(&catalog, &[]).errors, Vec::new());
    let names: Vec<String> = self_tests(&catalog, None)
        .into_iter()
        .map(|test| test.name)
        .collect();
    assert_eq!(names, ["sales: one row per id"]);
}

#[test]
fn the_validator_names_what_a_form_does_not_find() {
    let catalog = folder(&[("sales.yaml", &file("cumulative: {measure: totla}"))]);
    let found: Vec<String> = validate(&catalog, &[])
        .errors
        .into_iter()
        .map(|finding| format!("{} {}", finding.kind, finding.message))
        .collect();
    assert_eq!(
        found,
        ["unknown_column measure `m`: unknown measure `totla`; did you mean `sales.total`"]
    );
}

#[test]
fn the_schema_knows_the_forms() {
    let validator = jsonschema::draft7::new(&source_schema()).expect("a schema");
    let file = |measure: Value| json!({"name": "a", "table": "a", "grain": ["id"], "columns": [{"name": "id", "type": "number"}], "measures": [measure]});
    for sound in [
        json!({"name": "m", "ratio": {"numerator": "a", "denominator": "b"}}),
        json!({"name": "m", "cumulative": {"measure": "a", "window": "unbounded"}}),
        json!({"name": "m", "cumulative": {"measure": "a", "window": {"count": 7, "unit": "day"}}}),
        json!({"name": "m", "compare": {"measure": "a", "unit": "year", "as": "ratio"}}),
        json!({"name": "m", "expr": "sum(a)", "semi_additive": {"dimension": "day", "at": "last", "per": []}}),
    ] {
        assert!(validator.is_valid(&file(sound.clone())), "{sound}");
    }
    for broken in [
        json!({"name": "m"}),
        json!({"name": "m", "expr": "sum(a)", "ratio": {"numerator": "a", "denominator": "b"}}),
        json!({"name": "m", "cumulative": {"measure": "a", "window": "forever"}}),
        json!({"name": "m", "cumulative": {"measure": "a", "window": {"count": 0, "unit": "day"}}}),
        json!({"name": "m", "compare": {"measure": "a", "unit": "year"}}),
    ] {
        assert!(!validator.is_valid(&file(broken.clone())), "{broken}");
    }
}

#[test]
fn a_composed_source_is_shown_with_its_forms() {
    let shard = "tables:\n  sales:\n    table: sales\n    columns:\n    - {name: id, type: int64, pk: true}\n";
    let overlay = "name: sales\nmeasures:\n- {name: n, expr: count(*)}\n- {name: m, cumulative: {measure: n, window: {count: 2, unit: week}}}\n";
    let catalog = folder(&[("_schema/a.yaml", shard), ("sales.yaml", overlay)]);
    let shown = catalog.read("sales").expect("a source");
    let measures = shown.split_once("measures:\n").map(|(_, rest)| rest);
    assert_eq!(
        measures,
        Some(
            "- name: n
  expr: count(*)
- name: m
  cumulative:
    measure: n
    window:
      count: 2
      unit: week
"
        )
    );
}

/// PostgreSQL reads an untyped NULL as text, which does not merge with a time.
#[test]
fn absent_measures_have_the_type_that_they_have_elsewhere() {
    let query = r#"{"measures": ["visits.visit_count", "allergies.allergy_count", "max(date_trunc('month', visits.at))"], "dimensions": ["patients.insurer"], "include_empty": false}"#;
    let query = Query::from_json(query).expect("a query");
    for (dialect, absent) in [
        (
            Dialect::Postgres,
            "(SELECT a3_max_date_trunc_month_visits_at FROM visits_part WHERE 1 = 0) AS a3_max_date_trunc_month_visits_at",
        ),
        (Dialect::DuckDb, "NULL AS a3_max_date_trunc_month_visits_at"),
    ] {
        let compiled = compile(&model("clinic", dialect), &query, dialect);
        let sql = compiled.expect("a compiled query").sql;
        let line = sql
            .lines()
            .find(|line| {
                line.contains("SELECT insurer")
                    || line.contains("1 = 0) AS a3")
                    || line.contains("NULL AS a3")
            })
            .unwrap_or_default();
        let last = line.rsplit_once(", ").map_or("", |(_, last)| last);
        assert_eq!(last, absent, "{sql}");
    }
}
