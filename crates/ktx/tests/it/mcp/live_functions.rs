//! User functions on real servers, allowed by catalog or `allowed_functions`.

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use super::client::Client;
use crate::live_warehouse::server::{Login, MariaDb, Postgres, Server as _};
use crate::live_warehouse::warehouse;
use crate::support::{check, project, run, write};

const FUNCTIONS: &str = "
CREATE SCHEMA shop;
CREATE TABLE log (n int);
INSERT INTO log VALUES (1), (2);
CREATE FUNCTION tax(n numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT n * 0.19';
CREATE FUNCTION tax(n int) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT n * 0.19';
CREATE FUNCTION shop.logged() RETURNS bigint LANGUAGE plpgsql STABLE
  AS 'BEGIN RETURN (SELECT count(*) FROM public.log); END';
CREATE FUNCTION days(n int) RETURNS SETOF int LANGUAGE sql IMMUTABLE AS 'SELECT generate_series(1, n)';
CREATE FUNCTION note(n int) RETURNS int LANGUAGE plpgsql
  AS 'BEGIN INSERT INTO public.log VALUES (n); RETURN n; END';
CREATE FUNCTION mislabeled() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN public.note(7); END';
CREATE FUNCTION owned() RETURNS int LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT 1';
CREATE FUNCTION mixed(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT n';
CREATE FUNCTION mixed(n text) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0');
";

fn refused(sandbox: &Sandbox, sql: &str, reason: &str, hint: &str) {
    check(
        sandbox,
        &format!("sql '{sql}'"),
        &format!(
            "
exit 6
--- stderr
Project: [SANDBOX]/work
error: {reason}

hint: {hint}
"
        ),
    );
}

fn unknown(sandbox: &Sandbox, sql: &str, name: &str, because: &str) {
    refused(
        sandbox,
        sql,
        &format!("the function `{name}` is not known to only read{because}"),
        &format!(
            "if it only reads, allow it in ktx.yaml: `allowed_functions: [{name}]` in the connection"
        ),
    );
}

#[test]
fn postgres_says_which_functions_only_read() {
    let Some(server) = Postgres::new("ktx_it_functions") else {
        return;
    };
    server.execute(FUNCTIONS);
    let fields = "    database: ktx_it_functions\n";
    let sandbox = warehouse(&server, server.port(), fields);
    check!(&sandbox, "sql 'select tax(100), shop.logged(), (select count(*) from days(3)) as days'", @"
exit 0
tax\tlogged\tdays
19.00\t2\t3
--- stderr
Project: [SANDBOX]/work
");
    unknown(
        &sandbox,
        "select note(1)",
        "note",
        ": `note(integer)` is VOLATILE",
    );
    unknown(
        &sandbox,
        "select owned()",
        "owned",
        ": `owned()` is SECURITY DEFINER and runs with the rights of its owner",
    );
    // Argument types decide the overload.
    unknown(
        &sandbox,
        "select mixed(1)",
        "mixed",
        ": `mixed(text)` is VOLATILE",
    );
    unknown(
        &sandbox,
        "select total(n) from log",
        "total",
        ": `total(integer)` is an aggregate, whose volatility PostgreSQL does not record",
    );
    refused(
        &sandbox,
        "select logged()",
        "the warehouse shows no function `logged` to this login",
        "correct the name, or write its schema before it",
    );
    for name in ["pg_sleep", "pg_catalog.pg_sleep"] {
        refused(
            &sandbox,
            &format!("select {name}(1)"),
            &format!("the function `{name}` does more than read, and no setting allows it"),
            "send one query that only reads",
        );
    }
    // The session prevents writes despite a wrong label.
    check!(&sandbox, "sql 'select mislabeled()'", @"
exit 4
--- stderr
Project: [SANDBOX]/work
error: cannot execute INSERT in a read-only transaction

hint: sessions of ktx are read-only
");
    assert_eq!(server.count("SELECT count(*) FROM log"), 2);

    let mut client = Client::start(&sandbox);
    client.initialize();
    let sql = |sql: &str| json!({ "connectionId": "warehouse", "sql": sql });
    let answer = client.call("sql_execution", sql("select tax(100) as tax"));
    assert_eq!(answer["rows"], json!([["19.00"]]), "{answer}");
    assert_eq!(
        client.call("sql_execution", sql("select note(1)")),
        json!({
            "isError": true,
            "text": "function_not_allowed: the function `note` is not known to only read: `note(integer)` is VOLATILE\n\
                     hint: if it only reads, allow it in ktx.yaml: `allowed_functions: [note]` in the connection",
        })
    );
}

#[test]
fn a_check_asks_no_server_about_a_function() {
    let Some(server) = Postgres::new("ktx_it_function_check") else {
        return;
    };
    server.execute(FUNCTIONS);
    let fields = "    database: ktx_it_function_check\n";
    let sandbox = warehouse(&server, server.port(), fields);
    let line = "sql --check 'select tax(1)'";
    check!(&sandbox, line, @"
exit 6
refused (function_not_allowed): the function `tax` is not known to only read; `--check` asks no warehouse about it
hint: if it only reads, allow it in ktx.yaml: `allowed_functions: [tax]` in the connection
--- stderr
Project: [SANDBOX]/work
");
    let config = sandbox.read("ktx.yaml").unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        &format!("{config}    allowed_functions: [tax, note, pg_sleep]\n"),
    );
    check!(&sandbox, line, @"
exit 0
allowed: SELECT tax(1)
--- stderr
Project: [SANDBOX]/work
");
    refused(
        &sandbox,
        "select pg_sleep(1)",
        "the function `pg_sleep` does more than read, and no setting allows it",
        "send one query that only reads",
    );
    // The session prevents writes despite the list.
    check!(&sandbox, "sql 'select note(1)'", @"
exit 4
--- stderr
Project: [SANDBOX]/work
error: cannot execute INSERT in a read-only transaction

hint: sessions of ktx are read-only
");
}

/// MariaDB does not enforce declarations.
#[test]
fn a_function_of_mariadb_is_allowed_by_the_list() {
    let Some(server) = MariaDb::new("ktx_it_functions") else {
        return;
    };
    server.execute(
        "CREATE FUNCTION tax(n DECIMAL(10, 2)) RETURNS DECIMAL(10, 2) DETERMINISTIC NO SQL RETURN n * 0.19",
    );
    let fields = "    database: ktx_it_functions\n";
    let sandbox = warehouse(&server, server.port(), fields);
    unknown(&sandbox, "select tax(100)", "tax", "");
    let config = sandbox.read("ktx.yaml").unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        &format!("{config}    allowed_functions: [tax]\n"),
    );
    let printed = run(&sandbox, "sql 'select tax(100) as tax'");
    assert_eq!(printed.stdout, "tax\n19.00\n", "{printed}");
}

#[test]
fn a_mariadb_server_reads_its_own_dialect_under_both_drivers() {
    let Some(server) = MariaDb::new("ktx_it_dialect") else {
        return;
    };
    let fields = "    database: ktx_it_dialect\n";
    let sandbox = warehouse(&server, server.port(), fields);
    let config = sandbox.read("ktx.yaml").unwrap();
    // MySQL rejects this order; without a server, the driver decides.
    let sql = "select seq % 2 as odd, count(*) as n from seq_1_to_5 group by odd desc";
    let verdict = |driver: &str| {
        let named = config.replace("driver: mysql", &format!("driver: {driver}"));
        write(&sandbox, "ktx.yaml", &named);
        let ran = run(&sandbox, &format!("sql '{sql}'"));
        assert_eq!(ran.stdout, "odd\tn\n1\t3\n0\t2\n", "{driver}: {ran}");
        let tested = run(&sandbox, "connection test warehouse");
        assert_eq!(tested.code, Some(0), "{driver}: {tested}");
        run(&sandbox, &format!("sql --check '{sql}'")).code
    };
    assert_eq!(verdict("mysql"), Some(6));
    assert_eq!(verdict("mariadb"), Some(0));
}

#[test]
fn setup_adds_a_mariadb_server_by_its_address() {
    let Some(server) = MariaDb::new("ktx_it_dialect_setup") else {
        return;
    };
    let sandbox = project();
    let Login { user, password } = server.login();
    let port = server.port();
    let url = format!("mariadb://{user}:{password}@127.0.0.1:{port}/ktx_it_dialect_setup");
    let line = format!("setup --skip-llm --skip-agents --database mariadb --database-url {url}");
    let added = run(&sandbox, &line);
    assert_eq!(added.code, Some(0), "{added}");
    let config = sandbox.read("ktx.yaml").unwrap();
    assert_eq!(config.matches("driver: mariadb\n").count(), 1, "{config}");
    let printed = run(&sandbox, "sql 'select seq from seq_1_to_2 order by seq'");
    assert_eq!(printed.stdout, "seq\n1\n2\n", "{printed}");
}
