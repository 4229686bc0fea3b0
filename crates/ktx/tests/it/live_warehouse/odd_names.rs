//! Odd table and column names on every server.

use std::process::Command;

use ktx_test_support::sandbox::Sandbox;
use ktx_test_support::services::{Service, ServiceName, service};

use super::server::{ClickHouse, MariaDb, Postgres, Server as _};
use super::warehouse;
use crate::support::{project, run, write};

/// Valid on every server.
const COLUMNS: [&str; 8] = [
    "a.b",
    "\"quoted\"",
    "semi;colon--",
    "back`tick",
    "it's",
    "[bracket]",
    "select",
    "sixty_letters_sixty_letters_sixty_letters_sixty_letters_sixty",
];

/// Beyond the basic multilingual plane.
const PARTY: &str = "\u{1f389} party";
/// MariaDB allows only the basic multilingual plane.
const SNOWMAN: &str = "\u{2603} man";

fn quoted(name: &str, quote: char) -> String {
    let doubled = name.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}

fn tables(quote: char, sign: &str) -> String {
    let name = |name: &str| quoted(name, quote);
    let columns: Vec<String> = COLUMNS
        .iter()
        .chain([&sign])
        .map(|column| format!("{} int", name(column)))
        .collect();
    let (parent, child) = (name("x.y"), name("od\"d ta`ble"));
    let refers = name("x.y no");
    format!(
        "CREATE TABLE {parent} (id int PRIMARY KEY, {columns}, amount int);
         CREATE TABLE {child} (no int PRIMARY KEY, {refers} int NOT NULL, amount int,
             FOREIGN KEY ({refers}) REFERENCES {parent} (id));
         INSERT INTO {parent} VALUES (101, {ones}, 3), (102, {twos}, 4);
         INSERT INTO {child} VALUES (1, 101, 10), (2, 101, 20), (3, 102, 40);",
        columns = columns.join(", "),
        ones = ["1"; COLUMNS.len() + 1].join(", "),
        twos = ["2"; COLUMNS.len() + 1].join(", "),
    )
}

fn all_answer(sandbox: &Sandbox, shard: &str, (quote, sign): (char, &str), written: [&str; 4]) {
    let scanned = run(sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    assert!(!scanned.stdout.contains("warning"), "{scanned}");
    let path = format!("semantic-layer/warehouse/_schema/{shard}.yaml");
    let text = std::fs::read_to_string(sandbox.work().join(&path)).unwrap();
    let lines = text.lines().map(str::trim_start);
    let found: Vec<&str> = lines
        .filter(|line| line.starts_with("table:") || line.starts_with("'on':"))
        .collect();
    assert_eq!(found, written);
    let asked = |measure: &str, dimension: &str| {
        let printed = sandbox
            .run_arguments(&[
                "sl",
                "query",
                "--execute",
                "--format",
                "csv",
                "--measure",
                measure,
                "--dimension",
                dimension,
            ])
            .unwrap();
        assert_eq!(printed.code, Some(0), "{printed}");
        printed.stdout
    };
    let sum = format!("sum({quote}x.y{quote}.amount)");
    assert_eq!(asked(&sum, "x.y.id"), "id,sum_x_y_amount\n101,3\n102,4\n");
    assert_eq!(
        asked(&sum, &format!("x.y.{sign}")),
        format!("{sign},sum_x_y_amount\n1,3\n2,4\n")
    );
    write(
        sandbox,
        "semantic-layer/warehouse/facts.yaml",
        "name: 'od\"d ta`ble'\nmeasures:\n  - name: total\n    expr: sum(amount)\n",
    );
    assert_eq!(
        asked("od\"d ta`ble.total", "x.y.id"),
        "id,total\n101,30\n102,40\n"
    );
    let listed = run(sandbox, "sl --output plain");
    assert_eq!(listed.code, Some(0), "{listed}");
    assert_eq!(listed.stdout.lines().count(), 2, "{listed}");
    let statement = format!("select sum({quote}a.b{quote}) as s from {quote}x.y{quote}");
    let printed = sandbox
        .run_arguments(&["sql", "--output", "csv", &statement])
        .unwrap();
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(0), "s\n3\n"));
    // A second scan recognizes its files.
    let mut scanned = run(sandbox, "scan");
    // Only some servers have schemas.
    scanned.stdout = scanned.stdout.replace("  schemas: public (2 tables)\n", "");
    compare!("scan", &scanned, @r"
    exit 0
    warehouse: 0 added, 0 modified, 0 deleted, 2 unchanged tables
      2 tables keep the values of an earlier scan; `ktx scan --full` reads all tables
      joins: 1 accepted, 0 to review
      nothing changed
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 2 tables, 14 columns
    ");
}

