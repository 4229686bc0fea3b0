//! Unreadable parts: the answer has the rest, and reports what is missing.

use std::fs;

use ktx_context_tools::{list_sources, list_wiki, search_sources};
use serde_json::{Value, json};

use crate::project::TestProject;

const SCAN: &str = "raw-sources/warehouse/live-database/2026-02-01-000000-new";

async fn found(project: &TestProject, query: &str) -> (Vec<String>, Value) {
    let found = project.data("discover_data", json!({"query": query})).await;
    let refs = found.get("refs").and_then(Value::as_array).cloned();
    let ids = refs.unwrap_or_default();
    let ids = ids
        .iter()
        .filter_map(|one| Some(one.get("id")?.as_str()?.to_owned()));
    let warnings = found.get("warnings").cloned().unwrap_or_default();
    (ids.collect(), warnings)
}

fn sound() -> TestProject {
    let project = TestProject::new();
    project.remove("semantic-layer/warehouse/broken.yaml");
    project
}

#[tokio::test]
async fn a_damaged_index_is_made_anew_and_that_is_told() {
    let project = sound();
    let path = project.folder.path().join(".ktx/state/search.sqlite");
    project.write(".ktx/state/.gitignore", "*\n");
    fs::write(&path, "this was an index once".repeat(1000)).unwrap();
    let told = json!(["the search index was damaged; ktx rebuilt it"]);
    let (ids, warnings) = found(&project, "returns").await;
    assert_eq!(
        (ids.first().map(String::as_str), warnings),
        (Some("returns"), told.clone())
    );
    assert_eq!(found(&project, "returns").await.1, Value::Null);
    // Damage inside a valid database.
    let project = sound();
    let first = project.seen_by("local");
    search_sources(&*first, "revenue", None, 0).await.unwrap();
    drop(first);
    let path = project.folder.path().join(".ktx/state/search.sqlite");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..].fill(0xaa);
    fs::write(&path, bytes).unwrap();
    let (hits, warnings) = search_sources(&*project.context, "revenue", None, 0)
        .await
        .unwrap();
    assert_eq!((hits.len(), json!(warnings)), (1, told));
}

#[tokio::test]
async fn while_another_process_writes_the_index_the_last_one_answers() {
    let project = sound();
    let path = project.folder.path().join(".ktx/state/search.sqlite");
    // Without an index, the answer reads everything.
    project.write(".ktx/state/.gitignore", "*\n");
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(found(&project, "returns").await.1, Value::Null);
    writer.execute_batch("ROLLBACK").unwrap();
    found(&project, "returns").await;
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    project.write(
        "wiki/global/loyalty.md",
        "---\nsummary: Loyalty points\n---\n",
    );
    let (ids, warnings) = found(&project, "loyalty returned").await;
    assert!(!ids.contains(&"loyalty".to_owned()), "{ids:?}");
    assert!(ids.contains(&"returns".to_owned()), "{ids:?}");
    assert_eq!(
        warnings,
        json!([
            "another process is writing the search index: what has changed since the last search may be missing; search again"
        ])
    );
    writer.execute_batch("ROLLBACK").unwrap();
    let (ids, warnings) = found(&project, "loyalty").await;
    assert_eq!((ids, warnings), (vec!["loyalty".to_owned()], Value::Null));
}

#[tokio::test]
async fn what_cannot_be_read_is_named_and_the_rest_is_found() {
    let project = sound();
    // No user can read a folder as a file.
    let (ids, _) = found(&project, "revenue").await;
    assert!(ids.contains(&"orders.revenue".to_owned()), "{ids:?}");
    for path in ["profile", "table"] {
        let artifact = match path {
            "profile" => format!("{SCAN}/enrichment/relationship-profile.json"),
            _ => format!("{SCAN}/tables/_.bWFpbg.b3JkZXJz.json"),
        };
        project.write(&artifact, "{");
    }
    project.write(
        "semantic-layer/warehouse/orders.yaml",
        "name: orders\ncolumns: [\n",
    );
    let (ids, warnings) = found(&project, "revenue").await;
    assert!(ids.contains(&"revenue-policy".to_owned()), "{ids:?}");
    let warnings = warnings.to_string();
    for part in [
        "orders.yaml:",
        "relationship-profile.json: EOF",
        "b3JkZXJz.json: EOF",
    ] {
        assert!(warnings.contains(part), "{part} in {warnings}");
    }
    // Pages alone are unaffected.
    let pages = json!({"query": "revenue", "kinds": ["wiki"]});
    assert_eq!(
        project.data("discover_data", pages).await.get("warnings"),
        None
    );
}

