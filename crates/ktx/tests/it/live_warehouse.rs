//! Real servers with failures midway.

mod ends;
mod groups;
mod numbers;
mod odd_names;
mod past_queries;
mod proxy;
mod schemas;
pub(crate) mod server;
mod silence;
mod sockets;
mod zones;

use std::process::Stdio;

use ktx_test_support::sandbox::{RunOutput, Sandbox};

use crate::support::{compare, project, run, write};
use proxy::Proxy;
use server::{MariaDb, Postgres, Server};

/// `fields` are lines below the driver.
pub(crate) fn warehouse<S: Server>(server: &S, port: u16, fields: &str) -> Sandbox {
    let mut sandbox = project();
    let login = server.login();
    sandbox.set("KTX_IT_PASSWORD", login.password);
    let (driver, user) = (S::DRIVER, login.user);
    let config = format!(
        "connections:\n  warehouse:\n    driver: {driver}\n    host: 127.0.0.1\n    port: {port}\n    \
         username: {user}\n    password: env:KTX_IT_PASSWORD\n{fields}"
    );
    write(&sandbox, "ktx.yaml", &config);
    sandbox
}

fn a_cut_connection<S: Server>(name: &str, expected: &str) {
    let Some(server) = S::new(name) else { return };
    server.execute(S::MANY_ROWS);
    let proxy = Proxy::cutting(server.port(), 400_000);
    let fields = format!("    database: {name}\n");
    let sandbox = warehouse(&server, proxy.port(), &fields);
    let first = run(&sandbox, "sql --max-rows 10 'select line from pages'");
    assert_eq!(first.code, Some(0), "{first}");
    assert_eq!(first.stdout.lines().count(), 11);
    let line = "sql --max-rows 10000 'select line from pages'";
    let RunOutput {
        code,
        stdout,
        stderr,
    } = run(&sandbox, line);
    let stderr = stderr.replace(&proxy.port().to_string(), "[PORT]");
    let cut = RunOutput {
        code,
        stdout,
        stderr,
    };
    compare(line, &cut, expected);
}

#[test]
fn a_connection_to_postgres_that_is_cut_gives_one_error() {
    a_cut_connection::<Postgres>(
        "ktx_it_cut",
        r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the connection to 127.0.0.1:[PORT] broke: the server closed the connection

hint: run the command again
",
    );
}

#[test]
fn a_connection_to_mariadb_that_is_cut_gives_one_error() {
    a_cut_connection::<MariaDb>(
        "ktx_it_cut",
        r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the connection to 127.0.0.1:[PORT] broke: the server closed the connection

hint: run the command again
",
    );
}

