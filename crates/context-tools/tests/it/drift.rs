//! Sources and pages that no longer match the last scan.

use std::fmt::Write as _;

use ktx_context_tools::{Drift, DriftConnection, DriftRole, find_drift};
use ktx_vocabulary::ConnectionId;

use crate::project::TestProject;

const SCAN: &str = "raw-sources/warehouse/live-database/2026-02-01-000000-new";

async fn drift(project: &TestProject) -> Drift {
    drift_as(project, DriftRole::Checked).await
}

async fn drift_as(project: &TestProject, role: DriftRole) -> Drift {
    let context = &project.context;
    let id = ConnectionId::parse("warehouse").expect("an id");
    let connection = DriftConnection {
        catalog: context.catalog(&id).await.expect("sources"),
        snapshot: context.snapshot(&id).await.expect("a scan"),
        id,
        role,
    };
    let paths = context.page_paths().await.expect("paths");
    let pages = context.pages(&paths).await.expect("pages");
    find_drift(&[connection], &pages)
}

fn shown(drift: &Drift) -> String {
    let mut text = String::new();
    for found in &drift.findings {
        let place = match (found.line, found.column) {
            (Some(line), Some(column)) => format!("{}:{line}:{column}", found.file),
            _ => found.file.clone(),
        };
        let class = found.class.as_str();
        writeln!(text, "{place}: {class}: {}", found.message).expect("a line");
        writeln!(text, "    {}", found.hint).expect("a line");
    }
    for line in &drift.unchecked {
        writeln!(text, "not checked: {line}").expect("a line");
    }
    text
}

/// The scan has lost `orders.amount`.
#[tokio::test]
async fn names_columns_that_the_warehouse_has_lost() {
    let project = TestProject::new();
    insta::assert_snapshot!(shown(&drift(&project).await));
}

#[tokio::test]
async fn names_tables_sources_and_pages_that_are_gone() {
    let project = TestProject::new();
    project.write(
        "semantic-layer/warehouse/invoices.yaml",
        "name: invoices\ntable: main.invoices\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n",
    );
    project.write(
        "wiki/global/drifted.md",
        "---\nsummary: What gone-too was\ntables: [main.orders, main.invoices]\nsl_refs: [orders.revenue, orders.margin, \
         warehouse/orders]\nrefs: [returns, gone-too]\n---\n\nSee [[revenue-policy]] and [[gone|that]].\n\nUse \
         `orders.status`, not `orders.state`; `table:main.payments` is older. `orders.yaml` is a file, and `source:people` \
         was a source.\n",
    );
    insta::assert_snapshot!(shown(&drift(&project).await));
}

#[tokio::test]
async fn a_warehouse_that_is_not_checked_still_has_its_names() {
    let project = TestProject::new();
    project.write(
        "wiki/global/elsewhere.md",
        "---\nsummary: Orders\ntables: [main.orders]\nsl_refs: [warehouse/orders.revenue]\n---\n\n`orders.status` \
         counts.\n",
    );
    project.write(
        "semantic-layer/warehouse/invoices.yaml",
        "name: invoices\ntable: main.invoices\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n",
    );
    let drift = drift_as(&project, DriftRole::Named).await;
    let mut elsewhere = drift.findings.iter().map(|found| found.file.as_str());
    assert!(
        elsewhere
            .all(|file| file != "wiki/global/elsewhere.md" && !file.starts_with("semantic-layer/")),
        "{drift:?}"
    );
}

#[tokio::test]
async fn names_promises_that_the_rows_break() {
    let project = TestProject::new();
    project.write(
        "semantic-layer/warehouse/_schema/public.yaml",
        "tables:\n  customers:\n    table: main.customers\n    columns:\n      - {name: id, type: number, pk: true}\n      \
         - name: country\n        type: string\n        constraints: {dbt: {unique: true, not_null: true}}\n        \
         enum_values: {dbt: [NO, DK]}\n",
    );
    project.write(
        &format!("{SCAN}/enrichment/relationship-profile.json"),
        r#"{"connectionId": "warehouse", "columns": {
            "customers.country": {"table": "customers", "column": "country", "rowCount": 4, "nullCount": 1,
              "distinctCount": 2, "sampleValues": ["SE", "NO"]}}}"#,
    );
    let drift = drift(&project).await;
    let promises = Drift {
        findings: drift
            .findings
            .into_iter()
            .filter(|found| found.file.ends_with("public.yaml"))
            .collect(),
        ..drift
    };
    insta::assert_snapshot!(shown(&promises));
}

#[tokio::test]
async fn says_what_it_could_not_look_at() {
    let project = TestProject::new();
    for folder in ["2026-01-01-000000-old", "2026-02-01-000000-new"] {
        let scan = project
            .folder
            .path()
            .join("raw-sources/warehouse/live-database")
            .join(folder);
        std::fs::remove_dir_all(scan).expect("a removal");
    }
    insta::assert_snapshot!(shown(&drift(&project).await));
}
