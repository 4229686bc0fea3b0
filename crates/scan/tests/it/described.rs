//! Tests that committed descriptions are not paid for again.

use std::sync::Arc;

use ktx_scan::{Budget, Reuse, ScanMode, ScanOutcome, ScanSettings, scan};
use serde_json::{Value, json};

use crate::describing::describing;
use crate::memory::World;
use crate::scans::{SHARD, run, world};
use crate::sqlite::Keys;

async fn described_by(world: &World, model: &str) -> ScanOutcome {
    let mut request = world.request(ScanMode::Enriched);
    request.model = model.to_owned();
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    outcome
}

/// Drops the local rows.
fn cloned(world: &mut World) {
    world.stages = Arc::default();
}

/// `table` is the name in base64.
fn artifact(world: &World, table: &str) -> (String, Value) {
    let path = format!("raw-sources/shop/live-database/enrichment/descriptions/_._.{table}.json");
    let value = serde_json::from_str(&world.project.text(&path)).expect("JSON");
    (path, value)
}

const CUSTOMERS: &str = "Y3VzdG9tZXJz";
const LINES: &str = "bGluZXM";

#[tokio::test]
async fn a_clone_asks_nothing_about_tables_that_are_as_they_were() {
    let (mut world, sqlite) = world(Keys::Shown);
    world.runtime = Some(describing());
    assert_eq!(run(&world, ScanMode::Enriched).await.model_calls, 4);
    let shard = world.project.text(SHARD);
    let (_, before) = artifact(&world, CUSTOMERS);
    assert_eq!(
        before["tables"][0]["describedFrom"],
        json!({
            "structureHash": before["tables"][0]["describedFrom"]["structureHash"],
            "estimatedRows": null,
            "samples": "masked",
            "model": "scripted",
            "promptVersion": "describe-2",
        })
    );
    cloned(&mut world);
    let outcome = run(&world, ScanMode::Enriched).await;
    assert_eq!((outcome.model_calls, outcome.changes), (0, Vec::new()));
    sqlite.execute("ALTER TABLE orders ADD COLUMN channel TEXT; CREATE TABLE extra (id INTEGER)");
    cloned(&mut world);
    let outcome = run(&world, ScanMode::Enriched).await;
    assert_eq!(outcome.model_calls, 2);
    assert!(world.project.text(SHARD).contains("The channel."));
    sqlite.execute("ALTER TABLE orders DROP COLUMN channel; DROP TABLE extra");
    cloned(&mut world);
    assert_eq!(run(&world, ScanMode::Enriched).await.model_calls, 1);
    assert_eq!(world.project.text(SHARD), shard);
    let mut request = world.request(ScanMode::Enriched);
    request.reuse = Reuse::Nothing;
    assert_eq!(scan(request).await.expect("a scan").model_calls, 4);
}

#[tokio::test]
async fn another_model_is_asked_and_the_one_before_is_remembered() {
    let (mut world, _) = world(Keys::Shown);
    world.runtime = Some(describing());
    for (model, calls) in [("a", 4), ("b", 4), ("a", 0), ("b", 0)] {
        assert_eq!(described_by(&world, model).await.model_calls, calls);
    }
    cloned(&mut world);
    for (model, calls) in [("b", 0), ("a", 4), ("b", 0)] {
        assert_eq!(described_by(&world, model).await.model_calls, calls);
    }
}

/// Descriptions of older versions have no state.
#[tokio::test]
async fn nothing_is_taken_for_unchanged_without_proof() {
    let (mut world, _) = world(Keys::Shown);
    world.runtime = Some(describing());
    run(&world, ScanMode::Enriched).await;
    let (path, mut value) = artifact(&world, CUSTOMERS);
    let table = value["tables"][0].as_object_mut().expect("a table");
    table.remove("describedFrom");
    world.project.put(&path, &value.to_string());
    let (other, mut value) = artifact(&world, LINES);
    value["tables"][0]["describedFrom"] = json!({"model": "scripted"});
    world.project.put(&other, &value.to_string());
    cloned(&mut world);
    assert_eq!(run(&world, ScanMode::Enriched).await.model_calls, 2);
    world.project.put(&path, "<<<<<<< ours");
    cloned(&mut world);
    let outcome = run(&world, ScanMode::Enriched).await;
    assert_eq!(outcome.model_calls, 1);
    let said = &outcome.report.warnings[0].message;
    assert!(
        said.starts_with(&format!("could not read `{path}` of the last scan, its")),
        "{said}"
    );
}

#[tokio::test]
async fn only_what_is_missing_is_asked_for() {
    let (mut world, _) = world(Keys::Shown);
    let runtime = describing();
    world.runtime = Some(runtime.clone());
    run(&world, ScanMode::Enriched).await;
    let (path, mut value) = artifact(&world, CUSTOMERS);
    let columns = &mut value["tables"][0]["columns"];
    columns.as_array_mut().expect("a list").remove(1);
    world.project.put(&path, &value.to_string());
    let mine = world.project.text(SHARD).replace(
        "          ai: The name.\n",
        "          user: Mine.\n          ai: The name.\n",
    );
    world.project.put(SHARD, &mine);
    cloned(&mut world);
    assert_eq!(run(&world, ScanMode::Enriched).await.model_calls, 1);
    let prompts = runtime.prompts();
    let last = prompts.last().expect("a prompt");
    assert!(last.contains("each of the 1 columns"), "{last}");
    assert_eq!(world.project.text(SHARD), mine);
}

#[tokio::test]
async fn a_scan_that_stops_forgets_no_description() {
    let (mut world, _) = world(Keys::Shown);
    world.runtime = Some(describing());
    run(&world, ScanMode::Enriched).await;
    let (path, _) = artifact(&world, CUSTOMERS);
    cloned(&mut world);
    let mut request = world.request(ScanMode::Enriched);
    request.settings = ScanSettings {
        budget: Budget {
            statements: Some(1),
            ..Budget::default()
        },
        ..ScanSettings::default()
    };
    let outcome = scan(request).await.expect("a scan");
    assert!(outcome.stopped.is_some());
    assert_eq!(outcome.model_calls, 0);
    let changed: Vec<&str> = outcome
        .changes
        .iter()
        .map(|change| change.path.as_str())
        .collect();
    assert!(!changed.contains(&path.as_str()), "{changed:?}");
}
