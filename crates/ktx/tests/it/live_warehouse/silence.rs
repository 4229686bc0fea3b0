//! Open but silent connections, as behind some firewalls.

use ktx_test_support::sandbox::RunOutput;

use super::proxy::Proxy;
use super::server::{MariaDb, Postgres, Server};
use super::warehouse;
use crate::support::run;

/// The error comes within the statement's limit.
fn a_silent_connection<S: Server>(name: &str) {
    let Some(server) = S::new(name) else { return };
    let proxy = Proxy::silencing(server.port(), "marked");
    let fields = format!("    database: {name}\n");
    let sandbox = warehouse(&server, proxy.port(), &fields);
    let first = run(&sandbox, "sql 'select 1 as one'");
    assert_eq!(first.code, Some(0), "{first}");
    let line = "sql --timeout 1 'select 2 as marked'";
    let RunOutput {
        code,
        stdout,
        stderr,
    } = run(&sandbox, line);
    let stderr = stderr.replace(&proxy.port().to_string(), "[PORT]");
    let stderr = (1..60).fold(stderr, |stderr, seconds| {
        stderr.replace(&format!("after {seconds} s"), "after [SECONDS] s")
    });
    let silent = RunOutput {
        code,
        stdout,
        stderr,
    };
    compare!(line, &silent, @"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the connection to 127.0.0.1:[PORT] is silent: no answer to `SELECT 2 AS marked LIMIT 1001` after [SECONDS] s, nor to the cancel request

hint: run the command again; if it happens again, check the proxies and firewalls on the way to the server
");
}

#[test]
fn a_silent_connection_to_postgres_ends_with_the_statement_that_waited() {
    a_silent_connection::<Postgres>("ktx_it_silent");
}

#[test]
fn a_silent_connection_to_mariadb_ends_with_the_statement_that_waited() {
    a_silent_connection::<MariaDb>("ktx_it_silent");
}
