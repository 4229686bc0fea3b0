//! Tests that snapshot files keep their places and contain no data about the run.

use std::collections::BTreeSet;
use std::sync::Arc;

use ktx_scan::ScanMode;

use crate::memory::World;
use crate::scans::{SHARD, SHOP, run, world};
use crate::sqlite::{Keys, Sqlite};

const FOLDER: &str = "raw-sources/shop/live-database";

/// Returns the paths that a scan in a clone changes.
async fn changed(base: &World, sql: &str) -> (World, BTreeSet<String>) {
    let sqlite = Sqlite::new(Keys::Shown, &format!("{SHOP}{sql}"));
    let mut clone = World::new(Arc::new(sqlite));
    clone.project = Arc::new(base.project.copy());
    let outcome = run(&clone, ScanMode::Relationships).await;
    let paths = outcome.changes.iter().map(|change| change.path.as_str());
    let paths = paths.map(str::to_owned).collect();
    (clone, paths)
}

/// One table refers to a known one, and a known one to the other.
#[tokio::test]
async fn scans_of_different_new_tables_write_different_files() {
    let (base, _) = world(Keys::Shown);
    run(&base, ScanMode::Relationships).await;
    let visits = "CREATE TABLE visits (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id));
        INSERT INTO visits VALUES (1, 1), (2, 2), (3, 4);";
    let statuses = "CREATE TABLE statuses (status TEXT PRIMARY KEY, rank INTEGER);
        INSERT INTO statuses VALUES ('gold', 1), ('silver', 2), ('basic', 3);";
    let (ada, by_ada) = changed(&base, visits).await;
    let (ben, by_ben) = changed(&base, statuses).await;
    let both: Vec<&String> = by_ada.intersection(&by_ben).collect();
    assert_eq!(both, Vec::<&String>::new());
    let before: BTreeSet<String> = base.project.paths().into_iter().collect();
    assert!(before.is_disjoint(&by_ada), "{by_ada:?}");
    assert!(before.is_disjoint(&by_ben), "{by_ben:?}");
    let own = "semantic-layer/shop/_schema/public+visits.yaml";
    assert!(
        ada.project
            .text(own)
            .contains("'on': visits.customer_id = customers.id"),
        "{}",
        ada.project.text(own)
    );
    let own = "semantic-layer/shop/_schema/public+statuses.yaml";
    assert!(
        ben.project
            .text(own)
            .contains("'on': statuses.status = customers.status"),
        "{}",
        ben.project.text(own)
    );
    assert_eq!(ada.project.text(SHARD), base.project.text(SHARD));
    for world in [&ada, &ben] {
        let again = run(world, ScanMode::Relationships).await;
        assert_eq!(again.changes, Vec::new());
    }
}

#[tokio::test]
async fn no_file_of_a_snapshot_says_which_run_has_written_it() {
    let (world, _) = world(Keys::Shown);
    let outcome = run(&world, ScanMode::Relationships).await;
    let of_run = [
        outcome.report.run_id.as_str(),
        outcome.report.sync_id.as_str(),
        "2026-01-31",
    ];
    for path in world.project.paths() {
        let text = world.project.text(&path);
        for told in of_run {
            assert!(
                !path.contains(told) && !text.contains(told),
                "{path}: {told}"
            );
        }
    }
}

#[tokio::test]
async fn a_snapshot_of_an_older_version_moves_to_its_place() {
    let (world, _) = world(Keys::Shown);
    run(&world, ScanMode::Relationships).await;
    let links = world.project.json("relationships.json").to_string();
    let old = format!("{FOLDER}/2025-12-01-090507-local-mh000000");
    for path in world.project.paths() {
        if let Some(name) = path.strip_prefix(&format!("{FOLDER}/")) {
            let text = world.project.take(&path);
            if !name.starts_with("enrichment/relationships/") {
                world.project.put(&format!("{old}/{name}"), &text);
            }
        }
    }
    world
        .project
        .put(&format!("{old}/enrichment/relationships.json"), &links);
    let outcome = run(&world, ScanMode::Structural).await;
    assert_eq!(outcome.report.diff_summary.tables_unchanged, 4);
    assert_eq!(outcome.report.relationships.accepted, 3);
    let paths = world.project.paths();
    assert!(
        !paths.iter().any(|path| path.starts_with(&old)),
        "{paths:?}"
    );
    let kept = format!("{FOLDER}/enrichment/relationships.json");
    assert_eq!(world.project.text(&kept), links);
    run(&world, ScanMode::Relationships).await;
    assert!(!world.project.paths().contains(&kept));
}
