//! Nothing of hidden columns is shown.

use ktx_context_tools::search_sources;
use serde_json::{Value, json};

use crate::project::TestProject;

const STAFF: &str = r#"{"catalog": null, "db": "main", "name": "staff", "kind": "table", "comment": null, "estimatedRows": 2,
    "columns": [
      {"name": "id", "nativeType": "INTEGER", "normalizedType": "INTEGER", "dimensionType": "number", "nullable": false, "primaryKey": true, "comment": null},
      {"name": "team", "nativeType": "TEXT", "normalizedType": "TEXT", "dimensionType": "string", "nullable": true, "primaryKey": false, "comment": null},
      {"name": "badge", "nativeType": "TEXT", "normalizedType": "TEXT", "dimensionType": "string", "nullable": true, "primaryKey": false, "comment": null},
      {"name": "home_town", "nativeType": "TEXT", "normalizedType": "TEXT", "dimensionType": "string", "nullable": true, "primaryKey": false, "comment": null}],
    "foreignKeys": []}"#;

const SHARD: &str = "tables:\n  staff:\n    table: main.staff\n    columns:\n      - {name: id, type: number, pk: true, nullable: false}\n      - {name: team, type: string}\n      - {name: badge, type: string}\n      - {name: home_town, type: string}\n";

const OVERLAY: &str = "name: staff\nexclude_columns: [home_town]\ncolumn_overrides:\n  - {name: badge, visibility: hidden}\n";

const SCAN: &str = "raw-sources/warehouse/live-database/2026-02-01-000000-new";

fn project() -> TestProject {
    let project = TestProject::new();
    project.remove("semantic-layer/warehouse/broken.yaml");
    project.write(&format!("{SCAN}/tables/staff.json"), STAFF);
    project.write(
        &format!("{SCAN}/enrichment/relationship-profile.json"),
        r#"{"columns": {
            "staff.team": {"table": "staff", "column": "team", "sampleValues": ["kestrel"]},
            "staff.badge": {"table": "staff", "column": "badge", "sampleValues": ["kestrel-badge"]},
            "staff.home_town": {"table": "staff", "column": "home_town", "sampleValues": ["kestrel-town"]}}}"#,
    );
    project.write("semantic-layer/warehouse/_schema/staff.yaml", SHARD);
    project.write("semantic-layer/warehouse/staff.yaml", OVERLAY);
    project
}

async fn everything(project: &TestProject) -> String {
    let mut all = Vec::new();
    for (tool, asked) in [
        (
            "entity_details",
            json!({"connectionId": "warehouse", "entities": [{"table": "staff"}]}),
        ),
        ("dictionary_search", json!({"values": ["kestrel"]})),
        ("discover_data", json!({"query": "kestrel"})),
        ("discover_data", json!({"query": "badge home_town"})),
    ] {
        all.push(project.data(tool, asked).await);
    }
    let (hits, _) = search_sources(&*project.context, "kestrel", None, 0)
        .await
        .expect("an answer");
    all.push(serde_json::to_value(hits).expect("an answer"));
    serde_json::to_string(&all).expect("an answer")
}

#[tokio::test]
async fn hidden_and_excluded_columns_are_shown_nowhere() {
    let project = project();
    let shown = everything(&project).await;
    assert!(shown.contains("\"kestrel\""), "{shown}");
    assert!(!shown.contains("kestrel-"), "{shown}");
    assert!(!shown.contains("badge"), "{shown}");
    assert!(!shown.contains("home_town"), "{shown}");
    let index = std::fs::read(project.folder.path().join(".ktx/state/search.sqlite")).unwrap();
    let log = std::fs::read(project.folder.path().join(".ktx/state/search.sqlite-wal"));
    let stored = String::from_utf8_lossy(&[index, log.unwrap_or_default()].concat()).into_owned();
    assert!(stored.contains("kestrel") && !stored.contains("kestrel-"));
}

#[tokio::test]
async fn a_hidden_column_is_told_apart_from_one_that_is_not_there() {
    let project = project();
    let asked = |columns: Value| json!({"connectionId": "warehouse", "entities": [{"table": "staff", "columns": columns}]});
    let found = project.data("entity_details", asked(json!([]))).await;
    assert_eq!(found.pointer("/results/0/hiddenColumns"), Some(&json!(2)));
    let hidden = project
        .data("entity_details", asked(json!(["badge"])))
        .await;
    assert_eq!(
        hidden.pointer("/results/0/error"),
        Some(
            &json!({"code": "column_hidden", "message": "column `badge` of `main.staff` is hidden by the semantic layer"})
        )
    );
}

#[tokio::test]
async fn a_column_that_is_hidden_later_leaves_the_index() {
    let project = project();
    project.remove("semantic-layer/warehouse/staff.yaml");
    assert!(everything(&project).await.contains("kestrel-badge"));
    project.write("semantic-layer/warehouse/staff.yaml", OVERLAY);
    assert!(!everything(&project).await.contains("kestrel-"));
}

#[tokio::test]
async fn no_values_are_shown_while_the_file_that_hides_cannot_be_read() {
    let project = project();
    let overlay = "semantic-layer/warehouse/staff.yaml";
    for broken in [
        "name: staff\nexclude_columns: [\n",
        "name: staff\nnmae: x\n",
    ] {
        project.write(overlay, broken);
        assert!(!everything(&project).await.contains("kestrel-"), "{broken}");
    }
    let asked = json!({"connectionId": "warehouse", "entities": [{"table": "staff"}]});
    let found = project.data("entity_details", asked).await;
    assert_eq!(
        found.get("warnings"),
        Some(&json!([
            "no values of `main.staff` are shown: a source file that may hide some of its columns cannot be used; `ktx sl validate` says which"
        ]))
    );
    // Also if the overlay is sound and its table is gone.
    project.write(overlay, OVERLAY);
    project.remove("semantic-layer/warehouse/_schema/staff.yaml");
    assert!(!everything(&project).await.contains("kestrel-"));
    // A standalone source hides as well, even for a table whose artifact is unreadable.
    project.remove(overlay);
    project.write(
        "semantic-layer/warehouse/people.yaml",
        "name: people\ntable: main.staff\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: badge, type: string, visibility: hidden}\n  - {name: town, expr: home_town, type: string, visibility: hidden}\n",
    );
    assert!(!everything(&project).await.contains("kestrel-"));
    project.write(&format!("{SCAN}/tables/staff.json"), "{");
    assert!(!everything(&project).await.contains("kestrel-"));
}
