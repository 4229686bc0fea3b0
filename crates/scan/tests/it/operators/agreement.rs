//! Tests that the gate, the semantic layer and the history read the same operators.

use std::collections::BTreeSet;

use ktx_sql::Dialect;

use super::{compiled_text, gate_text, history_verdict};

const EXPRESSIONS: &[(Dialect, &[&str])] = &[
    (
        Dialect::Sqlite,
        &[
            "s MATCH 'a'",
            "s NOT MATCH 'a'",
            "s REGEXP 'a'",
            "s GLOB 'a'",
            "s NOT GLOB 'a'",
            "a == 1",
            "s -> '$.x'",
            "s ->> 1",
            "a IN l",
            "a IN ()",
            "a IS NOT 5",
            "a IS TRUE",
            "a IS DISTINCT FROM b",
            "a ISNULL + b",
            "s COLLATE nocase = 'x'",
            "~a",
            "a | b & 1",
            "a << 1",
            "a BETWEEN 1 AND 2 AND b",
            "0x1F",
        ],
    ),
    (
        Dialect::DuckDb,
        &[
            "a!",
            "@ a",
            "a ** 2",
            "a // b * 2",
            "s SIMILAR TO 'a'",
            "s !~ 'a'",
            "s ~~ 'a'",
            "s ^@ 'a'",
            "s NOT GLOB 'a'",
            "l && l",
            "l @> l",
            "l[1:2]",
            "l[:2]",
            "a::int",
            "a << 1",
            "a == b",
            "a ISNULL",
            "'x' IN l",
            "list_filter(l, x -> x > 1)",
            "{'k': a}",
            "map {'a': 1}",
            "inet '10.0.0.1'",
            "interval 1 day",
            "INTERVAL a DAY",
            "trim(leading from s)",
            "s -> 'k'",
            "[x + 1 FOR x IN l]",
            "#1",
        ],
    ),
    (
        Dialect::ClickHouse,
        &[
            "a IN l",
            "a NOT IN l",
            "a GLOBAL IN (5, 7)",
            "a DIV 2",
            "a MOD 2",
            "a % 2",
            "a == b",
            "a <=> b",
            "a << 1",
            "a:b",
            "a > 1 ? b : 0",
            "a ? b : a ? 1 : 2",
            "l[-1]",
            "tuple(a, b).1",
            "a::UInt8",
            "INTERVAL 1 DAY",
            "INTERVAL '1 day'",
            "INTERVAL a + 1 DAY",
            "arrayMap(x -> x + 1, l)",
            "(a, b) IN ((1, 2))",
        ],
    ),
    (
        Dialect::MySql,
        &[
            "!a",
            "a := 1",
            "a || b",
            "a && b",
            "a XOR b",
            "NOT a XOR b",
            "a DIV b MOD 2",
            "a ^ b",
            "a <=> b",
            "BINARY s = 'a'",
            "s -> '$.x'",
            "s MEMBER OF(l)",
            "s SOUNDS LIKE l",
            "s NOT RLIKE 'x'",
            "s COLLATE utf8mb4_bin",
            "s + INTERVAL 1 DAY",
            "s + INTERVAL '1:30' HOUR_MINUTE",
            "extract(day_hour from s)",
            "MATCH(s) AGAINST('x')",
            "a ISNULL",
        ],
    ),
    (
        Dialect::MariaDb,
        &["!a", "a MOD 2", "a XOR b", "a && b", "s SOUNDS LIKE 'a'"],
    ),
    (
        Dialect::Postgres,
        &[
            "a ISNULL",
            "a # b",
            "a << 1",
            "a!",
            "||/ a",
            "@-@ a",
            "a <-> b",
            "a OPERATOR(pg_catalog.+) b",
            "s ~* 'a'",
            "s ^@ 'a'",
            "s ? 'k'",
            "s @? '$.a'",
            "s #>> '{a}'",
            "l @> l",
            "l[1:2]",
            "a = any(l)",
            "a IS JSON",
            "s IS NFC NORMALIZED",
            "s AT TIME ZONE 'UTC'",
            "a BETWEEN SYMMETRIC 5 AND 1",
            "a NOT BETWEEN SYMMETRIC 1 AND 2",
            "inet '10.0.0.1'",
            "interval(1) '1.66'",
            "interval '1:2' hour to minute",
            "trim(both 'x' from s)",
            "concat(variadic l)",
            "(s, l) OVERLAPS (s, l)",
        ],
    ),
    (
        Dialect::Redshift,
        &[
            "a NOTNULL",
            "@ -5",
            "||/ a",
            "a # b",
            "a << 1",
            "l[0]",
            "s SIMILAR TO 'x'",
            "a::super",
            "trim(leading from s)",
        ],
    ),
    (
        Dialect::Snowflake,
        &[
            "s:x.y[0]",
            "s:x::int",
            "s:\"x y\"",
            "s ILIKE ANY ('x')",
            "s RLIKE 'a'",
            "a IS DISTINCT FROM b",
            "filter(l, x -> x > 1)",
            "s + interval '1 day'",
        ],
    ),
    (
        Dialect::BigQuery,
        &[
            "a << 1",
            "l[OFFSET(0)]",
            "array<int64>[1]",
            "struct<a int64>(1)",
            "a IN UNNEST(l)",
            "s LIKE ANY ('a')",
            "interval 1 day",
            "extract(dayofweek from s)",
            "a IS NOT DISTINCT FROM b",
        ],
    ),
    (
        Dialect::SqlServer,
        &[
            "a !< 1",
            "a !> 1",
            "a << 1",
            "a ^ b",
            "s COLLATE Latin1_General_CI_AS",
            "s AT TIME ZONE 'UTC'",
            "geography::Point(1, 2, 3)",
            "parse(s as date using 'en-US')",
        ],
    ),
    (
        Dialect::Trino,
        &[
            "1_000",
            "l[1]",
            "transform(l, x -> x + 1)",
            "interval '1' day",
            "ipaddress '10.0.0.1'",
            "trim(leading from s)",
            "a DIV 2",
        ],
    ),
    (
        Dialect::Databricks,
        &[
            "s:x['y']",
            "s:`x y`",
            "s:x[*]",
            "a DIV b",
            "a <=> b",
            "a == b",
            "a << 1",
            "!a",
            "a ** 2",
            "s ILIKE ANY ('x')",
            "transform(l, x -> x + 1)",
            "INTERVAL 1 DAY",
            "INTERVAL 1 DAY 2 HOURS",
            "TIMESTAMP_NTZ '2020-01-01'",
        ],
    ),
];

