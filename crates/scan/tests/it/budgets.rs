//! Tests the budget and the estimate of a scan.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ktx_scan::{
    Budget, ScanEstimate, ScanEvent, ScanMode, Spent, StopReason, Stopped, estimate, scan,
};
use ktx_warehouse::{ErrorKind, WarehouseError};

use crate::faulty::{Faults, Faulty};
use crate::memory::{Listener, World};
use crate::scans::{SHOP, run};
use crate::sqlite::{Keys, Sqlite};
use ktx_test_support::databases::generator::build;
use ktx_test_support::databases::schemas::SCHOOL;
use ktx_test_support::databases::styles::PLAIN;

fn world(faults: Faults) -> (World, Arc<Sqlite>, Arc<Faulty>) {
    world_of(SHOP, faults)
}

fn world_of(script: &str, faults: Faults) -> (World, Arc<Sqlite>, Arc<Faulty>) {
    let sqlite = Arc::new(Sqlite::new(Keys::Shown, script));
    let faulty = Arc::new(Faulty::new(sqlite.clone(), faults));
    (World::new(faulty.clone()), sqlite, faulty)
}

fn files(world: &World) -> BTreeMap<String, String> {
    let paths = world.project.paths();
    paths
        .into_iter()
        .filter(|path| !path.ends_with("scan-report.json"))
        .map(|path| {
            let text = world.project.text(&path);
            (path, text)
        })
        .collect()
}

async fn same_as_one_scan(world: &World, script: &str) {
    let (whole, _, _) = world_of(script, Faults::default());
    run(&whole, ScanMode::Relationships).await;
    for (path, text) in files(&whole) {
        assert_eq!(world.project.text(&path), text, "{path}");
    }
    assert_eq!(files(world).len(), files(&whole).len());
}

#[tokio::test]
async fn a_scan_stops_at_its_statements_and_the_next_one_goes_on() {
    let database = build(&PLAIN, SCHOOL, 11);
    let (world, sqlite, _) = world_of(&database.script, Faults::default());
    let mut statements = Vec::new();
    for _ in 0..20 {
        let before = sqlite.count();
        let mut request = world.request(ScanMode::Relationships);
        request.settings.budget.statements = Some(3);
        let outcome = scan(request).await.expect("a scan");
        world.project.publish(&outcome);
        statements.push(sqlite.count() - before);
        let Some(stopped) = outcome.stopped else {
            break;
        };
        assert_eq!(stopped.reason, StopReason::Statements(3));
        assert_eq!(outcome.spent.statements, 3);
        let codes = outcome.report.warnings.iter();
        assert_eq!(
            codes
                .map(|warning| warning.code.as_str())
                .collect::<Vec<_>>(),
            ["scan_stopped"]
        );
    }
    let (last, full) = statements.split_last().expect("scans");
    assert!(full.len() >= 2 && full.iter().all(|count| *count == 3) && *last <= 3);
    let (whole, asked, _) = world_of(&database.script, Faults::default());
    run(&whole, ScanMode::Relationships).await;
    assert_eq!(statements.iter().sum::<usize>(), asked.count());
    same_as_one_scan(&world, &database.script).await;
}

#[tokio::test]
async fn no_time_is_no_statement() {
    let (world, sqlite, _) = world(Faults::default());
    let mut request = world.request(ScanMode::Relationships);
    request.settings.budget.time = Some(Duration::ZERO);
    let outcome = scan(request).await.expect("a scan");
    assert_eq!(
        outcome.stopped,
        Some(Stopped {
            reason: StopReason::Time(Duration::ZERO),
            tables_left: 4,
            tables_kept: 0,
            tables: 4,
            links_left: 0
        })
    );
    assert_eq!((sqlite.count(), outcome.spent), (0, Spent::default()));
    world.project.publish(&outcome);
    run(&world, ScanMode::Relationships).await;
    same_as_one_scan(&world, SHOP).await;
}

#[tokio::test]
async fn billed_bytes_are_counted_before_a_statement_runs() {
    let (world, sqlite, _) = world(Faults {
        price: Some(1000),
        ..Faults::default()
    });
    let mut request = world.request(ScanMode::Relationships);
    request.settings.budget.bytes = Some(2500);
    let outcome = scan(request).await.expect("a scan");
    assert_eq!(
        outcome.stopped.map(|stopped| stopped.reason),
        Some(StopReason::Bytes(2500))
    );
    assert_eq!((sqlite.count(), outcome.spent.bytes), (2, 2000));
}

