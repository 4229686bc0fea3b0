//! Operators and literals of single warehouses: the compiled SQL has the results of the original
//! expression.

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile};
use ktx_sql::Dialect;
use ktx_test_support::services::{Service, ServiceName, service};
use serde_json::{Value, json};

use crate::oracle::live::DuckDb;
use crate::sqlite;

fn catalog(dialect: Dialect, row: &str, group: &str) -> Catalog {
    let text = |expr: &str| json!(expr).to_string();
    let (row, group) = (text(row), text(group));
    let source = format!(
        "name: t\ntable: t\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\n- {{name: a, type: number}}\n\
         - {{name: b, type: number}}\n- {{name: s, type: string}}\n- {{name: l, type: string}}\n\
         - {{name: x, type: number, expr: {row}}}\n\
         measures:\n- {{name: n, expr: count(*)}}\n- {{name: of, expr: count(*), filter: {row}}}\n\
         - {{name: whole, expr: {group}}}\n"
    );
    Catalog::load(vec![SourceFile::new("t.yaml", source)], dialect)
}

fn sql(catalog: &Catalog, query: &Value) -> Result<String, String> {
    let query = Query::from_value(query).expect("a query");
    let dialect = catalog.dialect();
    let compiled = compile(catalog, &query, dialect).map_err(|error| error.message)?;
    if let Err(refusal) = ktx_read_only_sql::check(&compiled.sql, dialect) {
        return Err(format!("the gate says {refusal}\n{}", compiled.sql));
    }
    Ok(compiled.sql)
}

/// Each with equivalent plain SQL.
fn questions(row: &str, group: &str) -> [(Value, String); 3] {
    [
        (
            json!({"measures": ["t.n"], "dimensions": ["t.x"]}),
            format!("SELECT {row}, COUNT(*) FROM t GROUP BY 1"),
        ),
        (
            json!({"measures": ["t.of"]}),
            format!("SELECT COUNT(CASE WHEN {row} THEN 1 END) FROM t"),
        ),
        (
            json!({"measures": ["t.whole"]}),
            format!("SELECT {group} FROM t"),
        ),
    ]
}

fn differences(
    dialect: Dialect,
    pairs: &[(&str, &str)],
    run: &mut dyn FnMut(&str) -> Vec<Vec<Value>>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut sorted = |sql: &str| {
        let mut rows: Vec<String> = run(sql).iter().map(|row| json!(row).to_string()).collect();
        rows.sort();
        rows
    };
    for (row, group) in pairs {
        let catalog = catalog(dialect, row, group);
        for (query, plain) in questions(row, group) {
            match sql(&catalog, &query) {
                Err(reason) => wrong.push(format!("{row}: {reason}")),
                Ok(sql) => {
                    let (got, wanted) = (sorted(&sql), sorted(&plain));
                    let is_refused = wanted.iter().any(|row| row.contains("\"error\":"));
                    if got != wanted && !(is_refused && query == json!({"measures": ["t.of"]})) {
                        wrong.push(format!("{plain}: {got:?} instead of {wanted:?}\n{sql}"));
                    }
                }
            }
        }
    }
    wrong
}

