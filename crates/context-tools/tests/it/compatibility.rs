//! A project of KTX 0.12.

use std::path::Path;
use std::sync::Arc;

use ktx_context_tools::{
    Execution, FileContext, FileContextParts, IndexPlace, NoAudit, QueryRequest, Reader,
    entity_details, list_sources, list_wiki, query, search_wiki, wiki_page,
};
use ktx_context_tools::{Lanes, wire};
use ktx_semantic_layer::{Query, QueryWords};
use ktx_tool_descriptors::CallContext;
use ktx_wiki::UserId;

use crate::warehouse::TestWarehouses;

fn context(user: &str) -> FileContext {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/projects/ktx-0.12");
    FileContext::new(FileContextParts {
        root,
        user: UserId::parse(user).expect("a user id"),
        reader: Reader::Agent,
        index: IndexPlace::Memory,
        vectors: None,
        warehouses: Arc::new(TestWarehouses::default()),
        withheld: ktx_context_tools::WithheldParts::default(),
        policy: None,
        audit: Arc::new(NoAudit),
        now: std::time::SystemTime::now,
    })
}

#[tokio::test]
async fn its_pages_are_listed_found_and_read() {
    let pages = list_wiki(&context("local")).await.unwrap();
    let paths: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    assert_eq!(
        paths,
        ["wiki/global/refunded-orders.md", "wiki/global/revenue.md"]
    );
    let page = wiki_page(&context("ada"), "revenue").await.unwrap();
    assert_eq!(page.path.to_string(), "wiki/user/ada/revenue.md");
    let input = wire::WikiSearchInput {
        query: "refund".to_owned(),
        limit: None,
    };
    let found = search_wiki(&context("local"), &input, Lanes::Shown)
        .await
        .unwrap();
    let keys: Vec<&str> = found
        .results
        .iter()
        .map(|hit| hit.item.key.as_str())
        .collect();
    assert_eq!(keys, ["refunded-orders", "revenue"]);
}

#[tokio::test]
async fn its_sources_are_listed_and_compiled() {
    let context = context("local");
    let list = list_sources(&context, None).await.unwrap();
    let shown: Vec<String> = list
        .items
        .iter()
        .map(|item| {
            format!(
                "{} {} {} {}",
                item.name, item.column_count, item.measure_count, item.join_count
            )
        })
        .collect();
    assert_eq!(
        shown,
        ["customers 4 0 1", "monthly_revenue 2 1 0", "orders 6 2 1"]
    );
    assert_eq!(list.diagnostics, Vec::new());
    let words = QueryWords {
        measures: vec!["orders.net_revenue".to_owned()],
        ..QueryWords::default()
    };
    let request = QueryRequest {
        connection: None,
        query: Query::from_words(words).unwrap(),
        execution: Execution::CompileOnly,
    };
    let answer = query(&context, &request, &CallContext::detached("c"))
        .await
        .unwrap();
    assert_eq!(answer.headers(), ["net_revenue"]);
    assert_eq!(
        answer
            .plan()
            .get("execution")
            .map(ToString::to_string)
            .as_deref(),
        Some(r#"{"mode":"compile_only","reason":"execution was not asked for"}"#)
    );
}

#[tokio::test]
async fn its_scan_is_described() {
    let input: wire::EntityDetailsInput = serde_json::from_str(
        r#"{"connectionId": "warehouse", "entities": [{"table": "customers"}]}"#,
    )
    .unwrap();
    let output = entity_details(&context("local"), &input).await.unwrap();
    let value = serde_json::to_value(&output).unwrap();
    let text = |path: &str| {
        value
            .pointer(path)
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    assert_eq!(text("/results/0/ok"), "true");
    assert_eq!(text("/results/0/sourceName"), r#""customers""#);
    assert_eq!(
        text("/results/0/descriptions"),
        r#"{"ai":"One row per customer who has signed up."}"#
    );
    assert_eq!(text("/warnings"), "");
}