#[tokio::test]
async fn received_bytes_are_counted_where_nothing_is_billed() {
    let (world, sqlite, _) = world(Faults::default());
    let mut request = world.request(ScanMode::Relationships);
    request.settings.relationships.profile_concurrency = 1;
    request.settings.budget.bytes = Some(1);
    let outcome = scan(request).await.expect("a scan");
    let stopped = outcome.stopped.expect("a stop");
    assert_eq!(
        (sqlite.count(), stopped.tables_left, outcome.spent.bytes > 1),
        (1, 3, true)
    );
}

#[tokio::test]
async fn a_broken_connection_is_tried_again_and_then_stops_the_scan() {
    let (once, _, _) = world(Faults {
        breaks_after: Some(1),
        breaks: Some(1),
        ..Faults::default()
    });
    let outcome = run(&once, ScanMode::Relationships).await;
    assert_eq!(
        (outcome.stopped, outcome.report.warnings),
        (None, Vec::new())
    );
    same_as_one_scan(&once, SHOP).await;

    let (gone, _, faulty) = world(Faults {
        breaks_after: Some(2),
        ..Faults::default()
    });
    let outcome = run(&gone, ScanMode::Relationships).await;
    let stopped = outcome.stopped.expect("a stop");
    let error = WarehouseError::new(ErrorKind::Dropped, "the connection broke");
    assert_eq!(stopped.reason, StopReason::Lost(error));
    assert!(stopped.tables_left >= 1, "{stopped:?}");
    *faulty.faults.lock().expect("not poisoned") = Faults::default();
    run(&gone, ScanMode::Relationships).await;
    same_as_one_scan(&gone, SHOP).await;
}

#[tokio::test]
async fn a_table_that_runs_out_of_time_is_a_warning() {
    let (world, _, _) = world(Faults {
        slow: Some("orders".to_owned()),
        ..Faults::default()
    });
    let outcome = run(&world, ScanMode::Relationships).await;
    assert_eq!(outcome.stopped, None);
    assert_eq!(
        outcome
            .report
            .warnings
            .first()
            .map(|warning| warning.message.as_str()),
        Some("could not read a sample of `orders`: out of time")
    );
}

#[tokio::test]
async fn so_many_statements_run_side_by_side_as_the_settings_say() {
    let database = build(&PLAIN, SCHOOL, 12);
    for (lanes, most) in [(1, 1), (4, 4)] {
        let (world, _, faulty) = world_of(&database.script, Faults::default());
        let mut request = world.request(ScanMode::Relationships);
        request.settings.relationships.profile_concurrency = lanes;
        request.settings.relationships.validation_concurrency = lanes;
        scan(request).await.expect("a scan");
        assert_eq!(faulty.most_in_flight.load(Ordering::SeqCst), most);
    }
}

#[tokio::test]
async fn an_estimate_reads_no_value() {
    let (world, sqlite, _) = world(Faults {
        price: Some(10),
        ..Faults::default()
    });
    let request = world.request(ScanMode::Relationships);
    let first = estimate(&request).await.expect("an estimate");
    assert_eq!(
        first,
        ScanEstimate {
            tables: 4,
            columns: 13,
            reused: 0,
            rows: 0,
            unknown_sizes: 4,
            rows_read: 0,
            statements: 4,
            statements_at_most: 24,
            checks_at_most: 8,
            bytes: Some(40),
        }
    );
    assert_eq!((sqlite.count(), world.project.paths().len()), (0, 0));
    let outcome = run(&world, ScanMode::Relationships).await;
    assert!(first.statements <= outcome.profile_statements);
    assert!(outcome.profile_statements <= first.statements_at_most);
    let second = estimate(&request).await.expect("an estimate");
    assert_eq!(
        (second.reused, second.statements, second.bytes),
        (4, 0, None)
    );
}

#[tokio::test]
async fn a_first_scan_tells_what_it_will_ask() {
    let (world, _, _) = world(Faults::default());
    let mut told = Vec::new();
    for _ in 0..2 {
        let listener = Arc::new(Listener::default());
        let mut request = world.request(ScanMode::Relationships);
        request.events = listener.clone();
        let outcome = scan(request).await.expect("a scan");
        world.project.publish(&outcome);
        let events = listener.events.lock().expect("not poisoned");
        told.push(
            events
                .iter()
                .filter(|event| matches!(event, ScanEvent::Estimated(_)))
                .count(),
        );
    }
    assert_eq!(told, [1, 0]);
    assert_eq!(Budget::default().statements, None);
}
