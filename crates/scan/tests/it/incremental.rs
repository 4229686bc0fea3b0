//! Tests that a scan that keeps tables finds what a full scan finds.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_scan::{ProjectFiles as _, Reuse, ScanMode, ScanOutcome, scan};
use ktx_test_support::random::Random;

use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};

/// Keeps the scan as a command does.
async fn run(world: &World, reuse: Reuse) -> ScanOutcome {
    let mut request = world.request(ScanMode::Relationships);
    request.reuse = reuse;
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    if let Some(kept) = &outcome.kept {
        let files = world.project.stamp().expect("a stamp").expect("files");
        kept.store(world.stages.as_ref(), &files).expect("stored");
    }
    outcome
}

fn files(world: &World) -> BTreeMap<String, String> {
    let paths = world.project.paths().into_iter();
    paths
        .map(|path| (path.clone(), world.project.text(&path)))
        .collect()
}

const SHOP: &str = "
CREATE TABLE customers (id INTEGER, name TEXT, city TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
INSERT INTO customers SELECT i, 'Customer ' || i, 'city ' || (i % 9) FROM n;
CREATE TABLE orders (id INTEGER, customer_id INTEGER, total REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
INSERT INTO orders SELECT 5000 + i, i * 7 % 120 + 1, i FROM n;
CREATE TABLE lines (order_id INTEGER, line INTEGER, sku TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
INSERT INTO lines SELECT 5001 + i % 400, 1 + i / 400, 'S' || (i % 40) FROM n;
";

#[tokio::test]
async fn unchanged_tables_are_neither_read_nor_compared() {
    let sqlite = Arc::new(Sqlite::new(Keys::Hidden, SHOP));
    let world = World::new(sqlite.clone());
    let first = run(&world, Reuse::Unchanged).await;
    assert_eq!((first.tables_kept, first.changes.is_empty()), (0, false));
    let asked = sqlite.count();

    let second = run(&world, Reuse::Unchanged).await;
    assert_eq!(sqlite.count(), asked);
    assert_eq!((second.tables_kept, second.changes.len()), (3, 0));
    assert_eq!(second.report.relationships, first.report.relationships);
    assert_eq!(second.report.diff_summary.tables_unchanged, 3);

    let full = run(&world, Reuse::Nothing).await;
    assert!(sqlite.count() > asked);
    assert_eq!((full.tables_kept, full.changes.len()), (0, 0));
}

#[tokio::test]
async fn a_kept_scan_reports_what_a_compared_one_would() {
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, SHOP)));
    run(&world, Reuse::Unchanged).await;
    let kept = scan(world.request(ScanMode::Relationships))
        .await
        .expect("a scan");
    // Changes only the fingerprint.
    world.project.put("raw-sources/shop/notes.txt", "mine");
    let compared = scan(world.request(ScanMode::Relationships))
        .await
        .expect("a scan");
    assert_eq!(compared.changes, Vec::new());
    assert_eq!(kept.report, compared.report);
    assert_eq!(kept.tables_kept, compared.tables_kept);
}

#[tokio::test]
async fn damaged_rows_are_made_again() {
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, SHOP)));
    run(&world, Reuse::Unchanged).await;
    let before = files(&world);
    world.stages.damage();
    let outcome = run(&world, Reuse::Unchanged).await;
    let told: Vec<&str> = outcome
        .report
        .warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    assert_eq!(
        told,
        ["4 stored results of earlier scans are damaged or of another version and were made again"]
    );
    assert_eq!(files(&world), before);
    let third = run(&world, Reuse::Unchanged).await;
    assert_eq!(third.report.warnings, Vec::new());
}

#[tokio::test]
async fn a_scan_after_changes_finds_what_a_full_one_finds() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let sqlite = Arc::new(Sqlite::new(Keys::Hidden, SHOP));
        let world = World::new(sqlite.clone());
        run(&world, Reuse::Unchanged).await;
        for step in 0..5 {
            sqlite.execute(&change(&mut random, step));
            run(&world, Reuse::Unchanged).await;
            let known = run(&world, Reuse::Unchanged).await;
            assert_eq!(known.changes, Vec::new(), "seed {seed}, step {step}");
            let mut fresh = World::new(sqlite.clone());
            fresh.project = Arc::new(world.project.copy());
            run(&fresh, Reuse::Nothing).await;
            assert_eq!(files(&world), files(&fresh), "seed {seed}, step {step}");
        }
    }
}

fn change(random: &mut Random, step: u64) -> String {
    let table = ["customers", "orders", "lines"][random.below(3)];
    match random.below(5) {
        0 => format!(
            "CREATE TABLE extra_{step} (id INTEGER, customer_id INTEGER);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70)
             INSERT INTO extra_{step} SELECT i, i * 11 % 120 + 1 FROM n;"
        ),
        1 => format!("ALTER TABLE {table} ADD COLUMN added_{step} INTEGER;"),
        2 => format!(
            "ALTER TABLE {table} ADD COLUMN order_{step}_id INTEGER;
             UPDATE {table} SET order_{step}_id = 5001 + rowid % 300;"
        ),
        3 => format!(
            "ALTER TABLE {table} RENAME TO {table}_{step}; CREATE TABLE {table} AS SELECT * FROM {table}_{step};"
        ),
        _ => format!(
            "CREATE TABLE skus_{step} (sku TEXT, weight INTEGER);
             INSERT INTO skus_{step} SELECT DISTINCT sku, length(sku) FROM lines;"
        ),
    }
}
