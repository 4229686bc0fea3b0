//! Tests of the sample warehouse.

use rusqlite::Connection;

use super::warehouse::create;

#[test]
fn the_same_seed_makes_the_same_warehouse() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let rows = create(&path).unwrap();
    let database = Connection::open(&path).unwrap();
    let count = |sql: &str| {
        database
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert!(rows >= 100_000, "{rows} rows");
    assert_eq!(
        count("SELECT count(*) FROM sqlite_schema WHERE type = 'table'"),
        13
    );
    let facts = [
        count("SELECT sum(quantity * unit_price_cents) FROM order_items"),
        count("SELECT sum(amount_cents) FROM refunds"),
        count("SELECT count(*) FROM customers WHERE region_id = 8"),
        count(
            "SELECT count(*) FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE region_id = 8)",
        ),
        count("SELECT count(*) FROM shipments WHERE ord_no NOT IN (SELECT id FROM orders)"),
    ];
    let again = folder.path().join("b.db");
    assert_eq!(create(&again).unwrap(), rows);
    let other = Connection::open(&again).unwrap();
    let sum: i64 = other
        .query_row(
            "SELECT sum(quantity * unit_price_cents) FROM order_items",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(sum, facts[0]);
    assert!(
        facts[1] > 0 && facts[2] > 50 && facts[3] == 0 && facts[4] == 0,
        "{facts:?}"
    );
}
