//! Past queries as evidence of links.

use std::fmt::Write as _;
use std::sync::Arc;

use ktx_scan::{PastQuery, ScanMode, ScanOutcome, Switch, scan};
use serde_json::{Value, json};

use crate::faulty::{Faults, Faulty};
use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};

/// Small numbers lie inside each other's keys: neither values nor names tell what refers to what.
fn script() -> String {
    let mut script = String::from(
        "CREATE TABLE a (id INTEGER, v INTEGER); CREATE TABLE b (id INTEGER, w INTEGER); CREATE TABLE c (id INTEGER, z INTEGER);",
    );
    for row in 1..=40 {
        let value = row % 13 + 1;
        let other = 900 + row % 5;
        write!(
            script,
            "INSERT INTO a VALUES ({row}, {value}); INSERT INTO b VALUES ({row}, {value}); INSERT INTO c VALUES ({row}, {other});"
        )
        .expect("a string");
    }
    script
}

fn world(history: Option<&str>) -> (World, Arc<Sqlite>) {
    let sqlite = Arc::new(Sqlite::new(Keys::Hidden, &script()));
    let faults = Faults {
        history: history.map(str::to_owned),
        ..Faults::default()
    };
    (
        World::new(Arc::new(Faulty::new(sqlite.clone(), faults))),
        sqlite,
    )
}

fn accepted(world: &World) -> Vec<Value> {
    let artifact = world.project.json("relationships.json");
    let edges = artifact["accepted"].as_array().expect("a list").clone();
    let short = |edge: Value| {
        json!([
            edge["id"],
            edge["source"],
            edge["evidence"]["joinedInQueries"]
        ])
    };
    edges.into_iter().map(short).collect()
}

async fn scanned(world: &World, queries: &[(&str, u64)]) -> ScanOutcome {
    let mut request = world.request(ScanMode::Relationships);
    request.settings.history.queries = queries
        .iter()
        .map(|(text, runs)| PastQuery {
            text: (*text).to_owned(),
            runs: *runs,
        })
        .collect();
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome.changes);
    outcome
}

#[tokio::test]
async fn joins_that_people_ran_are_believed_where_values_allow_them() {
    let (world, _) = world(None);
    scanned(&world, &[]).await;
    assert_eq!(accepted(&world), Vec::<Value>::new());
    let queries = [
        ("SELECT 1 FROM a JOIN b ON a.v = b.id", 30),
        // What the values refute stays refuted.
        ("SELECT 1 FROM c JOIN b ON c.z = b.id", 500),
    ];
    scanned(&world, &queries).await;
    assert_eq!(
        accepted(&world),
        [json!(["a:(v)->b:(id)", "query_history", 30])]
    );
}

/// The warehouse's own record is read when it is asked for; rare queries of it do not count.
#[tokio::test]
async fn the_record_of_the_warehouse_is_read_when_it_is_switched_on() {
    let (world, sqlite) = world(Some("SELECT text, runs FROM record ORDER BY runs DESC"));
    sqlite.execute(
        "CREATE TABLE record (text TEXT, runs INTEGER);
         INSERT INTO record VALUES ('SELECT 1 FROM a JOIN b ON a.v = b.id', 9), ('SELECT 1 FROM b JOIN c ON b.w = c.id', 2);",
    );
    scanned(&world, &[]).await;
    assert_eq!(accepted(&world), Vec::<Value>::new());
    let mut request = world.request(ScanMode::Relationships);
    request.settings.history.warehouse = Switch::On;
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome.changes);
    assert_eq!(outcome.report.warnings, Vec::new());
    assert_eq!(
        accepted(&world),
        [json!(["a:(v)->b:(id)", "query_history", 9])]
    );
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_a_warning() {
    for (history, message) in [
        (
            None,
            "this connection keeps no record of queries that ktx can read",
        ),
        (
            Some("SELECT text, runs FROM nowhere"),
            "could not read the record of past queries: no such table: nowhere",
        ),
    ] {
        let (world, _) = world(history);
        let mut request = world.request(ScanMode::Relationships);
        request.settings.history.warehouse = Switch::On;
        let outcome = scan(request).await.expect("a scan");
        let told: Vec<(&str, &str)> = outcome
            .report
            .warnings
            .iter()
            .map(|warning| (warning.code.as_str(), warning.message.as_str()))
            .collect();
        assert!(
            told.first()
                .is_some_and(|(code, text)| *code == "query_history_unavailable"
                    && text.starts_with(message)),
            "{told:?}"
        );
    }
}
