//! Tests statements of context sources as evidence.

use std::fmt::Write as _;
use std::sync::Arc;

use ktx_scan::{ScanMode, scan};
use serde_json::{Value, json};

use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};

const SHARD: &str = "semantic-layer/shop/_schema/public.yaml";

/// Neither values nor names decide the links.
fn world() -> World {
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
    World::new(Arc::new(Sqlite::new(Keys::Hidden, &script)))
}

async fn scanned(world: &World) -> Vec<Value> {
    let request = world.request(ScanMode::Relationships);
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    let artifact = world.project.json("relationships.json");
    let edges = artifact["accepted"].as_array().expect("a list").clone();
    let short = |edge: Value| {
        json!([
            edge["id"],
            edge["source"],
            edge["evidence"]["stated"],
            // The last reason would disprove the link.
            edge["reasons"]
                .as_array()
                .and_then(|all| all.iter().rev().nth(1)),
        ])
    };
    edges.into_iter().map(short).collect()
}

fn state(world: &World, column: &str, table: &str, key: &str) {
    let text = world.project.text(SHARD);
    let line = format!("      - name: {column}\n");
    let said = format!(
        "{line}        constraints: {{dbt: {{references: {{table: {table}, column: {key}}}}}}}\n"
    );
    assert_eq!(text.matches(&line).count(), 1, "{text}");
    world.project.put(SHARD, &text.replace(&line, &said));
}

#[tokio::test]
async fn what_a_context_source_tests_is_believed_where_values_allow_it() {
    let world = world();
    assert_eq!(scanned(&world).await, Vec::<Value>::new());
    state(&world, "v", "b", "ID");
    // Values override a statement, and a missing target is not a link.
    state(&world, "z", "b", "id");
    state(&world, "w", "nowhere", "id");
    let link = json!([
        "a:(v)->b:(id)",
        "context_source",
        true,
        "a context source tests that its values are there"
    ]);
    assert_eq!(scanned(&world).await, std::slice::from_ref(&link));
    assert_eq!(scanned(&world).await, [link]);
    let decision = "rejected:\n  - from: {table: a, columns: [v]}\n    to: {table: b, columns: [id]}\naccepted: []\n";
    let decisions = "semantic-layer/shop/_review/relationships.yaml";
    world.project.put(decisions, decision);
    assert_eq!(scanned(&world).await, Vec::<Value>::new());
}
