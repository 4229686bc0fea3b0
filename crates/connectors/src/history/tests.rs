//! The static gate allows every listing.

use ktx_sql::Dialect;

use super::{bigquery, clickhouse, postgres, snowflake};

#[test]
fn the_gate_allows_every_list_of_queries() {
    let check = |dialect: Dialect, sql: &str| {
        let checked = ktx_read_only_sql::check(sql, dialect);
        assert!(checked.is_ok(), "{dialect}: {sql}: {checked:?}");
    };
    check(Dialect::Postgres, &postgres(90));
    check(Dialect::ClickHouse, &clickhouse(90));
    check(Dialect::Snowflake, &snowflake(90));
    check(Dialect::BigQuery, &bigquery("EU", 90));
}
