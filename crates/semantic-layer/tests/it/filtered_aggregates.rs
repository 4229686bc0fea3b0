//! Filters on aggregates that use several values of a row, or NULLs: excluded rows must not affect
//! the result.

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::sqlite;

fn catalog(dialect: Dialect, expr: &str, filter: &str) -> Catalog {
    let expr = json!(expr);
    let text = format!(
        "name: t\ntable: t\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  - {{name: k, type: string}}\n  - {{name: v, type: number}}\nmeasures:\n  - {{name: m, expr: {expr}{filter}}}\n"
    );
    Catalog::load(vec![SourceFile::new("t.yaml", text)], dialect)
}

fn select(dialect: Dialect, expr: &str) -> String {
    let catalog = catalog(dialect, expr, ", filter: \"k = 'a'\"");
    line(&catalog, "t.m")
}

fn line(catalog: &Catalog, asked: &str) -> String {
    let query = Query::from_value(&json!({"measures": [asked]})).expect("a query");
    match compile(catalog, &query, catalog.dialect()) {
        Ok(compiled) => {
            let line = compiled
                .sql
                .lines()
                .find(|line| line.starts_with("SELECT "));
            let line = line.unwrap_or_default().trim_start_matches("SELECT ");
            line.split(" AS a1_").next().unwrap_or_default().to_owned()
        }
        Err(error) => format!("{}: {error}", error.kind.as_str()),
    }
}

#[test]
fn what_chooses_a_row_is_filtered_too() {
    let both = "(CASE WHEN (t.k = 'a') THEN t.k END, CASE WHEN (t.k = 'a') THEN t.v END)";
    for (dialect, expr, expected) in [
        (Dialect::DuckDb, "arg_max(k, v)", "arg_max(t.k, t.v) FILTER (WHERE (t.k = 'a'))".to_owned()),
        (Dialect::Trino, "max_by(k, v)", "max_by(t.k, t.v) FILTER (WHERE (t.k = 'a'))".to_owned()),
        (Dialect::Databricks, "min_by(k, v)", "min_by(t.k, t.v) FILTER (WHERE (t.k = 'a'))".to_owned()),
        (Dialect::Snowflake, "max_by(k, v)", format!("max_by{both}")),
        (Dialect::BigQuery, "max_by(k, v)", format!("max_by{both}")),
        (Dialect::ClickHouse, "argMin(k, v)", format!("argMin{both}")),
        (
            Dialect::BigQuery,
            "any_value(k having max v)",
            "any_value(CASE WHEN (t.k = 'a') THEN t.k END HAVING MAX CASE WHEN (t.k = 'a') THEN t.v END)".to_owned(),
        ),
    ] {
        assert_eq!(select(dialect, expr), expected, "{dialect}: {expr}");
    }
}

#[test]
fn aggregates_that_see_nulls_are_filtered_by_their_clause_or_refused() {
    let refused = |name: &str, dialect: &str| {
        format!(
            "invalid_query: `{name}` over some of the rows only cannot be said to {dialect}: it takes no `FILTER` there and does not pass over NULLs"
        )
    };
    for (dialect, expr, expected) in [
        (
            Dialect::Postgres,
            "any_value(v)",
            "any_value(t.v) FILTER (WHERE (t.k = 'a'))".to_owned(),
        ),
        (
            Dialect::BigQuery,
            "any_value(v)",
            "any_value(CASE WHEN (t.k = 'a') THEN t.v END)".to_owned(),
        ),
        (
            Dialect::Snowflake,
            "any_value(v)",
            refused("any_value", "snowflake"),
        ),
        (
            Dialect::MySql,
            "any_value(v)",
            refused("any_value", "mysql"),
        ),
        (
            Dialect::DuckDb,
            "first(v)",
            "first(t.v) FILTER (WHERE (t.k = 'a'))".to_owned(),
        ),
        (
            Dialect::DuckDb,
            "json_group_object(k, v)",
            "json_group_object(CASE WHEN (t.k = 'a') THEN t.k END, t.v)".to_owned(),
        ),
        (
            Dialect::DuckDb,
            "json_group_array(v)",
            refused("json_group_array", "duckdb"),
        ),
        (
            Dialect::Postgres,
            "json_object_agg(k, v)",
            "json_object_agg(t.k, t.v) FILTER (WHERE (t.k = 'a'))".to_owned(),
        ),
        (
            Dialect::Trino,
            "map_agg(k, v)",
            "map_agg(t.k, t.v) FILTER (WHERE (t.k = 'a'))".to_owned(),
        ),
        (
            Dialect::MariaDb,
            "json_objectagg(k, v)",
            refused("json_objectagg", "mariadb"),
        ),
        (
            Dialect::Snowflake,
            "array_agg(v)",
            "array_agg(CASE WHEN (t.k = 'a') THEN t.v END)".to_owned(),
        ),
        (
            Dialect::BigQuery,
            "array_agg(v)",
            refused("array_agg", "bigquery"),
        ),
        (
            Dialect::BigQuery,
            "string_agg(k limit 2)",
            refused("string_agg", "bigquery"),
        ),
    ] {
        assert_eq!(select(dialect, expr), expected, "{dialect}: {expr}");
    }
    let unfiltered = line(&catalog(Dialect::MySql, "any_value(v)", ""), "t.m");
    assert_eq!(unfiltered, "any_value(t.v)");
}

