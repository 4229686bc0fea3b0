//! Tests of functions that a connection allows.

use ktx_sql::Dialect;

use super::super::{ReadOnlySql, Refusal, check, check_allowing};
use crate::user_functions::AllowedFunctions;

fn listed(entries: &[&str]) -> AllowedFunctions {
    AllowedFunctions::new(entries.iter().map(|entry| (*entry).to_owned()).collect())
}

fn verdict(sql: &str, dialect: Dialect, entries: &[&str]) -> String {
    match check_allowing(sql, dialect, &listed(entries)) {
        Ok(statement) => statement.as_str().to_owned(),
        Err(refusal) => {
            let names: Vec<String> = refusal
                .unknown_functions
                .iter()
                .map(ToString::to_string)
                .collect();
            format!("{}: {} [{}]", refusal.code, refusal.reason, names.join(" "))
        }
    }
}

#[track_caller]
fn compare(sql: &str, dialect: Dialect, entries: &[&str], expected: &str) {
    assert_eq!(verdict(sql, dialect, entries), expected);
}

#[test]
fn a_listed_function_is_called_the_way_the_list_writes_it() {
    let postgres = Dialect::Postgres;
    compare(
        "select tax(1), Shop.Net(2)",
        postgres,
        &["tax", "shop.net"],
        "SELECT tax(1), Shop.Net(2)",
    );
    compare(
        "SELECT * FROM days(2024)",
        postgres,
        &["days"],
        "SELECT * FROM days(2024)",
    );
    compare(
        "SELECT shop.tax(1)",
        postgres,
        &["tax"],
        "function_not_allowed: the function `shop.tax` is not known to only read [shop.tax]",
    );
    compare(
        "SELECT tax(1)",
        postgres,
        &["shop.tax"],
        "function_not_allowed: the function `tax` is not known to only read [tax]",
    );
    // Quoted, this is another function.
    compare(
        r#"SELECT "Tax"(1)"#,
        postgres,
        &["tax"],
        r#"function_not_allowed: the function `"Tax"` is not known to only read [Tax]"#,
    );
    compare(
        "SELECT `my-project.shop.tax`(1), `shop`.`tax`(2), SAFE.tax(3)",
        Dialect::BigQuery,
        &["my-project.shop.tax", "shop.tax", "tax"],
        "SELECT `my-project.shop.tax`(1), `shop`.`tax`(2), SAFE.tax(3)",
    );
    compare(
        "SELECT dbo.tax(1)",
        Dialect::SqlServer,
        &["dbo.tax"],
        "SELECT dbo.tax(1)",
    );
    compare(
        "SELECT SAFE.tax(3)",
        Dialect::BigQuery,
        &[],
        "function_not_allowed: the function `tax` is not known to only read [tax]",
    );
}

#[test]
fn a_permission_lifts_nothing_but_the_unknown_function() {
    let entries = ["tax", "pg_sleep", "public.pg_sleep", "dblink", "sleep"];
    for name in ["pg_sleep", "public.pg_sleep", "PG_SLEEP"] {
        compare(
            &format!("SELECT {name}(1)"),
            Dialect::Postgres,
            &entries,
            &format!(
                "function_not_allowed: the function `{name}` does more than read, and no setting allows it []"
            ),
        );
    }
    compare(
        "SELECT * FROM dblink('host=h', 'select 1')",
        Dialect::Postgres,
        &entries,
        "table_function_not_allowed: the table function `dblink` does more than read, and no setting allows it []",
    );
    compare(
        "SELECT sleep(1)",
        Dialect::MySql,
        &entries,
        "function_not_allowed: the function `sleep` does more than read, and no setting allows it []",
    );
    compare(
        "SELECT tax(pg_sleep(1))",
        Dialect::Postgres,
        &entries,
        "function_not_allowed: the function `pg_sleep` does more than read, and no setting allows it []",
    );
    compare(
        "SELECT tax(a) FROM t FOR UPDATE",
        Dialect::Postgres,
        &entries,
        "locking: `FOR UPDATE` and similar clauses lock rows []",
    );
}

#[test]
fn a_refusal_names_each_unknown_function_once_unless_another_rule_refuses_too() {
    compare(
        "SELECT net(tax(1)), tax(2) FROM days(3)",
        Dialect::Postgres,
        &[],
        "function_not_allowed: the function `net` is not known to only read [net tax days]",
    );
    compare(
        "SELECT tax(1), pg_sleep(2)",
        Dialect::Postgres,
        &[],
        "function_not_allowed: the function `tax` is not known to only read []",
    );
}

#[test]
fn the_row_limit_keeps_the_permission() {
    let statement = check_allowing("SELECT tax(1)", Dialect::Postgres, &listed(&["tax"]));
    assert_eq!(
        statement.map(|statement| statement.with_row_limit(7).as_str().to_owned()),
        Ok("SELECT tax(1) LIMIT 7".to_owned())
    );
}

#[test]
fn a_refusal_names_the_setting_that_allows_the_functions() {
    let permission = |sql| check(sql, Dialect::Postgres).map_err(|refusal| refusal.permission());
    assert_eq!(
        permission("SELECT tax(1), shop.net(2)"),
        Err(Some(
            "if it only reads, allow it in ktx.yaml: `allowed_functions: [tax, shop.net]` in the connection"
                .to_owned()
        ))
    );
    assert_eq!(permission("DROP TABLE t"), Err(None));
}

#[test]
fn functions_with_effects_are_not_allowed_by_a_list() {
    for (dialect, name) in [
        (Dialect::Postgres, "nextval"),
        (Dialect::Postgres, "lo_import"),
        (Dialect::Redshift, "pg_read_file"),
        (Dialect::MariaDb, "get_lock"),
        (Dialect::Sqlite, "load_extension"),
        (Dialect::SqlServer, "openrowset"),
        (Dialect::ClickHouse, "url"),
        (Dialect::ClickHouse, "sleepEachRow"),
        (Dialect::Snowflake, "system$wait"),
        (Dialect::BigQuery, "external_query"),
        (Dialect::DuckDb, "read_csv_auto"),
        (Dialect::Databricks, "reflect"),
        (Dialect::Trino, "raw_query"),
    ] {
        let sql = format!("SELECT {name}('x')");
        let refusal: Result<ReadOnlySql, Refusal> = check_allowing(&sql, dialect, &listed(&[name]));
        assert_eq!(
            refusal.map_err(|refusal| refusal.unknown_functions),
            Err(Vec::new()),
            "{dialect}: {sql}"
        );
    }
}
