//! `discover_data`, `dictionary_search` and `connection_list`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::project::TestProject;

fn refs(found: &Value) -> Vec<String> {
    found
        .get("refs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|found| {
            let text = |key: &str| {
                found
                    .get(key)
                    .and_then(Value::as_str)
                    .unwrap_or("-")
                    .to_owned()
            };
            format!(
                "{} {} {} on {}",
                text("kind"),
                text("id"),
                found.get("score").cloned().unwrap_or_default(),
                text("matchedOn")
            )
        })
        .collect()
}

#[tokio::test]
async fn lists_connections_of_both_kinds() {
    let project = TestProject::new();
    let output = project.call("connection_list", json!({})).await.unwrap();
    assert_eq!(
        output.markdown,
        r#"{"connections":[{"id":"warehouse","name":"warehouse","connectionType":"SQLITE"},{"id":"handbook","name":"handbook","connectionType":"notion"}]}"#
    );
}

#[tokio::test]
async fn finds_things_of_every_kind_measures_first_and_each_once() {
    let project = TestProject::new();
    let found = project
        .data("discover_data", json!({"query": "revenue"}))
        .await;
    assert_eq!(
        refs(&found),
        [
            "sl_measure orders.revenue 1.0 on name",
            "wiki revenue-policy 1.0 on name",
            "sl_source orders 0.984 on body",
        ]
    );
    let found = project
        .data(
            "discover_data",
            json!({"query": "country SE", "kinds": ["column", "sl_dimension"]}),
        )
        .await;
    assert_eq!(
        found,
        json!({"refs": [
            {"kind": "sl_dimension", "id": "customers.country", "score": 1.0, "summary": "ISO code of the country",
             "snippet": "country", "matchedOn": "name", "connectionId": "warehouse",
             "tableRef": {"catalog": null, "db": "main", "name": "customers"}, "columnName": "country"},
        ], "warnings": ["semantic-layer/warehouse/broken.yaml:3:1: did not find expected node content"]})
    );
}

#[tokio::test]
async fn words_lead_to_measures_or_to_the_list_of_them() {
    let project = TestProject::new();
    let mut shown = String::new();
    for query in [
        "are returned orders subtracted",
        "average order value",
        "number of people",
        "how many orders per country",
        "total weight",
        "volcano",
    ] {
        let found = project.data("discover_data", json!({"query": query})).await;
        writeln!(shown, "{query}").expect("a text");
        for entry in found["refs"].as_array().into_iter().flatten() {
            let text = |key: &str| entry[key].as_str().unwrap_or("-").to_owned();
            let (kind, id) = (text("kind"), text("id"));
            let (confidence, summary) = (text("confidence"), text("summary"));
            writeln!(shown, "  {kind} {id} {confidence}: {summary}").expect("a text");
        }
        for note in found["notes"].as_array().into_iter().flatten() {
            writeln!(shown, "  note {note}").expect("a text");
        }
    }
    insta::assert_snapshot!("words_and_measures", shown);
}

#[tokio::test]
async fn finds_by_value_and_restricts_the_connection() {
    let project = TestProject::new();
    let found = project
        .data(
            "discover_data",
            json!({"query": "shipped", "connectionId": "warehouse"}),
        )
        .await;
    assert_eq!(
        refs(&found),
        [
            "sl_dimension orders.status 1.0 on sample_value",
            "sl_source orders 0.984 on sample_value",
        ]
    );
    let found = project
        .data(
            "discover_data",
            json!({"query": "shipped", "connectionId": "handbook"}),
        )
        .await;
    assert_eq!(refs(&found), Vec::<String>::new());
    assert_eq!(
        project
            .failure(
                "discover_data",
                json!({"query": "x", "connectionId": "warehose"})
            )
            .await,
        "unknown_connection: there is no connection `warehose`\nhint: use one of `warehouse`\n\
         send instead: {\"query\":\"x\",\"connectionId\":\"warehouse\"}"
    );
}

#[tokio::test]
async fn looks_values_up_in_warehouses_only() {
    let project = TestProject::new();
    assert_eq!(
        project
            .data(
                "dictionary_search",
                json!({"values": ["RETURN", "se", "gone"]})
            )
            .await,
        json!({
            "searched": [{"connectionId": "warehouse", "status": "ready", "coverage": {
                "sampledRows": 3, "valuesPerColumn": 2, "profiledColumns": 2,
                "syncId": "2026-02-01-000000-new", "profiledAt": "2026-02-01T00:00:00Z",
            }}],
            "results": [
                {"value": "RETURN", "misses": [], "matches": [{"connectionId": "warehouse",
                    "sourceName": "orders", "columnName": "status", "matchedValue": "returned", "cardinality": 2}]},
                {"value": "se", "misses": [], "matches": [{"connectionId": "warehouse",
                    "sourceName": "customers", "columnName": "country", "matchedValue": "SE", "cardinality": 2}]},
                {"value": "gone", "matches": [], "misses": [{"connectionId": "warehouse", "reason": "value_not_in_sample"}]},
            ],
        })
    );
    assert_eq!(
        project
            .failure(
                "dictionary_search",
                json!({"values": ["x"], "connectionId": "handbook"})
            )
            .await,
        "not_a_warehouse: `handbook` is a context source (`notion`), not a warehouse\nhint: use one of `warehouse`\n\
         send instead: {\"values\":[\"x\"],\"connectionId\":\"warehouse\"}"
    );
}