#[test]
fn lists_in_an_order_are_filtered_by_what_they_list() {
    for (dialect, expr, expected) in [
        (
            Dialect::Snowflake,
            "listagg(k, ',') within group (order by v)",
            "listagg(CASE WHEN (t.k = 'a') THEN t.k END, ',') WITHIN GROUP (ORDER BY t.v)",
        ),
        (
            Dialect::SqlServer,
            "string_agg(k, ',') within group (order by v)",
            "string_agg(CASE WHEN (t.k = 'a') THEN t.k END, ',') WITHIN GROUP (ORDER BY t.v)",
        ),
        (
            Dialect::Postgres,
            "mode() within group (order by v)",
            "mode() WITHIN GROUP (ORDER BY CASE WHEN (t.k = 'a') THEN t.v END)",
        ),
        (
            Dialect::Postgres,
            "rank(3) within group (order by v)",
            "rank(3) WITHIN GROUP (ORDER BY t.v) FILTER (WHERE (t.k = 'a'))",
        ),
    ] {
        assert_eq!(select(dialect, expr), expected, "{dialect}: {expr}");
    }
}

#[test]
fn filtered_objects_hold_no_other_rows() {
    let catalog = catalog(
        Dialect::Sqlite,
        "json_group_object(k, v)",
        ", filter: v > 1",
    );
    let rows = json!([[1, "a", 1], [2, "b", 2], [3, "c", null], [4, "d", 4]]);
    let columns = json!([["id", "int"], ["k", "text"], ["v", "int"]]);
    let data = json!({"tables": {"t": {"columns": columns, "rows": rows}}});
    let query = Query::from_value(&json!({"measures": ["t.m"]})).expect("a query");
    let sql = compile(&catalog, &query, Dialect::Sqlite)
        .expect("an answer")
        .sql;
    let (_, rows) = sqlite::run(&sqlite::database(&data), &sql);
    assert_eq!(rows, [[Value::from(r#"{"b":2,"d":4}"#)]]);
}

#[test]
fn percentiles_keep_what_else_is_said_of_them() {
    let plain = |dialect: Dialect, expr: &str| line(&catalog(dialect, expr, ""), "t.m");
    let refused = "parse_error: `percentile` takes a value and a fraction and nothing else: no `DISTINCT` and no clause";
    for (dialect, expr, expected) in [
        (Dialect::Postgres, "percentile(distinct v, 0.9)", refused),
        (Dialect::Sqlite, "percentile(distinct v, 0.9)", refused),
        (
            Dialect::DuckDb,
            "quantile_cont(distinct v, 0.9)",
            "quantile_cont(DISTINCT t.v, 0.9)",
        ),
        (
            Dialect::DuckDb,
            "median(distinct v)",
            "median(DISTINCT t.v)",
        ),
        (
            Dialect::Postgres,
            "percentile(v, 0.9)",
            "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY t.v)",
        ),
    ] {
        assert_eq!(plain(dialect, expr), expected, "{dialect}: {expr}");
    }
}

/// Trino's average of decimals has the column's decimal places.
#[test]
fn averages_are_real_numbers() {
    let plain = |dialect: Dialect| line(&catalog(dialect, "avg(v)", ""), "t.m");
    assert_eq!(plain(Dialect::Trino), "avg(CAST(t.v AS DOUBLE))");
    assert_eq!(
        plain(Dialect::Redshift),
        "avg(CAST(t.v AS DOUBLE PRECISION))"
    );
    assert_eq!(plain(Dialect::Postgres), "avg(t.v)");
}

/// The condition is part of the aggregate's meaning, like an equivalent CASE; a measure's own
/// `filter` is not.
#[test]
fn a_condition_of_a_finer_source_has_its_rows_counted() {
    let courses = "name: courses\ntable: courses\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: credits, type: number}\n\
                   measures:\n  - {name: filtered, expr: sum(credits), filter: enrollments.mark > 1}\n";
    let enrollments = "name: enrollments\ntable: enrollments\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: course, type: number}\n  - {name: mark, type: number}\n\
                       joins:\n  - {to: courses, on: course = courses.id, relationship: many_to_one}\n\
                       measures:\n  - {name: marked, expr: 'sum_if(courses.credits, mark > 1)'}\n  - {name: all_of_them, expr: 'sum_if(courses.credits, courses.credits > 1)'}\n";
    let files = vec![
        SourceFile::new("courses.yaml", courses),
        SourceFile::new("enrollments.yaml", enrollments),
    ];
    let catalog = Catalog::load(files, Dialect::Sqlite);
    let database = rusqlite::Connection::open_in_memory().expect("a database");
    let rows = "CREATE TABLE courses (id, credits); INSERT INTO courses VALUES (1, 10), (2, 5), (3, 7);
                CREATE TABLE enrollments (id, course, mark);
                INSERT INTO enrollments VALUES (1, 1, 2), (2, 1, 3), (3, 2, 1), (4, 2, 4), (5, 9, 5);";
    database.execute_batch(rows).expect("two tables");
    let answer = |asked: &str| {
        let query = Query::from_value(&json!({"measures": [asked]})).expect("a query");
        match compile(&catalog, &query, Dialect::Sqlite) {
            Ok(compiled) => json!(sqlite::run(&database, &compiled.sql).1),
            Err(error) => json!(error.kind.as_str()),
        }
    };
    let answers = [
        "sum(case when enrollments.mark > 1 then courses.credits end)",
        "sum_if(courses.credits, enrollments.mark > 1)",
        "sum(courses.credits) filter (where enrollments.mark > 1)",
        "count_distinct_if(courses.credits, enrollments.mark > 1)",
        "enrollments.marked",
        "enrollments.all_of_them",
        "courses.filtered",
    ]
    .map(answer);
    assert_eq!(
        json!(answers),
        json!([
            [[25]],
            [[25]],
            [[25]],
            [[2]],
            [[25]],
            [[22]],
            "filter_fanout"
        ])
    );
}
