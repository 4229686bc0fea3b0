//! Statements that list past queries: text, count, user and, if known, completeness.

use ktx_sql::Dialect;

const QUERIES: usize = 5000;

/// Reads `pg_stat_statements` of the current database. The fourth column is true if counts cover
/// `days` days without a reset or eviction.
pub(crate) fn postgres(days: u32) -> String {
    format!(
        "SELECT s.query AS text, SUM(s.calls) AS runs, r.rolname AS person, \
         (SELECT i.dealloc = 0 AND i.stats_reset < now() - INTERVAL '{days} days' \
         FROM pg_stat_statements_info AS i) AS is_whole \
         FROM pg_stat_statements AS s \
         JOIN pg_catalog.pg_database AS d ON d.oid = s.dbid \
         LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = s.userid \
         WHERE d.datname = current_database() \
         GROUP BY s.query, r.rolname ORDER BY runs DESC, text LIMIT {QUERIES}"
    )
}

pub(crate) fn clickhouse(days: u32) -> String {
    format!(
        "SELECT any(query) AS text, count() AS runs, user AS person FROM system.query_log \
         WHERE type = 'QueryFinish' AND query_kind = 'Select' AND event_date >= today() - {days} \
         GROUP BY normalized_query_hash, user ORDER BY runs DESC, text LIMIT {QUERIES}"
    )
}

pub(crate) fn snowflake(days: u32) -> String {
    format!(
        "SELECT MAX(query_text) AS text, COUNT(*) AS runs, user_name AS person FROM SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY \
         WHERE execution_status = 'SUCCESS' AND query_type IN ('SELECT', 'MERGE') \
         AND start_time >= DATEADD('day', -{days}, CURRENT_TIMESTAMP()) \
         GROUP BY query_parameterized_hash, user_name ORDER BY runs DESC, text LIMIT {QUERIES}"
    )
}

pub(crate) fn bigquery(location: &str, days: u32) -> String {
    let region = Dialect::BigQuery.quote(&format!("region-{}", location.to_lowercase()));
    format!(
        "SELECT ANY_VALUE(query) AS text, COUNT(*) AS runs, user_email AS person FROM {region}.INFORMATION_SCHEMA.JOBS_BY_PROJECT \
         WHERE job_type = 'QUERY' AND state = 'DONE' AND error_result IS NULL \
         AND statement_type IN ('SELECT', 'MERGE') \
         AND creation_time >= TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL {days} DAY) \
         GROUP BY query_info.query_hashes.normalized_literals, user_email ORDER BY runs DESC, text LIMIT {QUERIES}"
    )
}

#[cfg(test)]
mod tests;
