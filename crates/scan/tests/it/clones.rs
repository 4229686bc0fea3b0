//! Tests scans with a budget in a clone.

use std::sync::Arc;
use std::time::Duration;

use ktx_scan::{Budget, Reuse, ScanMode, ScanOutcome, scan};
use serde_json::{Value, json};

use crate::memory::World;
use crate::scans::{run, world};
use crate::sqlite::Keys;

const PROFILE: &str = "relationship-profile.json";
const PROFILES: &str = "/enrichment/profiles/";
const LINKS: &str = "/enrichment/relationships/";

async fn bounded(world: &mut World, statements: usize) -> ScanOutcome {
    world.stages = Arc::default();
    let mut request = world.request(ScanMode::Relationships);
    request.settings.relationships.profile_concurrency = 1;
    request.settings.budget.statements = Some(statements);
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    outcome
}

fn changed(outcome: &ScanOutcome, name: &str) -> bool {
    let mut paths = outcome.changes.iter().map(|change| change.path.as_str());
    paths.any(|path| path.contains(name))
}

fn tables(profile: &Value) -> Vec<&str> {
    let tables = profile["tables"].as_array().expect("a list");
    let names = tables.iter().map(|entry| &entry["table"]["name"]);
    names.map(|name| name.as_str().expect("a name")).collect()
}

#[tokio::test]
async fn a_clone_publishes_no_less_than_it_had() {
    let (mut world, _) = world(Keys::Shown);
    let whole = run(&world, ScanMode::Relationships).await;
    for reuse in [Reuse::Unchanged, Reuse::Nothing] {
        world.stages = Arc::default();
        let mut request = world.request(ScanMode::Relationships);
        request.reuse = reuse;
        request.settings.budget = Budget {
            time: Some(Duration::ZERO),
            ..Budget::default()
        };
        let outcome = scan(request).await.expect("a scan");
        let stopped = outcome.stopped.as_ref().expect("a stop");
        assert_eq!((stopped.tables_left, stopped.tables_kept), (4, 4));
        assert!(!changed(&outcome, PROFILES) && !changed(&outcome, LINKS));
        assert_eq!(outcome.report.enrichment, whole.report.enrichment);
        let said = &outcome.report.warnings.last().expect("a warning").message;
        assert!(
            said.contains("0 tables have no samples, 4 keep those of an earlier scan"),
            "{said}"
        );
    }
    assert!(!changed(&bounded(&mut world, 2).await, PROFILES));
}

/// Each clone reads unknown tables first.
#[tokio::test]
async fn clones_get_on_with_what_is_new() {
    let (mut world, sqlite) = world(Keys::Shown);
    run(&world, ScanMode::Relationships).await;
    let before = world.project.json(PROFILE);
    sqlite.execute(
        "CREATE TABLE zones (id INTEGER PRIMARY KEY, area TEXT); INSERT INTO zones VALUES (1, 'north'), (2, 'south');
         CREATE TABLE zoos (id INTEGER PRIMARY KEY); INSERT INTO zoos VALUES (1), (2);
         DROP TABLE returns",
    );
    bounded(&mut world, 1).await;
    let first = world.project.json(PROFILE);
    assert_eq!(tables(&first), ["customers", "lines", "orders", "zones"]);
    let status = "customers.status";
    assert_eq!(
        first["columnsByReference"][status],
        before["columnsByReference"][status]
    );
    assert_eq!(
        first["columns"]["zones.area"]["sampleValues"],
        json!(["north", "south"])
    );
    bounded(&mut world, 1).await;
    let second = world.project.json(PROFILE);
    assert_eq!(
        tables(&second),
        ["customers", "lines", "orders", "zones", "zoos"]
    );
    run(&world, ScanMode::Relationships).await;
    assert_eq!(world.project.json(PROFILE), second);
}

#[tokio::test]
async fn values_of_what_is_gone_are_not_kept() {
    let (mut world, sqlite) = world(Keys::Shown);
    let mut request = world.request(ScanMode::Relationships);
    request.settings.hide_personal_values = ktx_scan::Switch::Off;
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    assert_eq!(
        bounded(&mut world, 0)
            .await
            .stopped
            .expect("a stop")
            .tables_kept,
        0
    );
    assert_eq!(tables(&world.project.json(PROFILE)), Vec::<&str>::new());
    run(&world, ScanMode::Relationships).await;
    sqlite.execute(
        "ALTER TABLE customers DROP COLUMN status; ALTER TABLE customers ADD COLUMN status REAL",
    );
    bounded(&mut world, 0).await;
    let profile = world.project.json(PROFILE);
    assert_eq!(profile["columns"]["customers.status"], Value::Null);
    assert_eq!(
        profile["columns"]["customers.id"]["distinctCount"],
        json!(4)
    );
}

/// Covers KTX 0.12 and an unreadable file.
#[tokio::test]
async fn older_profiles_are_kept_and_broken_ones_told() {
    let (mut world, _) = world(Keys::Shown);
    run(&world, ScanMode::Structural).await;
    let path = "raw-sources/shop/live-database/enrichment/relationship-profile.json";
    let old = json!({
        "connectionId": "shop", "driver": "sqlite", "sqlAvailable": true, "queryCount": 1,
        "tables": [{"table": {"catalog": null, "db": null, "name": "customers"}, "rowCount": 4}],
        "columns": {"customers.id": {
            "table": "customers", "column": "id", "nativeType": "INTEGER", "normalizedType": "integer",
            "rowCount": 4, "nullCount": 0, "distinctCount": 4, "uniquenessRatio": 1, "nullRate": 0,
            "sampleValues": [1, 2], "minTextLength": null, "maxTextLength": null
        }},
        "warnings": []
    });
    world.project.put(path, &old.to_string());
    bounded(&mut world, 0).await;
    let profile = world.project.json(PROFILE);
    assert_eq!(tables(&profile), ["customers"]);
    assert_eq!(
        profile["columnsByReference"]["customers.id"]["sampleValues"],
        json!(["1", "2"])
    );
    let paths = world.project.paths();
    let path = paths.iter().find(|path| path.contains(PROFILES));
    world.project.put(path.expect("a profile"), "<<<<<<< ours");
    let outcome = bounded(&mut world, 0).await;
    let told = outcome.report.warnings.iter();
    let codes: Vec<&str> = told.map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["scan_stopped", "artifact_unreadable"]);
}
