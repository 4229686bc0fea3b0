//! A project folder of KTX 0.12 opens, lists, searches, validates and queries.

use std::path::Path;

use ktx_test_support::sandbox::Sandbox;

use crate::support::{check, database, git, sandbox, tree};

/// The fixture project with its warehouse built from `warehouse.sql`.
fn older() -> Sandbox {
    let sandbox = sandbox();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/projects/ktx-0.12");
    sandbox.copy(&fixture, ".").unwrap();
    let sql = sandbox.read("warehouse.sql").unwrap();
    database(&sandbox, "warehouse.db", &sql);
    sandbox
}

#[test]
fn an_older_project_is_read_as_it_is() {
    let sandbox = older();
    let before = tree(&sandbox);
    check(
        &sandbox,
        "sl",
        r"
exit 0
warehouse	customers	columns=4	measures=0	joins=1
warehouse	monthly_revenue	columns=2	measures=1	joins=0
warehouse	orders	columns=6	measures=2	joins=1
--- stderr
Project: [SANDBOX]/work
",
    );
    check(
        &sandbox,
        "wiki --user-id ada",
        r"
exit 0
GLOBAL	refunded-orders	Refunded orders are left out of revenue
USER	revenue	Ada looks at revenue by month
--- stderr
Project: [SANDBOX]/work
",
    );
    check(
        &sandbox,
        "wiki refunded",
        r"
exit 0
score=1	GLOBAL	refunded-orders	Refunded orders are left out of revenue
score=0.656	GLOBAL	revenue	What counts as revenue
--- stderr
Project: [SANDBOX]/work
",
    );
    check(
        &sandbox,
        "sl validate",
        r"
exit 0
warehouse: 3 sources are valid
--- stderr
Project: [SANDBOX]/work
warning: semantic-layer/warehouse/: disconnected_components: the sources form 2 groups without a join between them, such as those of `customers`, `monthly_revenue`
",
    );
    check(
        &sandbox,
        "status --fast",
        r"
exit 0
Project      [SANDBOX]/work
Verdict      ready (everything works that needs no model)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Connections  ✓ warehouse (sqlite) · configured
Can          query yes · scan yes · search yes · serve yes · ingest no
Local data   warehouse: 2 source files, 1 manifest shards
Next         attach an agent with `ktx mcp stdio`, or set `llm.provider.backend` for descriptions
",
    );
    check(
        &sandbox,
        "sl query --measure orders.net_revenue --dimension customers.segment --format table --execute",
        r"
exit 0
segment   net_revenue
NULL      NULL
business  420.5
private   75
--- stderr
Project: [SANDBOX]/work
note: rows of `orders` whose `customer_id` has no match in `customers` count under NULL
",
    );
    check(
        &sandbox,
        "sl query --measure monthly_revenue.revenue_total --dimension monthly_revenue.month --format csv --execute",
        r"
exit 0
month,revenue_total
2025-04,120.5
2025-05,75
2025-06,300
--- stderr
Project: [SANDBOX]/work
",
    );
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn an_older_project_is_scanned_into_its_own_history() {
    let sandbox = older();
    git(&sandbox, &["init", "--quiet", "--initial-branch", "main"]);
    std::fs::write(sandbox.work().join(".git/info/exclude"), "*.db\n").unwrap();
    crate::support::commit(&sandbox, "as it was");
    check(
        &sandbox,
        "scan",
        r"
exit 0
warehouse: 0 added, 2 modified, 0 deleted, 0 unchanged tables
  joins: 1 accepted, 0 to review
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 2 tables, 9 columns
warehouse · profile (2)
warehouse · relationships
warehouse · 1 joins, 0 to review
warehouse · artifacts
",
    );
    check(
        &sandbox,
        "scan",
        r"
exit 0
warehouse: 0 added, 0 modified, 0 deleted, 2 unchanged tables
  joins: 1 accepted, 0 to review
  nothing changed
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 2 tables, 9 columns
warehouse · profile (2)
warehouse · relationships
warehouse · 1 joins, 0 to review
warehouse · artifacts
",
    );
    // The manifest of KTX 0.12 says the same as ours: no semantic file changes.
    assert_eq!(
        git(&sandbox, &["diff", "HEAD~1", "--", "semantic-layer"]),
        ""
    );
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}