/// Operators that only some read, and why.
const DIFFERENCES: &[(Dialect, &str, &str, &str)] = &[
    (
        Dialect::Sqlite,
        "a IN l",
        "gate, history",
        "the set is a table, which an expression may not read",
    ),
    (
        Dialect::DuckDb,
        "[x + 1 FOR x IN l]",
        "gate",
        "the gate marks the words of a comprehension, which are operators nowhere else",
    ),
    (
        Dialect::DuckDb,
        "#1",
        "gate, history",
        "a column by its place in a query, and an expression names columns",
    ),
    (
        Dialect::ClickHouse,
        "a ? b : a ? 1 : 2",
        "gate, history",
        "the server refuses it; the compiler says so in advance",
    ),
    (
        Dialect::MySql,
        "a := 1",
        "history",
        "sets a variable, which is neither reading nor a value",
    ),
    (
        Dialect::MySql,
        "MATCH(s) AGAINST('x')",
        "gate, history",
        "its columns must have one full-text index, which sources do not know",
    ),
    (
        Dialect::MySql,
        "a ISNULL",
        "gate, history",
        "an alias; an expression has none",
    ),
    (
        Dialect::SqlServer,
        "parse(s as date using 'en-US')",
        "gate",
        "the gate marks the words inside this call, which are operators nowhere else",
    ),
    (
        Dialect::Databricks,
        "s:x[*]",
        "gate, history",
        "many values, and an expression has one",
    ),
    (
        Dialect::Databricks,
        "INTERVAL 1 DAY 2 HOURS",
        "gate, history",
        "the planner reads only intervals of one unit",
    ),
];

#[tokio::test]
async fn all_read_the_same_operators() {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for (dialect, expressions) in EXPRESSIONS {
        for expression in *expressions {
            let gate = !gate_text(*dialect, expression).starts_with("refused");
            let compiler = !compiled_text(*dialect, expression).starts_with("refused");
            let history = history_verdict(*dialect, expression).await == "read";
            let readers = [(gate, "gate"), (compiler, "compiler"), (history, "history")];
            let reading: Vec<&str> = readers
                .into_iter()
                .filter_map(|(reads, name)| reads.then_some(name))
                .collect();
            if !matches!(reading.len(), 0 | 3) {
                found.insert(format!("{dialect}: {expression}: {}", reading.join(", ")));
            }
        }
    }
    let known = DIFFERENCES
        .iter()
        .map(|(dialect, expression, reading, _)| format!("{dialect}: {expression}: {reading}"));
    assert_eq!(found, known.collect());
}
