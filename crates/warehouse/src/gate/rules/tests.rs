//! Tests of the rules for single nodes; the case files test them in whole texts.

use crate::Dialect;
use crate::gate::check;

fn verdict(dialect: Dialect, sql: &str, expected: Result<(), &str>) {
    let found = check(sql, dialect)
        .map(|_| ())
        .map_err(|refusal| refusal.code);
    assert_eq!(found, expected, "{sql}");
}

#[test]
fn batches_without_semicolons_are_seen_in_aliases() {
    verdict(
        Dialect::SqlServer,
        "SELECT a FROM t SHUTDOWN",
        Err("statement_count"),
    );
    verdict(Dialect::SqlServer, "SELECT a FROM t [SHUTDOWN]", Ok(()));
    verdict(
        Dialect::SqlServer,
        "SELECT a CHECKPOINT",
        Err("statement_count"),
    );
}

#[test]
fn table_hints_that_lock_are_refused() {
    verdict(
        Dialect::SqlServer,
        "SELECT a FROM t WITH (NOLOCK, INDEX(i))",
        Ok(()),
    );
    verdict(
        Dialect::SqlServer,
        "SELECT a FROM t WITH (NOLOCK, XLOCK)",
        Err("locking"),
    );
    verdict(
        Dialect::SqlServer,
        "SELECT a FROM t (UPDLOCK)",
        Err("table_function_not_allowed"),
    );
}

#[test]
fn qualified_functions_pass_only_from_built_in_schemas() {
    verdict(Dialect::Postgres, "SELECT pg_catalog.lower('A')", Ok(()));
    verdict(
        Dialect::Postgres,
        "SELECT public.lower('A')",
        Err("function_not_allowed"),
    );
    verdict(
        Dialect::Postgres,
        "SELECT pg_catalog.pg_sleep(1)",
        Err("function_not_allowed"),
    );
    verdict(Dialect::BigQuery, "SELECT NET.HOST('a')", Ok(()));
    verdict(Dialect::DuckDb, "SELECT name.upper() FROM t", Ok(()));
    verdict(
        Dialect::DuckDb,
        "SELECT * FROM main.read_text('a')",
        Err("table_function_not_allowed"),
    );
}

#[test]
fn last_insert_id_only_reads_without_an_argument() {
    verdict(Dialect::MySql, "SELECT LAST_INSERT_ID()", Ok(()));
    verdict(
        Dialect::MySql,
        "SELECT LAST_INSERT_ID(3)",
        Err("function_not_allowed"),
    );
}
