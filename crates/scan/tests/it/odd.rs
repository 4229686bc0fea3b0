//! Tests odd names, values and tables, and failing servers.

use std::fmt::Write as _;
use std::sync::Arc;

use ktx_scan::{ScanError, ScanMode, scan};
use serde_json::json;

use crate::faulty::{Faults, Faulty};
use crate::memory::World;
use crate::scans::{SHOP, run};
use crate::sqlite::{Keys, Sqlite};

fn world(script: &str, faults: Faults) -> World {
    let sqlite = Arc::new(Sqlite::new(Keys::Hidden, script));
    World::new(Arc::new(Faulty::new(sqlite, faults)))
}

/// `table.column -> table.column`.
fn joins(world: &World) -> Vec<String> {
    let artifact = world.project.json("relationships.json");
    let side = |edge: &serde_json::Value, side: &str| {
        let column = edge[side]["columns"][0].as_str().expect("a column");
        let table = edge[side]["table"]["name"].as_str().expect("a table");
        format!("{table}.{column}")
    };
    let edges = artifact["accepted"].as_array().expect("a list").iter();
    edges
        .map(|edge| format!("{} -> {}", side(edge, "from"), side(edge, "to")))
        .collect()
}

#[tokio::test]
async fn a_dead_server_is_an_error_and_changes_nothing() {
    let world = world(
        SHOP,
        Faults {
            dead: true,
            ..Faults::default()
        },
    );
    let error = scan(world.request(ScanMode::Relationships))
        .await
        .expect_err("no scan");
    let ScanError::Introspect { source, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(source.message, "no server answers");
}

fn quote(name: &str) -> String {
    name.replace('"', "\"\"")
}

#[tokio::test]
async fn odd_names_are_names() {
    let long = "x".repeat(200);
    let names = [
        "we\"ird.ta`ble]",
        "\u{1f980} crabs",
        long.as_str(),
        "semi;colon--",
    ];
    let mut script = String::new();
    for (at, name) in names.iter().enumerate() {
        let parent = (at + 3) % 4;
        let (quoted, column) = (quote(name), quote(names[parent]));
        write!(
            script,
            "CREATE TABLE \"{quoted}\" (id TEXT, \"{column}\" TEXT);"
        )
        .expect("a string");
        for row in 0..30 {
            let refers = (row * row) % 30;
            write!(
                script,
                "INSERT INTO \"{quoted}\" VALUES ('k{at}-{row:04}', 'k{parent}-{refers:04}');"
            )
            .expect("a string");
        }
    }
    let world = world(&script, Faults::default());
    let outcome = run(&world, ScanMode::Relationships).await;
    assert_eq!(outcome.report.warnings, Vec::new());
    let mut expected: Vec<String> = (0..4)
        .map(|at| (names[at], names[(at + 3) % 4]))
        .map(|(name, parent)| format!("{name}.{parent} -> {parent}.id"))
        .collect();
    expected.sort();
    let mut found = joins(&world);
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(
        run(&world, ScanMode::Relationships).await.changes,
        Vec::new()
    );
}

#[tokio::test]
async fn a_table_without_columns_and_one_that_is_gone_do_not_hide_the_others() {
    let world = world(
        SHOP,
        Faults {
            shows_empty_table: true,
            shows_vanished: Some("gone".to_owned()),
            ..Faults::default()
        },
    );
    let outcome = run(&world, ScanMode::Relationships).await;
    let told: Vec<&str> = outcome
        .report
        .warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    assert_eq!(
        told,
        ["could not read a sample of `gone`: no such table: gone"]
    );
    assert_eq!(outcome.report.diff_summary.tables_added, 6);
    assert!(joins(&world).contains(&"orders.customer_id -> customers.id".to_owned()));
}

#[tokio::test]
async fn columns_without_any_value_are_described_as_such() {
    let world = world(
        "CREATE TABLE t (id INTEGER, absent TEXT, other_id INTEGER);
         INSERT INTO t (id) VALUES (1), (2), (3);
         CREATE TABLE others (id INTEGER, name TEXT);",
        Faults::default(),
    );
    let outcome = run(&world, ScanMode::Relationships).await;
    assert_eq!(outcome.report.warnings, Vec::new());
    let profile = world.project.json("relationship-profile.json");
    let column = &profile["columns"]["t.absent"];
    assert_eq!(
        json!([
            column["nullCount"],
            column["nullRate"],
            column["distinctCount"],
            column["sampleValues"],
            column["minValue"]
        ]),
        json!([3, 1.0, 0, [], null])
    );
}

#[tokio::test]
async fn two_thousand_columns_are_read_in_groups() {
    let columns: Vec<String> = (0..2000).map(|at| format!("c{at} INTEGER")).collect();
    let values: Vec<String> = (0..2000).map(|at| at.to_string()).collect();
    let script = format!(
        "CREATE TABLE wide ({}); INSERT INTO wide VALUES ({values});",
        columns.join(", "),
        values = values.join(", ")
    );
    let world = world(&script, Faults::default());
    let outcome = run(&world, ScanMode::Relationships).await;
    assert_eq!(
        (outcome.profile_statements, outcome.report.warnings.len()),
        (20, 0)
    );
    let profile = world.project.json("relationship-profile.json");
    assert_eq!(
        profile["columns"].as_object().map(serde_json::Map::len),
        Some(2000)
    );
    assert_eq!(profile["columns"]["wide.c1999"]["minValue"], json!("1999"));
}

#[tokio::test]
async fn broken_text_and_huge_cells_are_read() {
    let world = world(
        "CREATE TABLE t (id INTEGER, kind TEXT, body TEXT);
         INSERT INTO t VALUES (1, CAST(x'c328ff' AS TEXT), 'short');
         INSERT INTO t VALUES (2, 'fine', replace(hex(zeroblob(500000)), '0', 'y'));
         INSERT INTO t VALUES (3, 'fine', 'short');",
        Faults::default(),
    );
    let outcome = run(&world, ScanMode::Relationships).await;
    assert_eq!(outcome.report.warnings, Vec::new());
    let profile = world.project.json("relationship-profile.json");
    assert_eq!(
        profile["columns"]["t.kind"]["sampleValues"],
        json!(["fine", "\u{fffd}(\u{fffd}"])
    );
    let longest = world
        .project
        .paths()
        .iter()
        .map(|path| world.project.text(path).len())
        .max();
    assert!(longest.is_some_and(|length| length < 20_000), "{longest:?}");
}

/// Tables with their own numbering share no numbers.
#[tokio::test]
async fn empty_tables_are_joined_by_names_of_columns_only() {
    let script = "
        CREATE TABLE user (id INTEGER PRIMARY KEY, mail TEXT);
        CREATE TABLE user_events (id INTEGER PRIMARY KEY, amount REAL);
        CREATE TABLE user_orders (order_no TEXT, user_id INTEGER);
    ";
    let world = world(script, Faults::default());
    run(&world, ScanMode::Relationships).await;
    assert_eq!(joins(&world), ["user_orders.user_id -> user.id"]);
}
