//! Killed programs and unresponsive servers.

use std::process::Stdio;

use super::server::{Postgres, Server as _};
use super::{ENDLESS, warehouse};
use crate::support::{project, run, write};

/// The server checks for its client.
#[test]
fn a_program_that_is_killed_leaves_no_statement_at_postgres() {
    let Some(server) = Postgres::new("ktx_it_killed") else {
        return;
    };
    server.execute(Postgres::NUMBERS);
    let sandbox = warehouse(&server, server.port(), "    database: ktx_it_killed\n");
    let mut child = sandbox
        .command(["sql", "--timeout", "600", ENDLESS])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.until(Postgres::AT_WORK, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // The statement's limit is ten minutes.
    while server.count(Postgres::AT_WORK) != 0 {
        let age = server.count(Postgres::AGE);
        assert!(age < 120, "{age} s");
    }
}

/// PostgreSQL waits for the client, MySQL's client for the server.
#[test]
fn a_server_of_another_kind_is_told() {
    let Some(server) = Postgres::new("ktx_it_other_kind") else {
        return;
    };
    let sandbox = project();
    let port = server.port();
    let config = format!(
        "connections:\n  warehouse:\n    driver: mysql\n    host: 127.0.0.1\n    port: {port}\n    username: u\n"
    );
    write(&sandbox, "ktx.yaml", &config);
    let mut printed = run(&sandbox, "sql 'select 1'");
    printed.stderr = printed.stderr.replace(&port.to_string(), "[PORT]");
    compare!("sql", &printed, @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: what listens at 127.0.0.1:[PORT] sends no greeting, so it is not a MySQL server

hint: check `driver` and `port`: another kind of server may listen there
");
}

#[test]
fn a_column_without_a_grant_leaves_the_rest_of_its_table() {
    let Some(server) = Postgres::new("ktx_it_columns") else {
        return;
    };
    server.execute(
        "DROP ROLE IF EXISTS ktx_it_some; CREATE ROLE ktx_it_some LOGIN PASSWORD 'some-secret';
         CREATE TABLE people (id int PRIMARY KEY, color text NOT NULL, salary int NOT NULL);
         INSERT INTO people SELECT g, (ARRAY['red', 'green'])[1 + g % 2], g FROM generate_series(1, 40) g;
         GRANT SELECT (id, color) ON people TO ktx_it_some",
    );
    let mut sandbox = warehouse(&server, server.port(), "    database: ktx_it_columns\n");
    let config = sandbox.read("ktx.yaml").unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        &config.replace(&server.login().user, "ktx_it_some"),
    );
    sandbox.set("KTX_IT_PASSWORD", "some-secret");
    compare!("scan", &run(&sandbox, "scan"), @r#"
exit 0
warehouse: 1 added, 0 modified, 0 deleted, 0 unchanged tables
  schemas: public (1 table)
  joins: 0 accepted, 0 to review
  warning: the login may not read `salary` of `public.people`; run `GRANT SELECT ("salary") ON "public"."people" TO "ktx_it_some"`
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 1 table, 2 columns
warehouse · profile (1)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
"#);
    let found = run(&sandbox, "sl search green");
    assert!(found.stdout.contains("people"), "{found}");
}
