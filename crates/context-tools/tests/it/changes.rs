//! Files that change under a running server.

use std::sync::PoisonError;

use ktx_context_tools::context_tools;
use ktx_tool_descriptors::CallContext;
use serde_json::{Value, json};

use crate::project::TestProject;

async fn keys(project: &TestProject, query: &str) -> Vec<String> {
    let found = project.data("wiki_search", json!({"query": query})).await;
    let results = found
        .get("results")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    results
        .iter()
        .filter_map(|hit| hit.get("key").and_then(Value::as_str).map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn new_changed_and_removed_pages_are_seen_at_once() {
    let project = TestProject::new();
    assert_eq!(keys(&project, "loyalty").await, Vec::<String>::new());
    project.write(
        "wiki/global/loyalty.md",
        "---\nsummary: Loyalty points\n---\n",
    );
    assert_eq!(keys(&project, "loyalty").await, ["loyalty"]);
    project.write(
        "wiki/global/loyalty.md",
        "---\nsummary: Something else now\n---\n",
    );
    assert_eq!(keys(&project, "points").await, Vec::<String>::new());
    project.remove("wiki/global/loyalty.md");
    assert_eq!(keys(&project, "something").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_changed_source_answers_with_its_new_measure() {
    let project = TestProject::new();
    let ask = json!({"measures": ["people.n"]});
    assert!(
        project
            .failure("sl_query", ask.clone())
            .await
            .starts_with("unknown_")
    );
    project.write(
        "semantic-layer/warehouse/people.yaml",
        "name: people\nsql: select id from customers\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\nmeasures:\n  - {name: n, expr: count(id)}\n",
    );
    assert_eq!(
        project.data("sl_query", ask).await.get("rows"),
        Some(&json!([[3]]))
    );
}

/// Restores the time of modification, as `rsync -t --inplace` does.
fn edit_in_place(project: &TestProject, path: &str, from: &str, to: &str) {
    use std::io::Write as _;

    assert_eq!(from.len(), to.len());
    let path = project.folder.path().join(path);
    let modified = std::fs::metadata(&path)
        .expect("the file is there")
        .modified()
        .expect("the file is there");
    let text = std::fs::read_to_string(&path).expect("the file is there");
    let mut file = std::fs::File::options()
        .write(true)
        .open(&path)
        .expect("the file is there");
    file.write_all(text.replace(from, to).as_bytes())
        .expect("the file is there");
    file.set_modified(modified).expect("the file is there");
}

#[tokio::test]
async fn an_edit_in_place_is_seen_by_this_server_and_the_next() {
    let project = TestProject::new();
    let path = "semantic-layer/warehouse/people.yaml";
    project.write(
        path,
        "name: people\nsql: select id from customers\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\nmeasures:\n  - {name: n, expr: min(id), description: the first herald}\n",
    );
    let ask = json!({"measures": ["people.n"]});
    let rows = |answer: Value| answer.get("rows").cloned();
    let least = rows(project.data("sl_query", ask.clone()).await);
    assert_eq!(least, Some(json!([[1]])));
    let found = async |project: &TestProject, word: &str| {
        let asked = json!({"query": word, "kinds": ["sl_measure"]});
        let found = project.data("discover_data", asked).await;
        found.get("refs").and_then(Value::as_array).map(Vec::len)
    };
    assert_eq!(found(&project, "herald").await, Some(1));
    edit_in_place(&project, path, "min(id)", "max(id)");
    let most = rows(project.data("sl_query", ask).await);
    assert_eq!(most, Some(json!([[3]])));
    edit_in_place(&project, path, "herald", "falcon");
    let next = project.seen_by_another();
    assert_eq!(found(&next, "falcon").await, Some(1));
    assert_eq!(found(&project, "herald").await, Some(0));
}

#[tokio::test]
async fn settings_are_read_again_and_connectors_kept_while_they_stay() {
    let project = TestProject::new();
    let sql = json!({"connectionId": "warehouse", "sql": "select 1 as one"});
    let opened = || {
        project
            .warehouses
            .opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    };
    project.data("connection_list", json!({})).await;
    project
        .data("wiki_search", json!({"query": "revenue"}))
        .await;
    assert_eq!(opened(), 0);
    project.data("sql_execution", sql.clone()).await;
    project.data("sql_execution", sql.clone()).await;
    assert_eq!(opened(), 1);
    project.write(
        "ktx.yaml",
        "connections:\n  warehouse:\n    driver: sqlite\n    path: elsewhere.db\n",
    );
    project.data("sql_execution", sql.clone()).await;
    assert_eq!(opened(), 2);
    project.write("ktx.yaml", "connections: [\n");
    let text = project.failure("sql_execution", sql).await;
    assert!(text.contains("ktx.yaml:"), "{text}");
    project.remove("ktx.yaml");
    assert_eq!(
        project.failure("connection_list", json!({})).await,
        "missing_project: there is no `ktx.yaml` here\nhint: run `ktx setup`, or name the project with `--project-dir`"
    );
}

#[tokio::test]
async fn the_index_file_is_the_only_thing_written() {
    let project = TestProject::new();
    project
        .data("discover_data", json!({"query": "revenue"}))
        .await;
    let mut names: Vec<String> = std::fs::read_dir(project.folder.path().join(".ktx/state"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    names.sort();
    assert_eq!(names, [".gitignore", "search.sqlite"]);
}

#[tokio::test]
async fn two_servers_share_one_index_file() {
    let project = TestProject::new();
    let other = project.seen_by("local");
    let query = json!({"query": "loyalty"});
    project.data("wiki_search", query.clone()).await;
    project.write(
        "wiki/global/loyalty.md",
        "---\nsummary: Loyalty points\n---\n",
    );
    let (left, right) = tokio::join!(keys(&project, "loyalty"), async {
        let tools = context_tools(&other).unwrap();
        let call = CallContext::detached("other");
        tools
            .call("wiki_search", query, call)
            .await
            .unwrap()
            .structured
    });
    assert_eq!(left, ["loyalty"]);
    assert_eq!(right.unwrap().get("totalFound"), Some(&json!(1)));
}

#[tokio::test]
async fn a_folder_that_cannot_hold_the_index_is_searched_in_memory() {
    let project = TestProject::new();
    project.write(".ktx/state", "a file where the folder should be");
    assert_eq!(keys(&project, "refunds").await, ["returns"]);
}

#[tokio::test]
async fn a_broken_artifact_is_told_beside_the_answer() {
    let project = TestProject::new();
    project.write(
        "raw-sources/warehouse/live-database/2026-02-01-000000-new/tables/broken.json",
        "{",
    );
    let asked = json!({"connectionId": "warehouse", "entities": [{"table": "orders"}]});
    let answer = project.data("entity_details", asked).await;
    assert_eq!(answer.pointer("/results/0/ok"), Some(&json!(true)));
    assert_eq!(
        answer.get("warnings"),
        Some(&json!([
            "2026-02-01-000000-new/tables/broken.json: EOF while parsing an object at line 1 column 1"
        ]))
    );
}

#[tokio::test]
async fn users_share_the_index_and_see_their_own_pages_only() {
    let project = TestProject::new();
    let other = context_tools(&project.seen_by("other")).unwrap();
    let search = async |query: &str| {
        let call = CallContext::detached("other");
        let found = other
            .call("wiki_search", json!({"query": query}), call)
            .await
            .unwrap();
        found
            .structured
            .unwrap_or_default()
            .pointer("/results/0/path")
            .cloned()
    };
    for _ in 0..2 {
        assert_eq!(keys(&project, "refunds").await, ["returns"]);
        assert_eq!(
            search("refunds").await,
            Some(json!("wiki/user/other/secret.md"))
        );
        assert_eq!(
            search("returns").await,
            Some(json!("wiki/global/returns.md"))
        );
    }
}
