//! Tests that figures of a sample name their rows.

use std::sync::Arc;

use ktx_scan::{ScanMode, scan};
use serde_json::{Value, json};

use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};

/// Every fourth order has no customer.
const ORDERS: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, status TEXT NOT NULL);
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 40)
INSERT INTO customers SELECT n, 'customer ' || n FROM numbers;
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 400)
INSERT INTO orders SELECT n, CASE WHEN n % 4 = 0 THEN NULL ELSE n % 40 + 1 END,
  CASE WHEN n % 2 = 0 THEN 'open' ELSE 'paid' END FROM numbers;
";

/// Reads larger tables by samples of forty rows.
async fn figures(whole_table_rows: u64) -> Value {
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, ORDERS)));
    let mut request = world.request(ScanMode::Relationships);
    request.settings.whole_table_rows = whole_table_rows;
    request.settings.relationships.profile_sample_rows = 40;
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    let profile = world.project.json("relationship-profile.json");
    let tables = profile["tables"].as_array().expect("a list").iter();
    let tables: Vec<Value> = tables
        .map(|table| {
            json!([
                table["table"]["name"],
                table["rowCount"],
                table["rowsRead"],
                table["whole"]
            ])
        })
        .collect();
    let column = |name: &str| {
        let column = &profile["columns"][name];
        json!({
            "rowCount": column["rowCount"], "rowsRead": column["rowsRead"], "sampled": column["sampled"],
            "nullCount": column["nullCount"], "nullRate": column["nullRate"],
            "distinctCount": column["distinctCount"],
            "estimatedDistinctCount": column["estimatedDistinctCount"],
        })
    };
    let links = world.project.json("relationships.json");
    let links = links["accepted"].as_array().expect("a list").iter();
    let links: Vec<Value> = links
        .map(|link| {
            let evidence = &link["evidence"];
            json!([
                link["from"]["columns"],
                evidence["comparedRows"],
                evidence["sampled"],
                link["reasons"]
            ])
        })
        .collect();
    json!({
        "tables": tables, "status": column("orders.status"), "customer": column("orders.customer_id"),
        "key": column("customers.id"), "links": links,
    })
}

#[tokio::test]
async fn figures_of_a_sample_say_how_many_rows_were_read() {
    let expected = json!({
        "tables": [["customers", 40, 40, true], ["orders", 400, 32, false]],
        "status": {
            "rowCount": 400, "rowsRead": 32, "sampled": true, "nullCount": 0, "nullRate": 0.0,
            "distinctCount": 2, "estimatedDistinctCount": 2,
        },
        "customer": {
            "rowCount": 400, "rowsRead": 32, "sampled": true, "nullCount": 8, "nullRate": 0.25,
            "distinctCount": 12, "estimatedDistinctCount": 12,
        },
        "key": {
            "rowCount": 40, "rowsRead": 40, "sampled": false, "nullCount": 0, "nullRate": 0.0,
            "distinctCount": 40, "estimatedDistinctCount": null,
        },
        "links": [[["customer_id"], 24, true, [
            "the column names the table (0.98)",
            "12 of 12 distinct values are keys of the other table (100.0 % of a sample of 24 rows with a value)",
            "the keys are numbered without gaps and the column spans 92 % of them",
            "values of `orders.(customer_id)` that `customers.(id)` lacks would disprove it",
        ]]],
    });
    assert_eq!(figures(100).await, expected);
}

#[tokio::test]
async fn figures_of_a_whole_table_are_no_estimates() {
    let expected = json!({
        "tables": [["customers", 40, 40, true], ["orders", 400, 400, true]],
        "status": {
            "rowCount": 400, "rowsRead": 400, "sampled": false, "nullCount": 0, "nullRate": 0.0,
            "distinctCount": 2, "estimatedDistinctCount": null,
        },
        "customer": {
            "rowCount": 400, "rowsRead": 400, "sampled": false, "nullCount": 100, "nullRate": 0.25,
            "distinctCount": 30, "estimatedDistinctCount": null,
        },
        "key": {
            "rowCount": 40, "rowsRead": 40, "sampled": false, "nullCount": 0, "nullRate": 0.0,
            "distinctCount": 40, "estimatedDistinctCount": null,
        },
        "links": [[["customer_id"], 300, false, [
            "the column names the table (0.98)",
            "30 of 30 distinct values are keys of the other table (100.0 % of all 300 rows with a value)",
            "the keys are numbered without gaps and the column spans 98 % of them",
            "values of `orders.(customer_id)` that `customers.(id)` lacks would disprove it",
        ]]],
    });
    assert_eq!(figures(1000).await, expected);
}
