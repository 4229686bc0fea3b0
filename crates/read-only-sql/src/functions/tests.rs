//! Tests of the function lists.

use ktx_sql::Dialect;

use super::{CallSite, is_allowed};

fn check(dialect: Dialect, site: CallSite, name: &str, expected: bool) {
    assert_eq!(
        is_allowed(name, dialect, site),
        expected,
        "{name} in {dialect}"
    );
}

#[test]
fn listed_functions_are_allowed_in_their_dialects() {
    check(Dialect::Postgres, CallSite::Expression, "lower", true);
    check(Dialect::Postgres, CallSite::Table, "generate_series", true);
    check(
        Dialect::ClickHouse,
        CallSite::Expression,
        "tostartofmonth",
        true,
    );
    check(
        Dialect::Postgres,
        CallSite::Expression,
        "tostartofmonth",
        false,
    );
}

#[test]
fn only_listed_table_functions_are_tables_where_the_dialect_distinguishes_them() {
    check(Dialect::ClickHouse, CallSite::Table, "numbers", true);
    check(Dialect::ClickHouse, CallSite::Table, "format", false);
    check(Dialect::SqlServer, CallSite::Table, "openjson", true);
    check(Dialect::SqlServer, CallSite::Table, "lower", false);
}

#[test]
fn exceptions_to_a_prefix_are_refused() {
    check(Dialect::DuckDb, CallSite::Table, "st_area", true);
    check(Dialect::DuckDb, CallSite::Table, "st_read", false);
    check(
        Dialect::Databricks,
        CallSite::Expression,
        "kll_own.f",
        false,
    );
}

#[test]
fn functions_with_effects_are_in_no_family() {
    let effects = [
        (Dialect::Postgres, "st_createtopogeo"),
        (Dialect::Postgres, "st_addisonode"),
        (Dialect::Postgres, "st_mapalgebra"),
        (Dialect::Postgres, "st_addband"),
        (Dialect::Postgres, "st_fromflatgeobuftotable"),
        (Dialect::Postgres, "st_summarystats"),
        (Dialect::BigQuery, "st_regionstats"),
        (Dialect::DuckDb, "st_read"),
        (Dialect::Snowflake, "to_query"),
    ];
    for (dialect, name) in effects {
        check(dialect, CallSite::Expression, name, false);
        check(dialect, CallSite::Table, name, false);
    }
}

#[test]
fn functions_with_effects_are_in_no_list() {
    let effects = [
        "nextval",
        "setval",
        "currval",
        "lastval",
        "setseed",
        "set_config",
        "pg_sleep",
        "sleep",
        "sleepeachrow",
        "sleep_ms",
        "benchmark",
        "load_file",
        "get_lock",
        "release_lock",
        "dblink",
        "pg_read_file",
        "pg_ls_dir",
        "lo_import",
        "lo_get",
        "query_to_xml",
        "table_to_xml",
        "ts_stat",
        "txid_current",
        "pg_notify",
        "pg_advisory_lock",
        "load_extension",
        "readfile",
        "writefile",
        "edit",
        "fts3_tokenizer",
        "read_csv",
        "read_text",
        "read_blob",
        "glob_files",
        "query",
        "query_table",
        "getenv",
        "checkpoint",
        "url",
        "file",
        "remote",
        "s3",
        "hdfs",
        "executable",
        "mysql",
        "postgresql",
        "merge_tables",
        "cluster",
        "dictionary",
        "input",
        "openrowset",
        "openquery",
        "opendatasource",
        "openxml",
        "external_query",
        "ai_query",
        "reflect",
        "java_method",
        "secret",
        "read_files",
        "http_request",
        "result_scan",
        "crosstab",
        "sys_exec",
        "addresstoline",
        "reversednsquery",
        "catboostevaluate",
        "pg_read_binary_file",
        "pg_stat_file",
        "pg_stat_reset",
        "pg_export_snapshot",
        "txid_current_snapshot",
        "cursor_to_xml",
        "lo_from_bytea",
        "pragma_journal_mode",
        "read_duckdb",
        "which_secret",
        "timeseriesstoretags",
        "getclienthttpheader",
        "showcertificate",
        "aigenerate",
        "sys_eval",
        "master_gtid_wait",
        "is_free_lock",
        "ai_complete",
        "get_presigned_url",
        "infer_schema",
        "try_secret",
        "read_kafka",
        "loginproperty",
        "pwdcompare",
        "hascolumnintable",
    ];
    for dialect in Dialect::ALL {
        for name in effects {
            check(dialect, CallSite::Expression, name, false);
            check(dialect, CallSite::Table, name, false);
        }
    }
}
