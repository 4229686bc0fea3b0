//! Syntax that one warehouse reads differently.

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile};
use ktx_sql::Dialect;
use serde_json::{Value, json};

fn source(name: &str, relation: &str, more: &str) -> SourceFile {
    let (name_json, relation) = (json!(name), relation.to_owned());
    let text = format!(
        "name: {name_json}\n{relation}\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  - {{name: v, type: number}}\n  - {{name: a, type: string}}\n  - {{name: flag, type: boolean}}\n  - {{name: done, type: time}}\n{more}"
    );
    SourceFile::new(
        format!("{}.yaml", name.to_lowercase().replace('.', "-")),
        text,
    )
}

fn outcome(files: Vec<SourceFile>, dialect: Dialect, query: &Value) -> String {
    let catalog = Catalog::load(files, dialect);
    let query = Query::from_value(query).expect("a query");
    match compile(&catalog, &query, dialect) {
        Ok(compiled) => compiled.sql,
        Err(error) => format!("{}: {error}", error.kind.as_str()),
    }
}

const TOTAL: &str = "measures:\n  - {name: total, expr: sum(v)}\n";

fn sql_server(sources: &[(&str, &str)], measures: &[&str]) -> String {
    let files = sources
        .iter()
        .enumerate()
        .map(|(at, (name, sql))| {
            let mut file = source(name, &format!("sql: {}", json!(sql)), TOTAL);
            file.path = format!("{at}.yaml");
            file
        })
        .collect();
    outcome(files, Dialect::SqlServer, &json!({"measures": measures}))
}

fn lifted(sql: &str) -> Vec<String> {
    let tables = sql.split(" AS (\n").zip(sql.split(" AS (\n").skip(1));
    let named = tables.map(|(front, text)| {
        let name = front.rsplit(['\n', ' ']).next().unwrap_or_default();
        format!(
            "{name}: {}",
            text.split("\n)")
                .next()
                .unwrap_or_default()
                .replace('\n', " ")
        )
    });
    named.collect()
}

#[test]
fn queries_of_sql_server_sources_do_not_read_one_another() {
    let base = |table: &str| format!("with base as (select * from {table}) select * from base");
    let (one, other) = (base("first_table"), base("second_table"));
    for (left, right) in [("web.sales", "web_sales"), ("Web", "web")] {
        let sql = sql_server(
            &[(left, &one), (right, &other)],
            &[&format!("{left}.total"), &format!("{right}.total")],
        );
        let word = left.to_lowercase().replace('.', "_");
        let found = lifted(&sql);
        let second = found.get(1).map_or("", String::as_str);
        let third = found.get(2).map_or("", String::as_str);
        let names: Vec<&str> = [found[0].as_str(), second, third]
            .into_iter()
            .filter(|one| one.contains("_table"))
            .collect();
        assert_eq!(
            names,
            [
                format!("{word}__base: SELECT * FROM first_table"),
                format!("{word}__base_2: SELECT * FROM second_table"),
            ],
            "{sql}"
        );
        assert!(
            sql.contains(&format!("(SELECT * FROM {word}__base AS base)")),
            "{sql}"
        );
        assert!(
            sql.contains(&format!("(SELECT * FROM {word}__base_2 AS base)")),
            "{sql}"
        );
    }
    let sql = sql_server(
        &[
            (
                "a",
                "with b__c as (select * from first_table) select * from b__c",
            ),
            (
                "a__b",
                "with c as (select * from second_table) select * from c",
            ),
        ],
        &["a.total", "a__b.total"],
    );
    assert!(sql.contains("(SELECT * FROM a__b_c AS b__c)"), "{sql}");
    assert!(sql.contains("(SELECT * FROM a_b__c AS c)"), "{sql}");
}

#[test]
fn queries_of_sql_server_sources_take_no_tables_name() {
    let sql = sql_server(
        &[(
            "s",
            "with base as (select * from s__base) select * from base",
        )],
        &["s.total"],
    );
    assert_eq!(
        sql,
        "WITH s__base_2 AS (
SELECT * FROM s__base
),
s_part AS (
SELECT sum(s.v) AS a1_total
FROM (SELECT * FROM s__base_2 AS base) AS s
)
SELECT TOP 1000 a1_total AS total
FROM s_part"
    );
}

