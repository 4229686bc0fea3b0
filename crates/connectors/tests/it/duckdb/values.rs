//! Values of every type, against literals and DuckDB's texts.

use ktx_warehouse::{Caps, Cell};
use serde_json::json;

use super::Database;
use crate::render;
use crate::support::{query, query_with};

const VALUES: &str = r#"CREATE TYPE mood AS ENUM ('fine', 'bad');
  CREATE TABLE v AS SELECT true AS bool, (-128)::TINYINT AS i1, 1::SMALLINT AS i2, -2::INTEGER AS i4,
    9223372036854775807::BIGINT AS i8, 170141183460469231731687303715884105727::HUGEINT AS i16,
    7::HUGEINT AS small, 255::UTINYINT AS u1, 18446744073709551615::UBIGINT AS u8,
    340282366920938463463374607431768211455::UHUGEINT AS u16,
    '-123456789012345678901234567890123456789012345'::BIGNUM AS big, 0.1::FLOAT AS f4,
    'nan'::DOUBLE AS f8, '-inf'::DOUBLE AS inf, 1.50::DECIMAL(10,2) AS num, -0.05::DECIMAL(4,2) AS neg,
    12345678901234567890.123456789::DECIMAL(38,9) AS wide, 'é🦀' AS txt, ''::VARCHAR AS empty,
    '\x00\xFF'::BLOB AS bin, '10101'::BIT AS bits, '2024-02-29'::DATE AS d, '0044-03-15 (BC)'::DATE AS bc,
    'infinity'::DATE AS never, '10:11:12.5'::TIME AS t, '10:11:12+05:30'::TIMETZ AS ttz,
    '2024-02-29 23:59:59.123456'::TIMESTAMP AS ts, '2024-02-29 23:59:59+02'::TIMESTAMPTZ AS tstz,
    '2024-02-29 23:59:59'::TIMESTAMP_S AS tss, '2024-02-29 23:59:59.120'::TIMESTAMP_MS AS tsms,
    '2024-02-29 23:59:59.123456789'::TIMESTAMP_NS AS tsns, '-infinity'::TIMESTAMP AS first,
    INTERVAL '1 year 2 months -3 days 04:05:06.7' AS iv, INTERVAL '0 s' AS iv0,
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID AS uid, '{"a": [1, null]}'::JSON AS js,
    'fine'::mood AS mood, [1, NULL, 3] AS list, []::INTEGER[] AS none, [['a'], NULL] AS nested,
    [1.5, 2.5]::DOUBLE[2] AS arr, {'a': 1, 'b c': 'x', 'd': DATE '2024-01-01'} AS row,
    MAP {'k': 1.50::DECIMAL(4,2), 'l': NULL} AS map, MAP {1: 'x'} AS numbered,
    union_value(num := 7)::UNION(num INTEGER, word VARCHAR) AS uni,
    NULL::UNION(num INTEGER, word VARCHAR) AS nouni, NULL::INTEGER AS nul, NULL::VARCHAR[] AS nolist"#;

#[tokio::test]
async fn reads_every_kind_of_value() {
    let Some(database) = Database::new(VALUES) else {
        return;
    };
    let result = query(&*database.connector(), "SELECT * FROM v").await;
    assert_eq!(render::columns(&result), EXPECTED);
}

const EXPECTED: &str = r#"bool BOOLEAN: Bool(true)
i1 TINYINT: Int(-128)
i2 SMALLINT: Int(1)
i4 INTEGER: Int(-2)
i8 BIGINT: Int(9223372036854775807)
i16 HUGEINT: Decimal("170141183460469231731687303715884105727")
small HUGEINT: Int(7)
u1 UTINYINT: Int(255)
u8 UBIGINT: UInt(18446744073709551615)
u16 UHUGEINT: Decimal("340282366920938463463374607431768211455")
big BIGNUM: Decimal("-123456789012345678901234567890123456789012345")
f4 FLOAT: Float(0.1)
f8 DOUBLE: Float(NaN)
inf DOUBLE: Float(-inf)
num DECIMAL(10,2): Decimal("1.50")
neg DECIMAL(4,2): Decimal("-0.05")
wide DECIMAL(38,9): Decimal("12345678901234567890.123456789")
txt VARCHAR: Text("é🦀")
empty VARCHAR: Text("")
bin BLOB: Bytes([0, 255])
bits BIT: Text("10101")
d DATE: Date("2024-02-29")
bc DATE: Date("0044-03-15 (BC)")
never DATE: Date("infinity")
t TIME: Time("10:11:12.5")
ttz TIME WITH TIME ZONE: Time("10:11:12+05:30")
ts TIMESTAMP: Timestamp("2024-02-29 23:59:59.123456")
tstz TIMESTAMP WITH TIME ZONE: Timestamp("2024-02-29 21:59:59+00")
tss TIMESTAMP_S: Timestamp("2024-02-29 23:59:59")
tsms TIMESTAMP_MS: Timestamp("2024-02-29 23:59:59.12")
tsns TIMESTAMP_NS: Timestamp("2024-02-29 23:59:59.123456789")
first TIMESTAMP: Timestamp("-infinity")
iv INTERVAL: Text("1 year 2 months -3 days 04:05:06.7")
iv0 INTERVAL: Text("00:00:00")
uid UUID: Text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
js JSON: Json(Object {"a": Array [Number(1), Null]})
mood ENUM: Text("fine")
list INTEGER[]: Json(Array [Number(1), Null, Number(3)])
none INTEGER[]: Json(Array [])
nested VARCHAR[][]: Json(Array [Array [String("a")], Null])
arr DOUBLE[2]: Json(Array [Number(1.5), Number(2.5)])
row STRUCT(a INTEGER, "b c" VARCHAR, d DATE): Json(Object {"a": Number(1), "b c": String("x"), "d": String("2024-01-01")})
map MAP(VARCHAR, DECIMAL(4,2)): Json(Object {"k": String("1.50"), "l": Null})
numbered MAP(INTEGER, VARCHAR): Json(Object {"1": String("x")})
uni UNION(num INTEGER, word VARCHAR): Json(Object {"num": Number(7)})
nouni UNION(num INTEGER, word VARCHAR): Null
nul INTEGER: Null
nolist VARCHAR[]: Null"#;

