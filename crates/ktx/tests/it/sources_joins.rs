//! dbt's relationship tests become joins if values agree.

use crate::sources::{CONFIG, locally, whole};
use crate::support::{commit, run, unscanned, write};

const SHOP: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO customers VALUES (11, 'Ann'), (12, 'Bob'), (13, 'Cleo'), (14, 'Dan');
CREATE TABLE orders (id INTEGER PRIMARY KEY, slot INTEGER, band INTEGER, amount INTEGER NOT NULL, status TEXT NOT NULL);
INSERT INTO orders VALUES
    (1, 11, 11, 10, 'paid'), (2, 11, 99, 20, 'refunded'), (3, 13, 98, 5, 'paid'), (4, 12, 97, 7, 'paid');
";

const TESTED: &str = "models:
  - name: orders
    columns:
      - {name: slot, tests: [{relationships: {to: ref('customers'), field: id}}]}
      - {name: band, tests: [{relationships: {to: ref('customers'), field: id}}]}
  - name: customers
";

const SHARD: &str = "semantic-layer/warehouse/_schema/public.yaml";

/// The column's name does not show the link.
#[test]
fn a_relationship_test_is_evidence_that_the_values_confirm_or_refute() {
    let sandbox = unscanned(SHOP);
    // Units own what they write.
    std::fs::remove_file(sandbox.work().join("wiki/global/revenue.md")).expect("the page");
    write(&sandbox, "ktx.yaml", CONFIG);
    write(&sandbox, "dbt/dbt_project.yml", "name: shop\n");
    write(&sandbox, "dbt/models/schema.yml", TESTED);
    commit(&sandbox, "config");
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let scanned = sandbox.read(SHARD).expect("a shard");
    assert!(!scanned.contains("joins:"), "{scanned}");
    let sandbox = locally(sandbox, &whole());
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let shard = sandbox.read(SHARD).expect("a shard");
    let joins: Vec<&str> = shard
        .lines()
        .filter(|line| line.trim_start().starts_with("'on':"))
        .map(str::trim)
        .collect();
    assert_eq!(
        joins,
        [
            "'on': customers.id = orders.slot",
            "'on': orders.slot = customers.id",
        ]
    );
    check!(&sandbox, "sl query --connection-id warehouse --measure orders.revenue --dimension customers.name --order-by customers.name --execute --format csv", @r"
    exit 0
    name,revenue
    Ann,10
    Bob,7
    Cleo,5
    Dan,
    --- stderr
    Project: [SANDBOX]/work
    ");
}