#[test]
fn recursive_queries_of_sql_server_sources_read_themselves() {
    let recursive = "with r as (select 1 as id, 2 as v union all select id + 1, v from R where id < 5) select * from r";
    let named = "with r (id, v) as (select 1, 2 union all select id + 1, v from r where id < 5) select * from r";
    let found =
        [recursive, named].map(|text| lifted(&sql_server(&[("s", text)], &["s.total"]))[0].clone());
    assert_eq!(
        found,
        [
            "s__r: SELECT 1 AS id, 2 AS v UNION ALL SELECT id + 1, v FROM s__r AS R WHERE id < 5",
            "s__r: SELECT 1 AS id, 2 AS v UNION ALL SELECT id + 1, v FROM s__r AS r WHERE id < 5",
        ]
    );
}

fn row_filter(dialect: Dialect, filter: &str) -> String {
    let query = json!({"measures": ["t.total"], "filters": [filter]});
    let sql = outcome(vec![source("t", "table: t", TOTAL)], dialect, &query);
    let Some((_, rest)) = sql.split_once("WHERE ") else {
        return sql;
    };
    rest.split("\n)").next().unwrap_or_default().to_owned()
}

fn select(dialect: Dialect, expr: &str) -> String {
    let query = json!({"measures": [{"expr": expr, "name": "x"}]});
    let sql = outcome(vec![source("t", "table: t", TOTAL)], dialect, &query);
    let line = sql.lines().find(|line| line.starts_with("SELECT "));
    line.map_or(sql.clone(), str::to_owned)
}

/// IS TRUE is never unknown.
#[test]
fn sql_server_asks_for_truth_and_for_its_opposite() {
    for (filter, expected) in [
        ("t.flag is true", "((t.flag = 1 AND t.flag IS NOT NULL))"),
        (
            "not (t.flag is true)",
            "(NOT ((t.flag = 1 AND t.flag IS NOT NULL)))",
        ),
        (
            "t.flag is not true",
            "(NOT (t.flag = 1 AND t.flag IS NOT NULL))",
        ),
        (
            "t.flag is not false",
            "(NOT (t.flag = 0 AND t.flag IS NOT NULL))",
        ),
        (
            "(t.v > 1) is unknown",
            "(CASE WHEN (t.v > 1) THEN 1 WHEN NOT (t.v > 1) THEN 0 END IS NULL)",
        ),
    ] {
        assert_eq!(row_filter(Dialect::SqlServer, filter), expected, "{filter}");
    }
}

#[test]
fn the_first_argument_of_iif_is_a_condition() {
    assert_eq!(
        select(Dialect::SqlServer, "sum(iif(t.a = 'x', t.v, 0))"),
        "SELECT sum(iif(t.a = 'x', t.v, 0)) AS a1_x"
    );
    assert_eq!(
        select(
            Dialect::SqlServer,
            "sum(iif(t.flag, t.v, iif(t.v > 1 and t.flag, 1, 0)))"
        ),
        "SELECT sum(iif(t.flag = 1, t.v, iif(t.v > 1 AND t.flag = 1, 1, 0))) AS a1_x"
    );
}

#[test]
fn date_parts_are_no_columns() {
    for dialect in [Dialect::Snowflake, Dialect::Redshift] {
        assert_eq!(
            select(dialect, "max(date_part(year, t.done))"),
            "SELECT max(date_part(YEAR, t.done)) AS a1_x"
        );
    }
    assert_eq!(
        select(Dialect::Postgres, "max(date_part('year', t.done))"),
        "SELECT max(date_part('year', t.done)) AS a1_x"
    );
}

