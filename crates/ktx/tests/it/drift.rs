//! `ktx drift` and CI.

use crate::support::{commit, database, run, shop, write};

#[test]
fn a_project_that_matches_its_scan_has_no_findings() {
    let sandbox = shop();
    check!(&sandbox, "drift --fail-on any", @"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    nothing has drifted
    ");
}

#[test]
fn lost_columns_and_dead_links_end_a_ci_job() {
    let sandbox = shop();
    write(
        &sandbox,
        "wiki/global/revenue.md",
        "---\nsummary: Revenue\nsl_refs: [orders.revenue]\n---\n\nSee `orders.amount` and [[refunds]].\n",
    );
    commit(&sandbox, "a page");
    database(
        &sandbox,
        "warehouse.db",
        "ALTER TABLE orders DROP COLUMN amount;",
    );
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    check!(&sandbox, "drift --output pretty", @"
    exit 0
    semantic-layer/warehouse/orders.yaml:9:5: broken_reference: measure `revenue`: unknown column `orders.amount`: `orders` has the columns `id`, `customer_id`, `status`, `ordered_at`
        correct the name, or remove what uses it; `ktx sl validate` checks the sources
    wiki/global/revenue.md:6:6: broken_reference: `orders` has nothing that is called `amount`
        correct the name; `ktx sl read orders` shows what it has
    wiki/global/revenue.md:6:25: broken_link: the link to `refunds` leads to no page
        create the page, or remove the link; `ktx wiki search refunds` finds similar pages
    --- stderr
    Project: [SANDBOX]/work
    3 findings
    ");
    check!(&sandbox, "drift --fail-on lost_table,constraint", @"
    exit 0
    semantic-layer/warehouse/orders.yaml:9:5	broken_reference	measure `revenue`: unknown column `orders.amount`: `orders` has the columns `id`, `customer_id`, `status`, `ordered_at`	correct the name, or remove what uses it; `ktx sl validate` checks the sources
    wiki/global/revenue.md:6:6	broken_reference	`orders` has nothing that is called `amount`	correct the name; `ktx sl read orders` shows what it has
    wiki/global/revenue.md:6:25	broken_link	the link to `refunds` leads to no page	create the page, or remove the link; `ktx wiki search refunds` finds similar pages
    --- stderr
    Project: [SANDBOX]/work
    3 findings
    ");
    check!(&sandbox, "drift --fail-on broken_link --json", @r#"
    exit 8
    {
      "kind": "drift",
      "data": {
        "findings": [
          {
            "class": "broken_reference",
            "file": "semantic-layer/warehouse/orders.yaml",
            "line": 9,
            "column": 5,
            "message": "measure `revenue`: unknown column `orders.amount`: `orders` has the columns `id`, `customer_id`, `status`, `ordered_at`",
            "hint": "correct the name, or remove what uses it; `ktx sl validate` checks the sources"
          },
          {
            "class": "broken_reference",
            "file": "wiki/global/revenue.md",
            "line": 6,
            "column": 6,
            "message": "`orders` has nothing that is called `amount`",
            "hint": "correct the name; `ktx sl read orders` shows what it has"
          },
          {
            "class": "broken_link",
            "file": "wiki/global/revenue.md",
            "line": 6,
            "column": 25,
            "message": "the link to `refunds` leads to no page",
            "hint": "create the page, or remove the link; `ktx wiki search refunds` finds similar pages"
          }
        ],
        "unchecked": []
      }
    }
    "#);
    check!(&sandbox, "drift --fail-on everything", @"
    exit 2
    --- stderr
    error: invalid value 'everything' for '--fail-on <CLASS>'
      [possible values: any, lost_table, lost_column, broken_reference, accepted_values, constraint, broken_link, stale_page]

    For more information, try '--help'.
    ");
}
