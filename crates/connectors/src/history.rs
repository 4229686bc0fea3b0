//! The statements that list the queries that people ran: two columns, the text and how often it ran.

use ktx_warehouse::Dialect;

/// Queries listed at most.
const QUERIES: usize = 5000;

/// `pg_stat_statements` of the current database; texts without a condition join nothing.
pub(crate) fn postgres() -> String {
    format!(
        "SELECT s.query AS text, SUM(s.calls) AS runs FROM pg_stat_statements AS s \
         JOIN pg_catalog.pg_database AS d ON d.oid = s.dbid \
         WHERE d.datname = current_database() AND (s.query ILIKE '%join%' OR s.query ILIKE '%where%') \
         GROUP BY s.query ORDER BY runs DESC, text LIMIT {QUERIES}"
    )
}

/// `system.query_log`.
pub(crate) fn clickhouse(days: u32) -> String {
    format!(
        "SELECT any(query) AS text, count() AS runs FROM system.query_log \
         WHERE type = 'QueryFinish' AND query_kind = 'Select' AND event_date >= today() - {days} \
         GROUP BY normalized_query_hash ORDER BY runs DESC, text LIMIT {QUERIES}"
    )
}

/// The account's query history.
pub(crate) fn snowflake(days: u32) -> String {
    format!(
        "SELECT MAX(query_text) AS text, COUNT(*) AS runs FROM SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY \
         WHERE execution_status = 'SUCCESS' AND query_type IN ('SELECT', 'MERGE') \
         AND start_time >= DATEADD('day', -{days}, CURRENT_TIMESTAMP()) \
         GROUP BY query_parameterized_hash ORDER BY runs DESC, text LIMIT {QUERIES}"
    )
}

/// The project's jobs in one region.
pub(crate) fn bigquery(location: &str, days: u32) -> String {
    let region = Dialect::BigQuery.quote(&format!("region-{}", location.to_lowercase()));
    format!(
        "SELECT ANY_VALUE(query) AS text, COUNT(*) AS runs FROM {region}.INFORMATION_SCHEMA.JOBS_BY_PROJECT \
         WHERE job_type = 'QUERY' AND state = 'DONE' AND error_result IS NULL \
         AND statement_type IN ('SELECT', 'MERGE') \
         AND creation_time >= TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL {days} DAY) \
         GROUP BY query_info.query_hashes.normalized_literals ORDER BY runs DESC, text LIMIT {QUERIES}"
    )
}

#[cfg(test)]
mod tests;