#[test]
fn odd_names_answer_on_postgres() {
    let Some(server) = Postgres::new("ktx_it_odd") else {
        return;
    };
    server.execute(&tables('"', PARTY));
    let sandbox = warehouse(&server, server.port(), "    database: ktx_it_odd\n");
    let written = [
        "table: 'public.od\"d ta`ble'",
        "'on': '\"od\"\"d ta`ble\".\"x.y no\" = \"x.y\".id'",
        "table: public.\"x.y\"",
        "'on': '\"x.y\".id = \"od\"\"d ta`ble\".\"x.y no\"'",
    ];
    all_answer(&sandbox, "public", ('"', PARTY), written);
}

#[test]
fn odd_names_answer_on_mariadb() {
    let Some(server) = MariaDb::new("ktx_it_odd") else {
        return;
    };
    server.execute(&tables('`', SNOWMAN));
    let sandbox = warehouse(&server, server.port(), "    database: ktx_it_odd\n");
    let written = [
        "table: 'ktx_it_odd.od\"d ta`ble'",
        "'on': '`od\"d ta``ble`.`x.y no` = `x.y`.id'",
        "table: ktx_it_odd.\"x.y\"",
        "'on': '`x.y`.id = `od\"d ta``ble`.`x.y no`'",
    ];
    all_answer(&sandbox, "ktx_it_odd", ('`', SNOWMAN), written);
}

#[test]
fn odd_names_answer_on_sqlite() {
    let sandbox = project();
    let file = sandbox.work().join("warehouse.db");
    rusqlite::Connection::open(file)
        .unwrap()
        .execute_batch(&tables('"', PARTY))
        .unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:\n  warehouse: { driver: sqlite, path: warehouse.db }\n",
    );
    let written = [
        "table: 'od\"d ta`ble'",
        "'on': '\"od\"\"d ta`ble\".\"x.y no\" = \"x.y\".id'",
        "table: '\"x.y\"'",
        "'on': '\"x.y\".id = \"od\"\"d ta`ble\".\"x.y no\"'",
    ];
    all_answer(&sandbox, "public", ('"', PARTY), written);
}

#[test]
fn odd_names_answer_on_duckdb() {
    let Some(sandbox) = duckdb(&tables('"', PARTY)) else {
        return;
    };
    let written = [
        "table: 'main.od\"d ta`ble'",
        "'on': '\"od\"\"d ta`ble\".\"x.y no\" = \"x.y\".id'",
        "table: main.\"x.y\"",
        "'on': '\"x.y\".id = \"od\"\"d ta`ble\".\"x.y no\"'",
    ];
    all_answer(&sandbox, "main", ('"', PARTY), written);
}

pub(super) fn duckdb(statements: &str) -> Option<Sandbox> {
    let (Service::Available(python), Service::Available(library)) =
        (service(ServiceName::Python), service(ServiceName::DuckDb))
    else {
        return None;
    };
    let sandbox = project();
    let made = Command::new(python)
        .args([
            "-c",
            "import duckdb, sys; duckdb.connect('shop.duckdb').execute(sys.argv[1])",
        ])
        .arg(statements)
        .current_dir(sandbox.work())
        .status();
    assert!(made.unwrap().success());
    let config = format!(
        "connections:\n  warehouse: {{ driver: duckdb, path: shop.duckdb, library: '{library}' }}\n"
    );
    write(&sandbox, "ktx.yaml", &config);
    Some(sandbox)
}

/// Longest names with a leading non-ASCII space, and an SQL keyword.
fn far_out() -> Vec<String> {
    let mut names: Vec<String> = COLUMNS.iter().map(|&name| name.to_owned()).collect();
    names.extend([
        "n".repeat(200),
        "\u{a0}x".to_owned(),
        "FROM".to_owned(),
        PARTY.to_owned(),
    ]);
    names
}

