//! Tests texts that the parser reads differently than the server.

use ktx_sql::Dialect;

use super::{prints, refuses};

fn stays(dialect: Dialect, sql: &str) {
    prints(dialect, sql, sql);
}

#[test]
fn types_of_clickhouse_keep_their_capitals() {
    stays(
        Dialect::ClickHouse,
        "SELECT CAST(a AS Float64), CAST(b AS Int64), CAST(c AS Int8), CAST(d AS UInt256)",
    );
    stays(
        Dialect::ClickHouse,
        "SELECT CAST(a AS Bool), CAST(b AS Nullable(Float32)), c::Float64, CAST(d AS date)",
    );
    prints(
        Dialect::Postgres,
        "SELECT cast(a AS float8)",
        "SELECT CAST(a AS FLOAT8)",
    );
}

#[test]
fn a_lateral_view_may_have_no_name() {
    for sql in [
        "SELECT k, v FROM t LATERAL VIEW explode(a) AS k, v",
        "SELECT k FROM t LATERAL VIEW OUTER explode(a) AS k WHERE k = 1",
        "SELECT * FROM t LATERAL VIEW explode(a)",
        "SELECT * FROM t LATERAL VIEW explode(a) WHERE b = 1",
        "SELECT * FROM (SELECT * FROM t LATERAL VIEW explode(a)) AS u",
        "SELECT * FROM t LATERAL VIEW explode(a) LATERAL VIEW explode(b) x AS y",
        "SELECT * FROM t LATERAL VIEW explode(split(a, ',')) x AS y",
        "SELECT * FROM t LATERAL VIEW explode(a) x",
    ] {
        stays(Dialect::Databricks, sql);
    }
}

#[test]
fn the_root_of_a_row_is_not_a_column_with_an_alias() {
    stays(
        Dialect::Redshift,
        "SELECT CONNECT_BY_ROOT name, LEVEL FROM t START WITH a IS NULL CONNECT BY b = PRIOR c",
    );
    stays(
        Dialect::Redshift,
        "SELECT upper(CONNECT_BY_ROOT t.name) AS top, CONNECT_BY_ROOT id AS root FROM t",
    );
}

#[test]
fn types_with_named_fields_keep_them() {
    stays(
        Dialect::DuckDb,
        "SELECT x::ROW(i BIGINT, j VARCHAR), y::ROW(a INTEGER)[]",
    );
}

#[test]
fn units_of_intervals_are_not_aliases() {
    prints(
        Dialect::DuckDb,
        "SELECT INTERVAL '1.5' MILLENNIA, INTERVAL 2 CENTURIES, INTERVAL (a + 1) decades",
        "SELECT INTERVAL '1.5' MILLENNIUM, INTERVAL 2 CENTURY, INTERVAL (a + 1) DECADE",
    );
    prints(
        Dialect::DuckDb,
        "SELECT a + INTERVAL 3 QUARTERS AS b, count(*) quarters FROM t",
        "SELECT a + INTERVAL 3 QUARTER AS b, count(*) AS quarters FROM t",
    );
}

#[test]
fn a_row_of_one_value_stays_a_row() {
    stays(
        Dialect::DuckDb,
        "SELECT (42,), (a + 1,) AS b FROM t WHERE (c,) = (1,) AND (d) = 1",
    );
    prints(
        Dialect::DuckDb,
        "SELECT a FROM t WHERE a IN (1, 2,) AND f IN (3,)",
        "SELECT a FROM t WHERE a IN (1, 2) AND f IN (3)",
    );
}

#[test]
fn a_text_as_the_bound_of_a_frame_is_not_an_interval() {
    for dialect in [Dialect::Postgres, Dialect::DuckDb] {
        prints(
            dialect,
            "SELECT sum(a) OVER (ORDER BY b RANGE BETWEEN 'inf' PRECEDING AND '1' FOLLOWING) FROM t",
            "SELECT sum(a) OVER (ORDER BY b RANGE BETWEEN ('inf') PRECEDING AND ('1') FOLLOWING) FROM t",
        );
        stays(
            dialect,
            "SELECT sum(a) OVER (ORDER BY b RANGE INTERVAL '1 day' PRECEDING) FROM t",
        );
    }
}

#[test]
fn a_query_without_columns_into_a_table_is_refused() {
    for dialect in Dialect::ALL {
        refuses(dialect, "SELECT INTO x FROM y", "into");
        refuses(
            dialect,
            "SELECT a FROM (SELECT DISTINCT INTO x FROM y) AS z",
            "into",
        );
    }
}