fn an_interrupt<S: Server>(name: &str) {
    let Some(server) = S::new(name) else { return };
    server.execute(S::NUMBERS);
    let fields = format!("    database: {name}\n");
    let sandbox = warehouse(&server, server.port(), &fields);
    let child = sandbox
        .command(["sql", "--timeout", "600", ENDLESS])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.until(S::AT_WORK, 1);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let printed = RunOutput {
        code: output.status.code(),
        stdout: sandbox.filter(&output.stdout),
        stderr: sandbox.filter(&output.stderr),
    };
    compare!("sql", &printed, @r"
exit 130
--- stderr
Project: [SANDBOX]/work
error: cancelled
");
    server.until(S::AT_WORK, 0);
}

/// 10^15 rows, counted one by one.
const ENDLESS: &str = "select count(*) as marked from numbers a, numbers b, numbers c";

#[test]
fn an_interrupt_ends_the_statement_on_postgres() {
    an_interrupt::<Postgres>("ktx_it_interrupt");
}

#[test]
fn an_interrupt_ends_the_statement_on_mariadb() {
    an_interrupt::<MariaDb>("ktx_it_interrupt");
}

/// The server ignores a cancel request between two messages of a statement.
#[test]
fn an_interrupt_before_the_statement_starts_ends_it_all_the_same() {
    let Some(server) = Postgres::new("ktx_it_early") else {
        return;
    };
    server.execute(Postgres::NUMBERS);
    let (proxy, is_held) = Proxy::holding(server.port(), "marked");
    let sandbox = warehouse(&server, proxy.port(), "    database: ktx_it_early\n");
    let child = sandbox
        .command(["sql", "--timeout", "600", ENDLESS])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    is_held.recv().unwrap();
    interrupt(&child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    server.until(Postgres::AT_WORK, 0);
}

fn interrupt(child: &std::process::Child) {
    let signalled = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signalled.unwrap().success());
}

fn a_time_cap<S: Server>(name: &str, expected: &str) {
    let Some(server) = S::new(name) else { return };
    server.execute(S::NUMBERS);
    let fields = format!("    database: {name}\n");
    let sandbox = warehouse(&server, server.port(), &fields);
    let line = format!("sql --timeout 1 '{ENDLESS}'");
    compare(&line, &run(&sandbox, &line), expected);
    server.until(S::AT_WORK, 0);
}

#[test]
fn a_time_cap_ends_the_statement_on_postgres() {
    a_time_cap::<Postgres>(
        "ktx_it_cap",
        r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the statement ran longer than its limit of 1 s

hint: narrow the statement with filters, or raise the time limit
",
    );
}

#[test]
fn a_time_cap_ends_the_statement_on_mariadb() {
    a_time_cap::<MariaDb>(
        "ktx_it_cap",
        r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the statement ran longer than its limit of 1 s

hint: narrow the statement with filters, or raise the time limit
",
    );
}

const TWO_TABLES: &str = "CREATE TABLE kept (id int PRIMARY KEY, name text NOT NULL);
    INSERT INTO kept VALUES (1, 'a'), (2, 'b');
    CREATE TABLE gone (id int PRIMARY KEY); INSERT INTO gone VALUES (1);";

/// A lock delays the sample until the table is dropped.
#[test]
fn a_table_that_goes_away_during_a_scan_is_told() {
    let Some(server) = Postgres::new("ktx_it_gone") else {
        return;
    };
    server.execute(TWO_TABLES);
    server.execute("BEGIN; LOCK TABLE gone IN ACCESS EXCLUSIVE MODE");
    let fields = "    database: ktx_it_gone\n";
    let sandbox = warehouse(&server, server.port(), fields);
    let child = sandbox
        .command(["scan"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.until(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'gone'::regclass",
        1,
    );
    server.execute("DROP TABLE gone; COMMIT");
    let output = child.wait_with_output().unwrap();
    let printed = RunOutput {
        code: output.status.code(),
        stdout: sandbox.filter(&output.stdout),
        stderr: sandbox.filter(&output.stderr),
    };
    compare!("scan", &printed, @r#"
exit 0
warehouse: 2 added, 0 modified, 0 deleted, 0 unchanged tables
  schemas: public (2 tables)
  joins: 0 accepted, 0 to review
  warning: could not read a sample of `public.gone`: relation "public.gone" does not exist (at character 18)
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 2 tables, 3 columns
warehouse · profile (2)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
"#);
    compare!("scan", &run(&sandbox, "scan"), @r"
    exit 0
    warehouse: 0 added, 0 modified, 1 deleted, 1 unchanged tables
      schemas: public (1 table)
      1 table keeps the values of an earlier scan; `ktx scan --full` reads all tables
      joins: 0 accepted, 0 to review
      commit: [COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 1 table, 2 columns
    warehouse · profile (1)
    warehouse · relationships
    warehouse · 0 joins, 0 to review
    warehouse · artifacts
    ");
}

#[test]
fn a_schema_of_postgres_without_a_grant_is_told_with_the_grant() {
    let Some(server) = Postgres::new("ktx_it_grants") else {
        return;
    };
    server.execute(
        "DROP ROLE IF EXISTS ktx_front_reader; CREATE ROLE ktx_front_reader LOGIN PASSWORD 'reader-secret';
         CREATE SCHEMA open; CREATE TABLE open.seen (id int PRIMARY KEY); INSERT INTO open.seen VALUES (1);
         CREATE TABLE open.hidden (id int PRIMARY KEY);
         CREATE SCHEMA closed; CREATE TABLE closed.secret (id int PRIMARY KEY);
         GRANT USAGE ON SCHEMA open TO ktx_front_reader; GRANT SELECT ON open.seen TO ktx_front_reader",
    );
    let fields = "    database: ktx_it_grants\n    schemas: [open, closed]\n";
    let mut sandbox = warehouse(&server, server.port(), fields);
    let config = sandbox.read("ktx.yaml").unwrap();
    let config = config.replace(&server.login().user, "ktx_front_reader");
    write(&sandbox, "ktx.yaml", &config);
    sandbox.set("KTX_IT_PASSWORD", "reader-secret");
    compare!("scan", &run(&sandbox, "scan"), @r#"
exit 0
warehouse: 1 added, 0 modified, 0 deleted, 0 unchanged tables
  schemas: open (1 table)
  left out: closed (1 table, not granted to the login), of open 1 not granted to the login
  joins: 0 accepted, 0 to review
  warning: the login may not use the schema `closed`; run `GRANT USAGE ON SCHEMA "closed" TO "ktx_front_reader"`
  warning: the login may not read `open.hidden`; run `GRANT SELECT ON "open"."hidden" TO "ktx_front_reader"`
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 1 table, 1 column
warehouse · profile (1)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
"#);
}

#[test]
fn a_schema_of_mariadb_without_a_grant_is_told_with_the_grant() {
    let Some(server) = MariaDb::new("ktx_it_open") else {
        return;
    };
    server.execute(
        "DROP DATABASE IF EXISTS ktx_it_closed; CREATE DATABASE ktx_it_closed;
         CREATE TABLE ktx_it_closed.secret (id int PRIMARY KEY);
         CREATE TABLE seen (id int PRIMARY KEY); INSERT INTO seen VALUES (1);
         DROP USER IF EXISTS ktx_front_reader@localhost, ktx_front_reader@'%';
         CREATE USER ktx_front_reader@localhost IDENTIFIED BY 'reader-secret',
           ktx_front_reader@'%' IDENTIFIED BY 'reader-secret';
         GRANT SELECT ON ktx_it_open.* TO ktx_front_reader@localhost, ktx_front_reader@'%'",
    );
    let fields = "    schemas: [ktx_it_open, ktx_it_closed]\n";
    let mut sandbox = warehouse(&server, server.port(), fields);
    let config = sandbox.read("ktx.yaml").unwrap();
    let user = format!("username: {}", server.login().user);
    let config = config.replace(&user, "username: ktx_front_reader");
    write(&sandbox, "ktx.yaml", &config);
    sandbox.set("KTX_IT_PASSWORD", "reader-secret");
    compare!("scan", &run(&sandbox, "scan"), @r"
exit 0
warehouse: 1 added, 0 modified, 0 deleted, 0 unchanged tables
  joins: 0 accepted, 0 to review
  warning: the schema `ktx_it_closed` does not exist or the login has no right in it; for the right run `GRANT SELECT, SHOW VIEW ON `ktx_it_closed`.* TO 'ktx_front_reader'`
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 1 table, 1 column
warehouse · profile (1)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
");
}

#[test]
fn a_view_that_is_not_populated_is_not_checked() {
    let Some(server) = Postgres::new("ktx_it_unpopulated") else {
        return;
    };
    server.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, amount int); INSERT INTO orders VALUES (1, 10);
         CREATE MATERIALIZED VIEW totals AS SELECT id, amount FROM orders WITH NO DATA",
    );
    let fields = "    database: ktx_it_unpopulated\n";
    let sandbox = warehouse(&server, server.port(), fields);
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    let validated = run(&sandbox, "sl validate --live");
    assert_eq!(validated.code, Some(0), "{validated}");
    let told: Vec<&str> = validated
        .stderr
        .lines()
        .filter(|line| line.starts_with("not checked: "))
        .collect();
    assert_eq!(
        told,
        [
            "not checked: warehouse/totals: grain: materialized view \"totals\" has not been populated"
        ]
    );
    assert!(
        validated.stdout.contains("; 1 not checked\n"),
        "{validated}"
    );
    server.execute("REFRESH MATERIALIZED VIEW totals");
    let validated = run(&sandbox, "sl validate --live");
    assert_eq!(validated.code, Some(0), "{validated}");
    assert!(!validated.stderr.contains("not checked"), "{validated}");
}
