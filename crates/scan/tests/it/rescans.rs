//! Tests what a second scan does with the joins of the first.

use std::sync::Arc;

use ktx_scan::ScanMode;

use crate::memory::World;
use crate::scans::{SHARD, run};
use crate::sqlite::{Keys, Sqlite};

const CUSTOMERS: &str = "
CREATE TABLE customers (customer_id INTEGER, name TEXT, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO customers SELECT i, 'Customer ' || i, 'note ' || (i % 7) FROM n;
CREATE TABLE orders (order_no INTEGER, customer_id INTEGER, amount REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO orders SELECT 5000 + i, i * 7 % 200 + 1, 1.0 FROM n;
";

/// Sums over the join would be too large.
#[tokio::test]
async fn a_join_over_a_key_that_repeats_goes() {
    let sqlite = Arc::new(Sqlite::new(Keys::Hidden, CUSTOMERS));
    let mut world = World::new(sqlite.clone());
    run(&world, ScanMode::Relationships).await;
    let join = "      - to: customers
        'on': orders.customer_id = customers.customer_id
        relationship: many_to_one
        source: inferred
";
    assert!(world.project.text(SHARD).contains(join));

    sqlite.execute(
        "INSERT INTO customers SELECT customer_id, name, 'before' FROM customers;
         INSERT INTO customers SELECT customer_id, name, 'long ago' FROM customers WHERE note = 'before';",
    );
    // This catalog has no table sizes.
    world.stages = Arc::default();
    let outcome = run(&world, ScanMode::Relationships).await;
    assert!(!world.project.text(SHARD).contains("joins:"));
    let mut told: Vec<(String, String)> = outcome
        .report
        .warnings
        .iter()
        .map(|warning| (warning.code.clone(), warning.message.clone()))
        .collect();
    told.sort();
    let message = |on: &str| {
        (
            "join_no_longer_holds".to_owned(),
            format!(
                "the inferred join `{on}` was removed: the values of `customers.customer_id` repeat; \
                 write it with `source: manual` to keep it"
            ),
        )
    };
    assert_eq!(
        told,
        [
            message("customers.customer_id = orders.customer_id"),
            message("orders.customer_id = customers.customer_id"),
        ]
    );
}

#[tokio::test]
async fn a_join_that_nothing_speaks_against_stays() {
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, CUSTOMERS)));
    let standing = "tables:
  orders:
    table: orders
    columns: []
    joins:
      - to: customers
        'on': orders.amount = customers.note
        relationship: many_to_one
        source: manual
      - to: customers
        'on': orders.order_no = customers.name
        relationship: many_to_one
        source: inferred
";
    world.project.put(SHARD, standing);
    run(&world, ScanMode::Relationships).await;
    let text = world.project.text(SHARD);
    for kept in [
        "orders.amount = customers.note",
        "orders.order_no = customers.name",
        "orders.customer_id = customers.customer_id",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

/// A structural scan keeps what an earlier scan has found.
#[tokio::test]
async fn texts_that_all_are_times_become_a_time() {
    let script = "
CREATE TABLE trips (trip_no INTEGER, left_at TEXT, back_on TEXT, seen TEXT, code TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO trips SELECT i, datetime('2025-01-01 08:30', '+' || i || ' days'),
    CASE WHEN i % 3 THEN date('2025-02-01', '+' || i || ' days') END,
    CASE WHEN i < 40 THEN date('2025-02-01', '+' || i || ' days') ELSE 'soon' END,
    printf('%04d-%02d', 2000 + i, i) FROM n;
";
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, script)));
    for mode in [ScanMode::Relationships, ScanMode::Structural] {
        run(&world, mode).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.project.text(SHARD), @r"
            tables:
              trips:
                table: trips
                columns:
                  - name: trip_no
                    type: number
                  - name: left_at
                    type: time
                  - name: back_on
                    type: time
                  - name: seen
                    type: string
                  - name: code
                    type: string
            ");
        }
    }
}

/// An answer then needs no note on rows without a match.
#[tokio::test]
async fn a_join_whose_key_no_row_lacks_is_keyed() {
    let refunds = "
CREATE TABLE refunds (refund_no INTEGER, customer_id INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
INSERT INTO refunds SELECT 90000 + i, CASE WHEN i % 4 THEN i * 3 % 200 + 1 END FROM n;
";
    let script = format!("{CUSTOMERS}{refunds}");
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, &script)));
    run(&world, ScanMode::Relationships).await;
    let text = world.project.text(SHARD);
    let joins = text.split("joins:").skip(1).map(|part| {
        part.lines()
            .take_while(|line| line.is_empty() || line.starts_with("      "))
            .collect::<Vec<_>>()
            .join("\n")
    });
    insta::assert_snapshot!(joins.collect::<Vec<_>>().join("\n"), @r"

    - to: orders
      'on': customers.customer_id = orders.customer_id
      relationship: one_to_many
      source: inferred
    - to: refunds
      'on': customers.customer_id = refunds.customer_id
      relationship: one_to_many
      source: inferred

    - to: customers
      'on': orders.customer_id = customers.customer_id
      relationship: many_to_one
      source: inferred
      keyed: true

    - to: customers
      'on': refunds.customer_id = customers.customer_id
      relationship: many_to_one
      source: inferred
    ");
}
