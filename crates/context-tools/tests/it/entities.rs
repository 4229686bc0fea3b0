//! `entity_details`.

use serde_json::{Value, json};

use crate::project::TestProject;

const SNAPSHOT: &str = r#"{"syncId": "2026-02-01-000000-new", "extractedAt": "2026-02-01T00:00:00Z", "scanRunId": "run-2"}"#;

fn snapshot() -> Value {
    serde_json::from_str(SNAPSHOT).expect("valid JSON")
}

async fn one(project: &TestProject, entity: Value) -> Value {
    let input = json!({"connectionId": "warehouse", "entities": [entity]});
    let output = project.data("entity_details", input).await;
    output.pointer("/results/0").cloned().unwrap_or_default()
}

#[tokio::test]
async fn describes_a_table_with_everything_that_is_known() {
    let project = TestProject::new();
    let expected = json!({
        "ok": true, "connectionId": "warehouse",
        "tableRef": {"catalog": null, "db": "main", "name": "customers"},
        "display": "main.customers", "kind": "table", "comment": null, "estimatedRows": 3,
        "columns": [{"name": "country", "nativeType": "TEXT", "normalizedType": "TEXT", "dimensionType": "string",
            "nullable": true, "primaryKey": false, "comment": null, "description": "ISO code of the country",
            "sampleValues": ["SE", "NO"]}],
        "foreignKeys": [], "snapshot": snapshot(), "sourceName": "customers",
        "descriptions": {"ai": "People who buy"},
    });
    for table in [
        json!("customers"),
        json!("Main.Customers"),
        json!({"db": "main", "name": "customers"}),
    ] {
        assert_eq!(
            one(&project, json!({"table": table, "columns": ["COUNTRY"]})).await,
            expected
        );
    }
    let orders = one(&project, json!({"table": "orders"})).await;
    assert_eq!(
        orders.get("foreignKeys"),
        Some(
            &json!([{"fromColumn": "customer_id", "toCatalog": null, "toDb": "main", "toTable": "customers",
            "toColumn": "id", "constraintName": null}])
        )
    );
    assert_eq!(
        orders.get("joins"),
        Some(
            &json!([{"to": "customers", "on": "customer_id = customers.id", "relationship": "many_to_one"}])
        )
    );
}

#[tokio::test]
async fn the_roles_of_a_table_are_named() {
    let project = TestProject::new();
    let join = |column: &str| {
        format!("{{to: customers, 'on': {column} = customers.id, relationship: many_to_one}}")
    };
    let (buyer, patron) = (join("buyer_id"), join("patron_id"));
    let text = format!(
        "name: orders\ntable: main.orders\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  \
         - {{name: buyer_id, type: number}}\n  - {{name: patron_id, type: number}}\njoins:\n  - {buyer}\n  - {patron}\n"
    );
    project.write("semantic-layer/warehouse/orders.yaml", &text);
    let orders = one(&project, json!({"table": "orders"})).await;
    let joins = orders.get("joins").and_then(Value::as_array);
    let paths = joins.into_iter().flatten().map(|join| &join["path"]);
    assert_eq!(paths.collect::<Vec<_>>(), ["orders.buyer", "orders.patron"]);
    let found = project
        .data(
            "discover_data",
            json!({"query": "patron", "kinds": ["sl_source"]}),
        )
        .await;
    assert_eq!(found["refs"][0]["id"], "orders");
}

#[tokio::test]
async fn a_miss_names_near_candidates_only() {
    let project = TestProject::new();
    let error = async |entity: Value| {
        one(&project, entity)
            .await
            .get("error")
            .cloned()
            .unwrap_or_default()
    };
    assert_eq!(
        error(json!({"table": "order"})).await,
        json!({"code": "table_not_found",
            "message": "there is no table `order` in the last scan; find tables with `discover_data`",
            "candidates": ["main.orders"]})
    );
    assert_eq!(
        error(json!({"table": "zzzzzz"})).await,
        json!({"code": "table_not_found",
            "message": "there is no table `zzzzzz` in the last scan; find tables with `discover_data`"})
    );
    assert_eq!(
        error(json!({"table": "orders", "columns": ["states"]})).await,
        json!({"code": "column_not_found", "message": "`main.orders` has no column `states`",
            "candidates": ["status"]})
    );
}

#[tokio::test]
async fn says_what_to_run_when_there_is_no_scan_and_what_is_ambiguous() {
    let project = TestProject::new();
    project.write(
        "raw-sources/warehouse/live-database/2026-02-01-000000-new/tables/other.json",
        r#"{"catalog": null, "db": "archive", "name": "orders", "kind": "view", "comment": null, "estimatedRows": null, "columns": [], "foreignKeys": []}"#,
    );
    let ambiguous = one(&project, json!({"table": "orders"})).await;
    assert_eq!(
        ambiguous,
        json!({"ok": false, "connectionId": "warehouse", "table": "orders", "snapshot": snapshot(),
            "error": {"code": "ambiguous_table", "message": "2 tables are called `orders`; give the full name",
                "candidates": ["archive.orders", "main.orders"]}})
    );
    for sync in ["2026-01-01-000000-old", "2026-02-01-000000-new"] {
        project.remove(&format!(
            "raw-sources/warehouse/live-database/{sync}/connection.json"
        ));
    }
    assert_eq!(
        one(&project, json!({"table": "orders"})).await,
        json!({"ok": false, "connectionId": "warehouse", "table": "orders",
            "error": {"code": "scan_missing", "message": "`warehouse` was never scanned; run `ktx scan warehouse`"}})
    );
}