type Row = (i64, Option<i64>, Option<i64>, Option<&'static str>);

const ROWS: [Row; 7] = [
    (1, Some(5), Some(2), Some("a")),
    (2, Some(-3), Some(2), Some("ab")),
    (3, None, Some(1), Some("A*")),
    (4, Some(0), None, None),
    (5, Some(7), Some(3), Some("5")),
    (6, None, None, Some("b")),
    (7, Some(5), Some(5), Some("")),
];

const SQLITE: [(&str, &str); 24] = [
    ("a is 5", "max(a) is 7"),
    ("a is not 5", "max(a) is not 7"),
    ("s is 'a'", "min(s) is ''"),
    ("s is not 'a' and a > 0", "min(s) is not 'a' and max(a) > 0"),
    ("a is b", "max(a) is max(b)"),
    (
        "a is not b or s is null",
        "max(a) is not max(b) or max(s) is null",
    ),
    ("a is b + 3", "max(a) is max(b) + 2"),
    ("a is b = 1", "max(a) is max(b) = 1"),
    ("1 = a is 5", "1 = max(a) is 7"),
    ("a is b < 1", "max(a) is max(b) < 1"),
    ("not a is 5", "not max(a) is 7"),
    ("a is -3", "min(a) is -3"),
    ("a is not null", "max(a) is not null"),
    ("a is (b is 2)", "max(a) is (max(b) is 2)"),
    ("a << 1", "max(a) << 1"),
    ("a >> 1", "max(a) >> 1"),
    ("a << b + 1", "sum(a) << count(*) - 5"),
    ("1 << a | 1", "1 << max(b) | 1"),
    ("a & 1 << b", "sum(a) & 1 << max(b)"),
    ("a << 1 = 10", "sum(a) << 1 = 28"),
    ("0x1F", "sum(a) + 0x1F"),
    ("a & 0xff", "sum(a) & 0XFF"),
    ("x'4142' = 'AB'", "max(a) = x'4142'"),
    ("length(x'00ff') = a", "sum(length(X'00ff'))"),
];

#[test]
fn sqlite_reads_its_operators_as_they_are_written() {
    let rows: Vec<Value> = ROWS
        .iter()
        .map(|(id, a, b, s)| json!([id, a, b, s, null]))
        .collect();
    let database = sqlite::database(&json!({"tables": {"t": {
        "columns": [["id", "int"], ["a", "int"], ["b", "int"], ["s", "text"], ["l", "text"]], "rows": rows,
    }}}));
    let mut run = |sql: &str| sqlite::run(&database, sql).1;
    assert_eq!(
        differences(Dialect::Sqlite, &SQLITE, &mut run),
        Vec::<String>::new()
    );
}

const DUCKDB: [(&str, &str); 24] = [
    ("a ** 2", "max(a) ** 2"),
    ("2 ** b ** 2", "2 ** max(b) ** 2"),
    ("-a ** 2", "-max(a) ** 2"),
    ("2 * b ** 2 + 1", "2 * max(b) ** 2 + 1"),
    ("b ** -1", "max(b) ** -1"),
    ("a ** 2::int", "max(a) ** 2::int"),
    ("a ** 2 > 20 and b > 1", "max(a) ** 2 > 20 and max(b) > 1"),
    ("b ^ 2 ** 2", "max(b) ^ 2 ** 2"),
    ("s glob 'a*'", "min(s) glob '*'"),
    ("not s glob 'a*'", "not min(s) glob '*'"),
    ("s || 'x' glob '*x'", "min(s) || 'x' glob '?'"),
    (
        "s glob 'a' || '*' and a > 0",
        "min(s) glob '' || '*' and max(a) > 0",
    ),
    ("s glob '[0-9]'", "max(s) glob '[a-z]'"),
    ("a in [5, 7]", "max(a) in [5, 7]"),
    ("a in [5, null]", "max(a) in [5, null]"),
    ("a not in [5, null]", "max(a) not in [5, null]"),
    (
        "a + 1 in [6, 8] and b > 2",
        "max(a) + 1 in [6, 8] and max(b) > 2",
    ),
    ("s in l", "min(s) in ['', 'b']"),
    ("l[1:2]", "len(max(l)[1:2]) + 1"),
    ("l[b:] = ['ab']", "len(max(l)[:1])"),
    ("l[b:a]", "max(l)[max(b):max(a)]"),
    ("t.l[b - 1]", "max(t.l[2])"),
    ("len(l[1:-1:2])", "len(max(l)[1:-1:2])"),
    ("s[1:1] = 'a'", "max(s)[1:1]"),
];

#[test]
fn duckdb_reads_its_operators_as_they_are_written() {
    let Service::Available(python) = service(ServiceName::Python) else {
        return;
    };
    let rows = ROWS.iter().map(|(id, a, b, s)| {
        let number = |value: &Option<i64>| value.map_or("NULL".to_owned(), |one| one.to_string());
        let text = s.map_or("NULL".to_owned(), |one| format!("'{one}'"));
        let list = if id % 3 == 0 {
            "NULL"
        } else {
            "['a', 'ab', '5']"
        };
        format!("({id}, {}, {}, {text}, {list})", number(a), number(b))
    });
    let rows: Vec<String> = rows.collect();
    let mut engine = DuckDb::new(&python);
    let loaded = engine.ask(&json!({"load": [
        "CREATE TABLE t (id INTEGER, a INTEGER, b INTEGER, s VARCHAR, l VARCHAR[])",
        format!("INSERT INTO t VALUES {}", rows.join(", ")),
    ]}));
    assert_eq!(loaded, json!({"ok": true}));
    let mut run = |sql: &str| {
        let answer = engine.ask(&json!({"sql": sql}));
        let rows = answer.get("rows").and_then(Value::as_array).cloned();
        let row = |row: &Value| row.as_array().cloned().unwrap_or_default();
        match rows {
            Some(rows) => rows.iter().map(row).collect(),
            None => vec![vec![answer]],
        }
    };
    assert_eq!(
        differences(Dialect::DuckDb, &DUCKDB, &mut run),
        Vec::<String>::new()
    );
    let query = json!({
        "measures": ["max(t.l[1:2])", "count(t.id)"], "filters": ["t.l[1] in ['a']", "t.a ** 2 > 9"],
    });
    let asked = sql(&catalog(Dialect::DuckDb, "a", "count(*)"), &query).expect("an answer");
    assert_eq!(run(&asked), [[json!(["a", "ab"]), json!(3)]]);
}

fn printed(dialect: Dialect, row: &str) -> String {
    let query = json!({"measures": ["t.n"], "dimensions": ["t.x"]});
    match sql(&catalog(dialect, row, "count(*)"), &query) {
        Ok(sql) => {
            let line = sql.lines().nth(1).unwrap_or_default();
            let line = line.strip_prefix("SELECT ").unwrap_or(line);
            line.split(" AS d1_x").next().unwrap_or(line).to_owned()
        }
        Err(reason) => format!("refused: {reason}"),
    }
}

/// Checked with ClickHouse 26.9.
#[test]
fn clickhouse_is_told_the_same_in_words_that_others_read() {
    let cases = [
        ("a > 1 ? b : 0", "if(t.a > 1, t.b, 0)"),
        (
            "a > 1 or b > 1 ? 'x' : s",
            "if(t.a > 1 OR t.b > 1, 'x', t.s)",
        ),
        ("a = 1 ? b : b = 3", "if(t.a = 1, t.b, t.b = 3)"),
        (
            "a = 1 ? b : (b = 3 ? 1 : 2)",
            "if(t.a = 1, t.b, (if(t.b = 3, 1, 2)))",
        ),
        (
            "1 + (a = 1 ? b : -b) * 2",
            "(1 + (if(t.a = 1, t.b, -t.b)) * 2)",
        ),
        ("length(a = 1 ? s : 'x')", "length(if(t.a = 1, t.s, 'x'))"),
        ("a div b * 2", "(t.a DIV t.b * 2)"),
        ("2 * a DIV b", "(2 * t.a DIV t.b)"),
        ("a mod b = 1", "(t.a % t.b = 1)"),
        ("-a mod 3 + 1", "(-t.a % 3 + 1)"),
        ("not a MOD b", "(NOT t.a % t.b)"),
    ];
    let got = cases.map(|(written, _)| printed(Dialect::ClickHouse, written));
    assert_eq!(got, cases.map(|(_, expected)| expected.to_owned()));
    let whole = catalog(Dialect::ClickHouse, "a", "sum(a) div sum(b)");
    let sql = sql(&whole, &json!({"measures": ["t.whole"]})).expect("an answer");
    assert!(sql.contains(" DIV NULLIF("), "{sql}");
}

#[test]
fn operators_of_one_warehouse_are_compiled_as_it_reads_them() {
    let cases = [
        (Dialect::Sqlite, "a isnull + b", "((t.a IS NULL) + t.b)"),
        (
            Dialect::Sqlite,
            "a is b = 1",
            "(t.a IS NOT DISTINCT FROM t.b = 1)",
        ),
        (
            Dialect::Sqlite,
            "a in l",
            "refused: cannot parse `a in l`: SQLite reads a table after `IN`; write the values in parentheses",
        ),
        (Dialect::ClickHouse, "a in l", "(t.a IN (t.l))"),
        (Dialect::ClickHouse, "a not in l", "(t.a NOT IN (t.l))"),
        (
            Dialect::ClickHouse,
            "s + interval a + 1 day",
            "(t.s + INTERVAL t.a + 1 DAY)",
        ),
        (
            Dialect::Postgres,
            "inet '10.0.0.1' = s",
            "(INET '10.0.0.1' = t.s)",
        ),
        (
            Dialect::Postgres,
            "a between symmetric 5 and 1 and b > 1",
            "(t.a BETWEEN SYMMETRIC 5 AND 1 AND t.b > 1)",
        ),
        (Dialect::Redshift, "l[0].b", "(t.l[0].b)"),
        (
            Dialect::SqlServer,
            "a !< b",
            "CASE WHEN (t.a >= t.b) THEN 1 WHEN NOT (t.a >= t.b) THEN 0 END",
        ),
        (Dialect::MySql, "a := 1", "refused: `:=` sets a variable"),
        (Dialect::MySql, "binary s = 'x'", "(BINARY t.s = 'x')"),
        (
            Dialect::BigQuery,
            "array<int64>[1, 2]",
            "COALESCE((ARRAY<INT64> [1, 2]), (ARRAY<INT64> [1, 2]))",
        ),
        (
            Dialect::Databricks,
            "s:x['it''s'] = 'y'",
            r"(t.s:x['it\'s'] = 'y')",
        ),
        (
            Dialect::MySql,
            "_utf8 'x'",
            "refused: this form is not allowed in expressions",
        ),
        (
            Dialect::Trino,
            "table(a)",
            "refused: this form is not allowed in expressions",
        ),
    ];
    let got = cases.map(|(dialect, written, _)| (dialect, written, printed(dialect, written)));
    let expected = cases.map(|(dialect, written, sql)| (dialect, written, sql.to_owned()));
    assert_eq!(got, expected);
}

#[test]
fn operators_of_other_warehouses_are_refused() {
    let mut wrong: Vec<String> = Vec::new();
    for (dialect, written, reason) in [
        (Dialect::Postgres, "a ** 2", "cannot parse `a ** 2`"),
        (Dialect::DuckDb, "a * * 2", "cannot parse `a * * 2`"),
        (Dialect::Postgres, "a is 5", "cannot parse `a is 5`"),
        (
            Dialect::DuckDb,
            "0x1F",
            "this kind of literal is not supported",
        ),
        (
            Dialect::Postgres,
            "x'ab'",
            "this kind of literal is not supported",
        ),
        (
            Dialect::Sqlite,
            "x'abc'",
            "this kind of literal is not supported",
        ),
        (
            Dialect::Sqlite,
            "x'zz'",
            "this kind of literal is not supported",
        ),
        (Dialect::Postgres, "a div 2", "cannot parse `a div 2`"),
        (Dialect::DuckDb, "a = 1 ? b : 2", "cannot parse"),
        (
            Dialect::ClickHouse,
            "a = 1 ? b : 2 or 1",
            "cannot parse `a = 1 ? b : 2 or 1`: ClickHouse reads nothing like that behind `a ? b : c`; put \
             parentheses around it",
        ),
        (
            Dialect::ClickHouse,
            "a = 1 ? b : a = 2 ? 1 : 0",
            "cannot parse",
        ),
        (
            Dialect::ClickHouse,
            "a = 1 ? b",
            "cannot parse `a = 1 ? b`: expected the `:` of `a ? b : c`",
        ),
        (
            Dialect::ClickHouse,
            "a + ?",
            "placeholders are not allowed in expressions",
        ),
        (
            Dialect::ClickHouse,
            "t.a:month",
            "`:` has no meaning in an expression",
        ),
        (Dialect::ClickHouse, "a << 1", "cannot parse `a << 1`"),
    ] {
        let said = printed(dialect, written);
        if !said.starts_with(&format!("refused: {reason}")) {
            wrong.push(format!("{dialect}: {written}: {said}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
