//! Lists, finds and reads semantic sources.

use ktx_context_tools::{list_sources, read_source, search_sources};
use serde_json::json;

use crate::project::TestProject;

#[tokio::test]
async fn lists_sources_and_what_is_wrong_with_files() {
    let project = TestProject::new();
    let list = list_sources(&*project.context, None).await.unwrap();
    let shown: Vec<String> = list
        .items
        .iter()
        .map(|item| {
            format!(
                "{} {} {} {} {} {}",
                item.connection_id,
                item.name,
                item.path,
                item.column_count,
                item.measure_count,
                item.join_count
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "warehouse broken semantic-layer/warehouse/broken.yaml 0 0 0",
            "warehouse customers semantic-layer/warehouse/_schema/public.yaml#customers 3 0 0",
            "warehouse orders semantic-layer/warehouse/orders.yaml 4 2 1",
        ]
    );
    let files: Vec<&str> = list
        .diagnostics
        .iter()
        .filter_map(|found| found.location.as_ref().map(|place| place.file.as_str()))
        .collect();
    assert_eq!(files, ["semantic-layer/warehouse/broken.yaml"]);
}

#[tokio::test]
async fn finds_sources_by_words_and_by_values() {
    let project = TestProject::new();
    let (hits, warnings) = search_sources(&*project.context, "returned", Some("warehouse"), 0)
        .await
        .unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let shown = serde_json::to_value(&hits).unwrap();
    assert_eq!(
        shown.pointer("/0/dictionaryMatches"),
        Some(&json!([{"column": "status", "values": ["returned"]}]))
    );
    assert_eq!(shown.pointer("/0/name"), Some(&json!("orders")));
    assert_eq!(
        shown.pointer("/0/matchReasons"),
        Some(&json!(["dictionary"]))
    );
    assert_eq!(
        shown.pointer("/0/lanes/3/reason"),
        Some(&json!("embedding_unconfigured"))
    );
    assert_eq!(hits.len(), 1);
    let all = search_sources(&*project.context, "returned", None, usize::MAX)
        .await
        .unwrap();
    assert_eq!(all.0.len(), 1);
}

#[tokio::test]
async fn reads_one_source_and_proposes_near_names() {
    let project = TestProject::new();
    let source = read_source(&*project.context, None, "orders")
        .await
        .unwrap();
    assert!(source.yaml.starts_with("name: orders\n"), "{}", source.yaml);
    let yaml = project
        .data(
            "sl_read_source",
            json!({"connectionId": "warehouse", "sourceName": "customers"}),
        )
        .await;
    let yaml = yaml
        .get("yaml")
        .and_then(serde_json::Value::as_str)
        .unwrap();
    assert!(yaml.contains("country"), "{yaml}");
    assert_eq!(
        project
            .failure(
                "sl_read_source",
                json!({"connectionId": "warehouse", "sourceName": "order"})
            )
            .await,
        "unknown_source: unknown source `order`\nhint: try `orders`\n\
         send instead: {\"connectionId\":\"warehouse\",\"sourceName\":\"orders\"}"
    );
    assert_eq!(
        project
            .failure(
                "sl_read_source",
                json!({"connectionId": "nope", "sourceName": "orders"})
            )
            .await,
        "unknown_connection: there is no connection `nope`\nhint: use one of `warehouse`, `handbook`\n\
         send instead: {\"connectionId\":\"warehouse\",\"sourceName\":\"orders\"}"
    );
}
