//! Tests on SQLite that printed texts return the same rows.

use ktx_sql::Dialect;
use rusqlite::Connection;
use rusqlite::types::Value;

const ROWS: &str = "CREATE TABLE t (a, b, c);
    INSERT INTO t VALUES (NULL, NULL, NULL), (1, NULL, 3), (1, 2, 3), (0, NULL, 0), (NULL, 0, 1);
    CREATE TABLE u (a, d); INSERT INTO u VALUES (1, 5), (0, 6), (NULL, 7)";

const PAIRS: &[(&str, &str)] = &[
    (
        "select sum(a isnull + b isnull + c isnull) from t",
        "SELECT sum(a ISNULL + b ISNULL + c ISNULL) FROM t",
    ),
    (
        "select a notnull + b not null, a not null > b notnull from t",
        "SELECT a NOTNULL + b NOT NULL, a NOT NULL > b NOTNULL FROM t",
    ),
    (
        "select a is null + b is null, a is not null + b is null from t",
        "SELECT a IS NULL + b IS NULL, a IS NOT NULL + b IS NULL FROM t",
    ),
    (
        "select a is b isnull, a = b isnull, not a isnull, a between (b isnull) and c from t",
        "SELECT a IS NOT DISTINCT FROM b ISNULL, a = b ISNULL, NOT a ISNULL, \
         a BETWEEN (b ISNULL) AND c FROM t",
    ),
    (
        "select a from t where a isnull and b notnull or (c isnull) = 0 order by b not null, a, b",
        "SELECT a FROM t WHERE a ISNULL AND b NOTNULL OR (c ISNULL) = 0 ORDER BY b NOT NULL, a, b",
    ),
    (
        "select ' ktx_nothing' || (a isnull || c notnull) from t",
        "SELECT ' ktx_nothing' || (a ISNULL || c NOTNULL) FROM t",
    ),
    (
        "select t.a, d from t cross join u on t.a = u.a order by 1, 2",
        "SELECT t.a, d FROM t CROSS JOIN u ON t.a = u.a ORDER BY 1, 2",
    ),
];

fn rows(database: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = database.prepare(sql).expect("SQLite reads it");
    let width = statement.column_count();
    let mut rows = statement.query([]).expect("SQLite runs it");
    let mut all = Vec::new();
    while let Some(row) = rows.next().expect("a row") {
        let cells = (0..width).map(|at| row.get(at).expect("a cell"));
        all.push(cells.collect());
    }
    all
}

#[test]
fn printed_texts_give_the_same_rows() {
    let database = Connection::open_in_memory().expect("a database");
    database.execute_batch(ROWS).expect("tables");
    for (sql, printed) in PAIRS {
        let checked = ktx_read_only_sql::check(sql, Dialect::Sqlite);
        assert_eq!(
            checked.as_ref().map(ktx_read_only_sql::ReadOnlySql::as_str),
            Ok(*printed)
        );
        assert_eq!(rows(&database, sql), rows(&database, printed), "{sql}");
    }
}
