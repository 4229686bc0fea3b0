//! `ktx sql`.

use crate::support::{shop, write};

/// ktx's copy of SQLite has this compile option.
#[test]
fn sqlite_has_mathematical_functions_in_every_build() {
    check!(&shop(), "sql 'select sqrt(16) as root, ln(exp(2)) as logarithm, power(2, 10) as power, floor(2.5) as floor'", @r"
exit 0
root	logarithm	power	floor
4	2	1024	2
--- stderr
Project: [SANDBOX]/work
");
}

#[test]
fn rows_are_printed_in_every_format() {
    let sandbox = shop();
    check!(&sandbox, "sql 'select id, name from regions order by id'", @r"
exit 0
id	name
1	North
2	South
3	Islands
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql --output pretty 'select id, name from regions order by id'", @r"
exit 0
id  name
1   North
2   South
3   Islands
3 rows
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql --output table 'select 1 as one'", @r"
exit 0
one
1
1 row
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql --output tsv 'select 1 as one, null as none'", @r"
exit 0
one	none
1	
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql --output csv 'select name, name || char(44) as quoted, null as none from regions where id < 3'", @r#"
exit 0
name,quoted,none
North,"North,",
South,"South,",
--- stderr
Project: [SANDBOX]/work
"#);
    check!(&sandbox, "sql --json 'select id, name, null as none from regions where id = 3'", @r#"
exit 0
{
  "connectionId": "warehouse",
  "headers": [
    "id",
    "name",
    "none"
  ],
  "rowCount": 1,
  "rows": [
    [
      3,
      "Islands",
      null
    ]
  ],
  "truncated": false
}
"#);
    check!(&sandbox, "sql --json select 1.5 as x, 2 as y", @r#"
exit 0
{
  "connectionId": "warehouse",
  "headers": [
    "x",
    "y"
  ],
  "rowCount": 1,
  "rows": [
    [
      1.5,
      2
    ]
  ],
  "truncated": false
}
"#);
    check!(&sandbox, "sql --output plain 'select 1 as one where 1 = 0'", @r"
exit 0
one
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql --output pretty 'select 1 as one where 1 = 0'", @r"
exit 0
one
0 rows
--- stderr
Project: [SANDBOX]/work
");
}

#[test]
fn a_truncated_answer_says_so() {
    let sandbox = shop();
    check!(&sandbox, "sql --max-rows 2 'select id from regions order by id'", @r"
exit 0
id
1
2
--- stderr
Project: [SANDBOX]/work
only the first 2 rows; there are more (raise --max-rows)
");
    check!(&sandbox, "sql --max-rows 3 'select id from regions order by id'", @r"
exit 0
id
1
2
3
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql --max-rows 1 --json 'select id from regions order by id'", @r#"
exit 0
{
  "connectionId": "warehouse",
  "headers": [
    "id"
  ],
  "headerTypes": [
    "INTEGER"
  ],
  "rowCount": 1,
  "rows": [
    [
      1
    ]
  ],
  "truncated": true
}
"#);
}

#[test]
fn a_statement_that_could_write_is_refused() {
    let sandbox = shop();
    check!(&sandbox, "sql 'delete from regions'", @r"
exit 6
--- stderr
Project: [SANDBOX]/work
error: only queries are allowed

hint: send one query that only reads
");
    check!(&sandbox, "sql --json 'drop table regions'", @r#"
exit 6
{
  "error": {
    "code": "not_a_query",
    "message": "only queries are allowed",
    "hint": "send one query that only reads"
  }
}
"#);
    check!(&sandbox, "sql 'select 1; select 2'", @r"
exit 6
--- stderr
Project: [SANDBOX]/work
error: exactly one statement is allowed

hint: send one query that only reads
");
    check!(&sandbox, "sql 'select load_extension(1)'", @r"
exit 6
--- stderr
Project: [SANDBOX]/work
error: the function `load_extension` does more than read, and no setting allows it

hint: send one query that only reads
");
    check!(&sandbox, "sql 'selec 1'", @r"
exit 6
--- stderr
Project: [SANDBOX]/work
error: sql parser error: Expected: an SQL statement, found: selec at Line: 1, Column: 1

hint: correct the statement or rewrite it; ktx sends only what it can parse
");
    check!(&sandbox, "sql 'select count(*) as n from regions'", @r"
exit 0
n
3
--- stderr
Project: [SANDBOX]/work
");
}

#[test]
fn a_statement_that_fails_says_what_the_warehouse_said() {
    let sandbox = shop();
    check!(&sandbox, "sql 'select * from nope'", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: no such table: nope

hint: correct the statement; `ktx sl` shows what has been scanned
");
    check!(&sandbox, "sql --json 'select * from nope'", @r#"
exit 4
{
  "error": {
    "code": "query_failed",
    "message": "no such table: nope",
    "hint": "correct the statement; `ktx sl` shows what has been scanned"
  }
}
"#);
    check!(&sandbox, "sql", @r#"
exit 2
--- stderr
error: no statement

hint: give one statement, such as `ktx sql "select 1"`
"#);
    check!(&sandbox, "sql -c other 'select 1'", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: there is no connection `other`

hint: use one of `warehouse`
");
}

#[test]
fn a_statement_may_begin_with_a_comment() {
    let sandbox = shop();
    for arguments in [
        &["sql", "-- how many\nselect count(*) as n from regions"][..],
        &[
            "sql",
            "--how many\nselect count(*) as n from regions",
            "--output",
            "plain",
        ],
        &[
            "sql",
            "--output",
            "plain",
            "--",
            "-- how many\nselect count(*) as n from regions",
        ],
    ] {
        compare!("sql with a comment", &sandbox.run_arguments(arguments).unwrap(), @r"
exit 0
n
3
--- stderr
Project: [SANDBOX]/work
");
    }
    compare!(
                "sql --check with a comment",
                &sandbox
                    .run_arguments(&[
                        "sql",
                        "--check",
                        "--dialect",
                        "postgres",
                        "-- note\nselect 1",
                    ])
                    .unwrap(),
                @r"
exit 0
allowed: SELECT 1
");
    check!(&sandbox, "sql --max-row 1 'select 1'", @r"
exit 2
--- stderr
error: unexpected argument '--max-row' found

  tip: a similar argument exists: '--max-rows'

Usage: ktx sql --max-rows <N> [SQL]...

For more information, try '--help'.
");
}

#[test]
fn a_statement_is_read_from_stdin() {
    let sandbox = shop();
    let piped = |arguments: &[&str], input: &str| sandbox.run_with_input(arguments, input).unwrap();
    compare!(
                "sql -",
                &piped(
                    &["sql", "-"],
                    "-- how many\nselect count(*) as n\nfrom regions;\n",
                ),
                @r"
exit 0
n
3
--- stderr
Project: [SANDBOX]/work
");
    compare!(
                "sql --check --dialect postgres -",
                &piped(
                    &["sql", "--check", "--dialect", "postgres", "-"],
                    "delete from regions\n",
                ),
                @r"
exit 6
refused (not_a_query): only queries are allowed
");
    compare!("sql -", &piped(&["sql", "-"], " \n"), @r"
exit 2
--- stderr
error: no statement on stdin

hint: pipe one, such as `echo 'select 1' | ktx sql -`
");
}

#[test]
fn check_judges_without_a_warehouse() {
    let sandbox = shop();
    check!(&sandbox, "sql --check 'select name from regions'", @r"
exit 0
allowed: SELECT name FROM regions
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql --check 'update regions set name = 1'", @r"
exit 6
refused (not_a_query): only queries are allowed
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql --check --json 'select 1'", @r#"
exit 0
{
  "allowed": true,
  "code": null,
  "reason": null,
  "statement": "SELECT 1"
}
"#);
    check!(&sandbox, "sql --check --json 'update regions set name = 1'", @r#"
exit 6
{
  "allowed": false,
  "code": "not_a_query",
  "reason": "only queries are allowed",
  "statement": null
}
"#);
    check!(&sandbox, "--project-dir /nowhere sql --check --dialect postgres 'select now()'", @r"
exit 0
allowed: SELECT now()
");
    check!(&sandbox, "sql --check --dialect klingon 'select 1'", @r"
exit 2
--- stderr
error: unknown dialect `klingon`

hint: use one of postgres, snowflake, bigquery, clickhouse, mysql, mariadb, tsql, sqlite, duckdb, redshift, databricks, trino
");
    check!(&sandbox, "sql --dialect postgres 'select 1'", @r"
exit 2
--- stderr
error: the following required arguments were not provided:
  --check

Usage: ktx sql --check --dialect <DIALECT> <SQL>...

For more information, try '--help'.
");
}

#[test]
fn check_judges_json_lines_from_stdin() {
    let sandbox = shop();
    let input = concat!(
        r#"{"id":"a","dialect":"postgres","sql":"select 1"}"#,
        "\n\n",
        r#"{"id":"b","dialect":"sqlite","sql":"attach 'x' as y"}"#,
        "\n",
        r#"{"id":"c","dialect":"klingon","sql":"select 1"}"#,
        "\n",
        "not json\n",
    );
    let printed = sandbox.run_with_input(&["sql", "--check"], input).unwrap();
    compare!("sql --check", &printed, @r#"
exit 0
{"id":"a","allowed":true,"code":null,"reason":null,"statement":"SELECT 1"}
{"id":"b","allowed":false,"code":"not_a_query","reason":"only queries are allowed","statement":null}
{"id":"c","allowed":false,"code":"invalid_request","reason":"the dialect `klingon` is not known","statement":null}
{"id":null,"allowed":false,"code":"invalid_request","reason":"expected ident at line 1 column 2","statement":null}
"#);
}

#[test]
fn the_dialect_that_is_given_is_that_of_lines_without_one() {
    let sandbox = shop();
    let input = concat!(
        r#"{"id":"a","sql":"select `x` from t"}"#,
        "\n",
        r#"{"id":"b","dialect":"postgres","sql":"select `x` from t"}"#,
        "\n",
    );
    let printed = sandbox
        .run_with_input(&["sql", "--check", "--dialect", "mysql"], input)
        .unwrap();
    compare!("sql --check --dialect mysql", &printed, @r#"
exit 0
{"id":"a","allowed":true,"code":null,"reason":null,"statement":"SELECT `x` FROM t"}
{"id":"b","allowed":false,"code":"unusual_character","reason":"the character U+0060 is only allowed inside quotes","statement":null}
"#);
    let printed = sandbox.run_with_input(&["sql", "--check"], input).unwrap();
    compare!("sql --check", &printed, @r#"
exit 0
{"id":"a","allowed":false,"code":"invalid_request","reason":"the line has no `dialect`","statement":null}
{"id":"b","allowed":false,"code":"unusual_character","reason":"the character U+0060 is only allowed inside quotes","statement":null}
"#);
    let printed = sandbox
        .run_with_input(&["sql", "--check", "--dialect", "klingon"], input)
        .unwrap();
    compare!("sql --check --dialect klingon", &printed, @r"
exit 2
--- stderr
error: unknown dialect `klingon`

hint: use one of postgres, snowflake, bigquery, clickhouse, mysql, mariadb, tsql, sqlite, duckdb, redshift, databricks, trino
");
}

#[test]
fn several_warehouses_need_a_name() {
    let sandbox = shop();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  warehouse: { driver: sqlite, path: warehouse.db }
  other: { driver: sqlite, path: warehouse.db }
  docs: { driver: notion, auth_token: env:NOTION_TOKEN, root_page_ids: [home] }
",
    );
    check!(&sandbox, "sql 'select 1'", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: 2 warehouses match the request: name one with `--connection-id`

hint: use one of `warehouse`, `other`
");
    check!(&sandbox, "sql -c docs 'select 1'", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `docs` is a context source (`notion`), not a warehouse

hint: use one of `warehouse`, `other`
");
    check!(&sandbox, "sql -c other 'select 1 as one'", @r"
exit 0
one
1
--- stderr
Project: [SANDBOX]/work
");
}
