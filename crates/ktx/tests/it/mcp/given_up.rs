//! Abandoned calls end their statements.

use std::net::Shutdown;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::Client;
use super::jobs::{BigQuery, Job};
use super::served::{Server, Session};
use crate::live_warehouse::server::{MariaDb, Postgres, Server as Warehouse};
use crate::live_warehouse::warehouse;
use crate::support::{project, run, write};

/// 10^15 rows, counted one by one.
const ENDLESS: &str = "select count(*) as marked from numbers a, numbers b, numbers c";

/// Half of a statement's minute: earlier ends are cancellations, not timeouts.
const LONG_BEFORE_ITS_LIMIT: i64 = 30;

fn call(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "sql_execution", "arguments": { "connectionId": "warehouse", "sql": ENDLESS },
    }})
}

fn cancelled(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
}

/// Abandons a call in every way; waits with `begun` and `gone`.
fn in_every_way(sandbox: &Sandbox, begun: &dyn Fn(), gone: &dyn Fn(&str)) {
    let mut client = Client::start(sandbox);
    client.initialize();
    for id in 101..=105 {
        client.send(&call(id));
        begun();
        client.send(&cancelled(id));
        gone("cancelled over stdio");
    }
    client.send(&call(106));
    begun();
    assert_eq!(client.close().0, Some(0));
    gone("the end of standard input");

    let server = Server::start(sandbox, "");
    let session = server.session();
    // Ids are used once: a late answer would end a later call.
    let give_up =
        |session: &Session<'_>, id: u64, how: &str, act: &dyn Fn(&std::net::TcpStream)| {
            let stream = server.send(&session.id, &call(id));
            begun();
            act(&stream);
            gone(how);
        };
    let header = [("Mcp-Session-Id", session.id.as_str())];
    for id in 201..=205 {
        give_up(&session, id, "cancelled over HTTP", &|_| {
            assert_eq!(server.post(&header, &cancelled(id)).0, 202);
        });
    }
    give_up(&session, 206, "a dropped stream", &|stream| {
        stream.shutdown(Shutdown::Both).expect("it is open");
    });
    give_up(&session, 207, "a deleted session", &|_| {
        assert_eq!(server.ask("DELETE /mcp", &header, "").0, 202);
    });
    let other = server.session();
    give_up(&other, 208, "a stopped server", &|_| {
        assert_eq!(run(sandbox, "mcp stop").code, Some(0));
    });
}

fn at_a_server<S: Warehouse>(name: &str) {
    let Some(server) = S::new(name) else { return };
    server.execute(S::NUMBERS);
    let fields = format!("    database: {name}\n");
    let sandbox = warehouse(&server, server.port(), &fields);
    in_every_way(&sandbox, &|| server.until(S::AT_WORK, 1), &|how| {
        while server.count(S::AT_WORK) != 0 {
            let age = server.count(S::AGE);
            assert!(age < LONG_BEFORE_ITS_LIMIT, "{how}: {age} s");
        }
    });
}

#[test]
fn a_call_that_is_given_up_ends_its_statement_on_postgres() {
    at_a_server::<Postgres>("ktx_it_given_up");
}

#[test]
fn a_call_that_is_given_up_ends_its_statement_on_mariadb() {
    at_a_server::<MariaDb>("ktx_it_given_up");
}

/// Running jobs are billed.
#[test]
fn a_call_that_is_given_up_ends_its_job_on_bigquery() {
    let server = BigQuery::start();
    let sandbox = project();
    let config = format!(
        "connections:\n  warehouse:\n    driver: bigquery\n    project_id: shop-1\n    \
         dataset_ids: [shop]\n    credentials: none\n    endpoint: {}\n",
        server.address()
    );
    write(&sandbox, "ktx.yaml", &config);
    let at_work = || {
        let jobs = server.jobs();
        jobs.into_iter().filter(|job| *job == Job::AtWork).count()
    };
    let until = |count: usize| {
        while at_work() != count {
            std::thread::yield_now();
        }
    };
    in_every_way(&sandbox, &|| until(1), &|_| until(0));
    assert_eq!(server.jobs(), [Job::Cancelled; 14]);
}