#[tokio::test]
async fn a_table_or_profile_that_cannot_be_read_is_not_called_missing() {
    let project = sound();
    project.write(&format!("{SCAN}/tables/_.bWFpbg.b3JkZXJz.json"), "{");
    let asked = json!({"connectionId": "warehouse", "entities": [{"table": "orders"}]});
    let answer = project.data("entity_details", asked).await;
    assert_eq!(
        answer.pointer("/results/0/error"),
        Some(&json!({"code": "table_unreadable",
            "message": "no table `orders` could be read from the last scan, and 1 of its tables could not be read at all, see `warnings`; run `ktx scan warehouse`"}))
    );
    project.write(&format!("{SCAN}/enrichment/relationship-profile.json"), "{");
    let answer = project
        .data("dictionary_search", json!({"values": ["returned"]}))
        .await;
    assert_eq!(
        answer.pointer("/searched/0"),
        Some(
            &json!({"connectionId": "warehouse", "coverage": null, "status": "profile_unreadable"})
        )
    );
    assert_eq!(
        answer.pointer("/results/0/misses"),
        Some(&json!([{"connectionId": "warehouse", "reason": "profile_unreadable"}]))
    );
}

#[cfg(unix)]
#[tokio::test]
async fn folders_behind_links_out_of_the_project_are_refused_and_named() {
    use std::os::unix::fs::symlink;

    let project = sound();
    let out = tempfile::tempdir().unwrap();
    fs::write(
        out.path().join("leak.md"),
        "---\nsummary: returns leak\n---\n",
    )
    .unwrap();
    fs::write(
        out.path().join("leak.yaml"),
        "name: leak\nsql: select 1 as id\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n",
    )
    .unwrap();
    let at = |path: &str| project.folder.path().join(path);
    symlink(out.path(), at("semantic-layer/w")).unwrap();
    symlink(out.path(), at("semantic-layer/warehouse/more")).unwrap();
    fs::rename(at("wiki/global"), at("pages")).unwrap();
    symlink(out.path(), at("wiki/global")).unwrap();
    let leads_out = "is a link that leads out of the project and is not read";
    let (ids, warnings) = found(&project, "returns leak revenue").await;
    assert!(!ids.contains(&"leak".to_owned()), "{ids:?}");
    assert!(ids.contains(&"orders.revenue".to_owned()), "{ids:?}");
    for path in [
        "wiki/global",
        "semantic-layer/w",
        "semantic-layer/warehouse/more",
    ] {
        let told = format!("`{path}` {leads_out}");
        let warnings = warnings.to_string();
        assert!(warnings.contains(&told), "{told} in {warnings}");
    }
    let failure = list_wiki(&*project.context).await.unwrap_err();
    assert_eq!(failure.message, format!("`wiki/global` {leads_out}"));
    let list = list_sources(&*project.context, None).await.unwrap();
    let names: Vec<&str> = list.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["customers", "orders"]);
    let told: Vec<String> = list
        .diagnostics
        .iter()
        .map(|found| found.message.clone())
        .collect();
    assert_eq!(
        told,
        [
            format!("`semantic-layer/w` {leads_out}"),
            format!("`semantic-layer/warehouse/more` {leads_out}")
        ]
    );
    // A link within the project counts as the folder.
    fs::remove_file(at("wiki/global")).unwrap();
    symlink(at("pages"), at("wiki/global")).unwrap();
    assert_eq!(list_wiki(&*project.context).await.unwrap().len(), 2);
}