/// Types that a cell shows as DuckDB does.
const OWN_TEXTS: [&str; 27] = [
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "hugeint",
    "uhugeint",
    "utinyint",
    "usmallint",
    "uint",
    "ubigint",
    "bignum",
    "date",
    "time",
    "timestamp",
    "timestamp_s",
    "timestamp_ms",
    "timestamp_ns",
    "time_tz",
    "dec_4_1",
    "dec_9_4",
    "dec_18_6",
    "dec38_10",
    "uuid",
    "interval",
    "varchar",
    "bit",
    "small_enum",
];

#[tokio::test]
async fn writes_the_ends_of_every_type_as_duckdb_does() {
    let Some(database) = Database::new(
        "CREATE TABLE ends AS SELECT * FROM test_all_types(); CREATE TABLE texts AS SELECT \
         COLUMNS(*)::VARCHAR FROM ends",
    ) else {
        return;
    };
    let connector = database.connector();
    let mut compared = 0;
    for column in OWN_TEXTS {
        let read = async |table: &str| {
            let result = query(&*connector, &format!("SELECT \"{column}\" FROM {table}")).await;
            let cells = result.rows.into_iter().flatten();
            cells.map(|cell| cell.to_text()).collect::<Vec<_>>()
        };
        let (cells, texts) = (read("ends").await, read("texts").await);
        assert_eq!(cells, texts, "{column}");
        compared += cells.len();
    }
    assert_eq!(compared, OWN_TEXTS.len() * 3);
    let all = query(&*connector, "SELECT * FROM ends").await;
    assert_eq!((all.rows.len(), all.columns.len() > 50), (3, true));
}

#[tokio::test]
async fn says_which_type_cannot_be_read() {
    let Some(database) = Database::new("CREATE TABLE t (x INTEGER)") else {
        return;
    };
    let sql = "SELECT CAST(1 AS VARIANT) AS v";
    let outcome = query_with(&*database.connector(), sql, &Caps::default()).await;
    assert_eq!(
        render::error(&outcome.unwrap_err()),
        "query_failed\nthe result has a column of a type that cannot be read, such as VARIANT\ncast \
         such values to VARCHAR in the statement"
    );
}

#[tokio::test]
async fn reads_many_rows_in_their_order() {
    let Some(database) = Database::new(
        "CREATE TABLE n AS SELECT range AS x, CASE WHEN range % 3 = 0 THEN NULL ELSE 'é''\"' || range \
         END AS t FROM range(10000)",
    ) else {
        return;
    };
    let caps = Caps {
        rows: 20_000,
        ..Caps::default()
    };
    let result = query_with(
        &*database.connector(),
        "SELECT x, t FROM n ORDER BY x",
        &caps,
    )
    .await
    .unwrap();
    let expected: Vec<Vec<Cell>> = (0..10_000)
        .map(|number| {
            let text = Cell::Text(format!("é'\"{number}"));
            vec![
                Cell::Int(number),
                if number % 3 == 0 { Cell::Null } else { text },
            ]
        })
        .collect();
    assert_eq!(result.rows, expected);
}

#[tokio::test]
async fn cuts_moments_in_the_time_zone_of_the_connection() {
    let moment = "CREATE TABLE m AS SELECT TIMESTAMPTZ '2024-01-31 20:30:00+00' AS moment";
    let Some(database) = Database::new(moment) else {
        return;
    };
    for (fields, day) in [
        (json!({"path": "shop.duckdb"}), 31),
        (json!({"path": "shop.duckdb", "timezone": "Asia/Tokyo"}), 1),
    ] {
        let connector = database.open(fields).unwrap();
        let result = query(&*connector, "SELECT extract(day FROM moment) AS day FROM m").await;
        assert_eq!(result.rows, [[Cell::Int(day)]]);
    }
}