/// `&&` is AND, `XOR` binds between AND and OR, and `||` needs parentheses.
#[test]
fn logical_operators_of_mysql_are_read_as_it_reads_them() {
    let refused = |text: &str| {
        format!(
            "parse_error: cannot parse `{text}`: `||` beside other operators is read in more than one way; put parentheses around each side of it, or write `OR` or `CONCAT`"
        )
    };
    for dialect in [Dialect::MySql, Dialect::MariaDb] {
        for (filter, expected) in [
            (
                "t.a = 'paid' && t.id = 2",
                "(t.a = 'paid') AND (t.id = 2)".to_owned(),
            ),
            (
                "(t.a = 'x' and t.id = 2) || (t.id = 3)",
                "((t.a = 'x' AND t.id = 2) || (t.id = 3))".to_owned(),
            ),
            (
                "t.id = 2 and ((t.v > 1) xor (t.v > 2))",
                "(t.id = 2) AND (((t.v > 1) XOR (t.v > 2)))".to_owned(),
            ),
            (
                "t.flag and t.v xor t.id",
                "(t.flag AND t.v XOR t.id)".to_owned(),
            ),
            (
                "t.id = 1 and (t.flag or t.v xor not t.id)",
                "(t.id = 1) AND ((t.flag OR t.v XOR NOT t.id))".to_owned(),
            ),
        ] {
            assert_eq!(row_filter(dialect, filter), expected, "{filter}");
        }
        for text in [
            "t.a = 'paid' AND t.id = 2 || t.id = 3",
            "t.id = 2 || t.id = 3",
            "case when t.flag || t.v and t.id then 1 else 0 end = 1",
            "t.flag xor t.v || t.id",
            "t.v mod 2 || t.id",
        ] {
            assert_eq!(row_filter(dialect, text), refused(text), "{text}");
        }
    }
    let elsewhere = row_filter(Dialect::Sqlite, "t.a = 'x' || 'y' and t.id = 1");
    assert_eq!(elsewhere, "(t.a = 'x' || 'y') AND (t.id = 1)");
}

/// Two dots mean the default schema in some warehouses only.
#[test]
fn a_gap_in_a_tables_name_stays_or_is_refused() {
    let from = |dialect: Dialect, table: &str| {
        let file = source("t", &format!("table: {table}"), TOTAL);
        let sql = outcome(vec![file], dialect, &json!({"measures": ["t.total"]}));
        let line = sql.lines().find(|line| line.starts_with("FROM "));
        line.map_or(sql.clone(), str::to_owned)
    };
    let refused = |table: &str| {
        format!(
            "invalid_source: source `t` cannot be used: t.yaml: `table: {table}` has an empty part between its dots"
        )
    };
    for (dialect, table, expected) in [
        (
            Dialect::SqlServer,
            "mydb..orders",
            "FROM mydb..orders AS t".to_owned(),
        ),
        (
            Dialect::SqlServer,
            "srv...orders",
            "FROM srv...orders AS t".to_owned(),
        ),
        (
            Dialect::Snowflake,
            "mydb..orders",
            "FROM mydb..orders AS t".to_owned(),
        ),
        (Dialect::Snowflake, "srv...orders", refused("srv...orders")),
        (Dialect::Postgres, "mydb..orders", refused("mydb..orders")),
        (Dialect::SqlServer, "mydb.orders.", refused("mydb.orders.")),
    ] {
        assert_eq!(from(dialect, table), expected, "{dialect}: {table}");
    }
}

/// Spark before 4.1 reads two adjacent quotes as the end of one string and the start of the next.
#[test]
fn a_quote_in_a_text_is_read_by_every_spark() {
    let text = "name: t\ntable: t\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: status, type: string}\n";
    let files = vec![ktx_semantic_layer::SourceFile::new("t.yaml", text)];
    let catalog = ktx_semantic_layer::Catalog::load(files, ktx_sql::Dialect::Databricks);
    let query = serde_json::json!({"measures": ["count(t.id)"], "filters": [r"t.status = 'x\'y'"]});
    let query = ktx_semantic_layer::Query::from_value(&query).expect("a query");
    let sql = ktx_semantic_layer::compile(&catalog, &query, catalog.dialect())
        .expect("an answer")
        .sql;
    assert!(sql.contains(r"t.status = 'x\'y'"), "{sql}");
}