fn every_column_answers(sandbox: &Sandbox, names: &[String], quote: char) {
    let scanned = run(sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    assert!(!scanned.stdout.contains("warning"), "{scanned}");
    let answered = |arguments: &[&str]| {
        let printed = sandbox.run_arguments(arguments).unwrap();
        assert_eq!(printed.code, Some(0), "{arguments:?}: {printed}");
        printed.stdout
    };
    for (place, name) in names.iter().enumerate() {
        let value = place + 1;
        let column = quoted(name, quote);
        let statement = format!("select sum({column}) as s from {quote}Order By{quote}");
        let rows = answered(&["sql", "--output", "csv", &statement]);
        assert_eq!(rows, format!("s\n{value}\n"), "{name}");
        let measure = format!("sum({quote}Order By{quote}.{column})");
        // Paths have the same quotes for every warehouse.
        let dimension = format!("{}.{}", quoted("Order By", '"'), quoted(name, '"'));
        let rows = answered(&[
            "sl",
            "query",
            "--execute",
            "--format",
            "csv",
            "--measure",
            &measure,
            "--dimension",
            &dimension,
        ]);
        let last = rows.lines().last().unwrap_or_default();
        assert_eq!(last, format!("{value},{value}"), "{name}: {rows}");
    }
}

/// The row is 1, 2, 3 and so on.
fn one_row(names: &[String], quote: char, (engine, kind): (&str, &str)) -> String {
    let columns: Vec<String> = names
        .iter()
        .map(|name| format!("{} {kind}", quoted(name, quote)))
        .collect();
    let values: Vec<String> = (1..=names.len()).map(|value| value.to_string()).collect();
    let table = quoted("Order By", quote);
    format!(
        "CREATE TABLE {table} ({}){engine};\nINSERT INTO {table} VALUES ({})",
        columns.join(", "),
        values.join(", ")
    )
}

#[test]
fn far_out_names_answer_on_sqlite() {
    let sandbox = project();
    let file = sandbox.work().join("warehouse.db");
    rusqlite::Connection::open(file)
        .unwrap()
        .execute_batch(&one_row(&far_out(), '"', ("", "int")))
        .unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:\n  warehouse: { driver: sqlite, path: warehouse.db }\n",
    );
    every_column_answers(&sandbox, &far_out(), '"');
}

#[test]
fn far_out_names_answer_on_duckdb() {
    let Some(sandbox) = duckdb(&one_row(&far_out(), '"', ("", "int"))) else {
        return;
    };
    every_column_answers(&sandbox, &far_out(), '"');
}

/// At most 63 bytes; case-sensitive.
#[test]
fn far_out_names_answer_on_postgres() {
    let Some(server) = Postgres::new("ktx_it_far") else {
        return;
    };
    let names = with_cases(63);
    server.execute(&one_row(&names, '"', ("", "int")));
    let sandbox = warehouse(&server, server.port(), "    database: ktx_it_far\n");
    every_column_answers(&sandbox, &names, '"');
}

/// At most 64 characters of the basic plane; case-insensitive.
#[test]
fn far_out_names_answer_on_mariadb() {
    let Some(server) = MariaDb::new("ktx_it_far") else {
        return;
    };
    let mut names = far_out();
    names.retain(|name| name.len() < 100 && name != PARTY);
    server.execute(&one_row(&names, '`', ("", "int")));
    let sandbox = warehouse(&server, server.port(), "    database: ktx_it_far\n");
    every_column_answers(&sandbox, &names, '`');
}

#[test]
fn far_out_names_answer_on_clickhouse() {
    let Some(server) = ClickHouse::new("ktx_it_far") else {
        return;
    };
    let mut names = with_cases(200);
    // The test client splits at semicolons.
    names.retain(|name| !name.contains(';'));
    let engine = " ENGINE = MergeTree ORDER BY tuple()";
    for statement in one_row(&names, '`', (engine, "Int32")).split(";\n") {
        server.execute(statement);
    }
    let sandbox = server.project();
    every_column_answers(&sandbox, &names, '`');
}

fn with_cases(length: usize) -> Vec<String> {
    let mut names = far_out();
    for name in &mut names {
        name.truncate(length.max(PARTY.len()));
    }
    names.extend(["total".to_owned(), "Total".to_owned()]);
    names
}

/// Control characters are not printed; an unusable name hides nothing else.
#[test]
fn what_cannot_be_named_is_told() {
    let sandbox = project();
    let file = sandbox.work().join("warehouse.db");
    rusqlite::Connection::open(file)
        .unwrap()
        .execute_batch(
            "CREATE TABLE \"\u{1b}[31mred\" (id INTEGER);
             CREATE TABLE \"\" (id INTEGER);
             CREATE TABLE kept (id INTEGER PRIMARY KEY, \"new\nline\" TEXT, amount INTEGER);
             INSERT INTO kept VALUES (1, 'a', 5);",
        )
        .unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:\n  warehouse: { driver: sqlite, path: warehouse.db }\n",
    );
    compare!("scan", &run(&sandbox, "scan"), @r#"
exit 0
warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
  joins: 0 accepted, 0 to review
  warning: could not read a sample of `\u{1b}[31mred`: the read-only gate refused the statement: the quoted name "\"\u{1b}[31mred\"" is not allowed
  warning: the column `kept.new\nline` was not read: its name holds control characters; make a view with another name for it
  warning: the table `` has no source: no query can name it; make a view of it with another name
  warning: the table `\u{1b}[31mred` has no source: no query can name it; make a view of it with another name
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 3 tables, 5 columns
warehouse · profile (3)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
"#);
    let listed = run(&sandbox, "sl --output plain");
    assert_eq!(
        listed.stdout,
        "warehouse\tkept\tcolumns=2\tmeasures=0\tjoins=0\n"
    );
}
