//! Size and contents of the tool list.

use serde_json::{Value, json};

use super::client::{Client, check};
use super::served::Server;
use crate::notes::{captures, local};
use crate::support::shop;

/// Four bytes each.
fn tokens(list: &Value) -> usize {
    list.to_string().len() / 4
}

fn arguments(list: &Value) -> Value {
    let tools = list["tools"].as_array().expect("tools").iter();
    let named = tools.map(|tool| {
        let properties = tool["inputSchema"]["properties"].as_object();
        let names = properties.into_iter().flatten().map(|(name, _)| name);
        let names: Vec<&str> = names.map(String::as_str).collect();
        let name = tool["name"].as_str().expect("a name").to_owned();
        (name, json!(names.join(" ")))
    });
    Value::Object(named.collect())
}

#[test]
fn the_whole_list_names_every_argument_in_2000_tokens() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    client.initialize();
    let list = client.ask("tools/list", json!({}));
    assert!(tokens(&list) <= 2000, "{}", tokens(&list));
    check(
        &sandbox,
        "arguments",
        &arguments(&list),
        r#"
{
  "connection_list": "maxTokens cursor format",
  "dictionary_search": "values connectionId maxTokens cursor format",
  "discover_data": "query connectionId kinds limit maxTokens cursor format",
  "entity_details": "connectionId entities maxTokens cursor format",
  "sl_query": "connectionId measures dimensions filters segments order_by limit limit_per include_empty fill totals others across weight include maxTokens cursor format",
  "sl_read_source": "connectionId sourceName maxTokens cursor format",
  "sql_execution": "connectionId sql maxRows maxTokens cursor format",
  "wiki_read": "key maxTokens cursor format",
  "wiki_search": "query limit maxTokens cursor format"
}
"#,
    );
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

#[test]
fn with_the_tools_that_take_notes_it_has_2400() {
    let sandbox = local(&captures());
    let mut client = Client::start(&sandbox);
    client.initialize();
    let list = client.ask("tools/list", json!({}));
    assert_eq!(list["tools"].as_array().map(Vec::len), Some(11));
    assert!(tokens(&list) <= 2400, "{}", tokens(&list));
    client.close();
}

/// Five tools with the full profile's arguments.
#[test]
fn the_core_profile_has_600() {
    let sandbox = shop();
    let mut client = Client::start_with(&sandbox, &["--tools", "core"]);
    let hello = client.initialize();
    let words = hello["instructions"].as_str().unwrap_or_default();
    for absent in ["entity_details", "dictionary_search", "memory_ingest"] {
        assert!(!words.contains(absent), "{absent}");
    }
    let list = client.ask("tools/list", json!({}));
    assert!(tokens(&list) <= 600, "{}", tokens(&list));
    check(
        &sandbox,
        "arguments",
        &arguments(&list),
        r#"
{
  "discover_data": "query limit",
  "sl_query": "measures dimensions filters order_by limit",
  "sl_read_source": "sourceName",
  "sql_execution": "connectionId sql",
  "wiki_read": "key"
}
"#,
    );
    let query =
        json!({ "measures": ["orders.revenue"], "segments": ["orders.paid"], "include": ["plan"] });
    assert!(client.call("sl_query", query)["plan"].is_object());
    let absent = client.call("entity_details", json!({ "entities": ["orders"] }));
    assert_eq!(absent["isError"], json!(true));
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

#[test]
fn the_core_profile_is_served_over_http() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "--tools core");
    let list = server.session().ask("tools/list", &json!({}));
    let names: Vec<&str> = list["tools"].as_array().map_or_else(Vec::new, |tools| {
        tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect()
    });
    assert_eq!(
        names,
        [
            "discover_data",
            "sl_query",
            "sl_read_source",
            "sql_execution",
            "wiki_read"
        ]
    );
    assert!(tokens(&list) <= 600, "{}", tokens(&list));
    let again = server.told("mcp start --port 0 --tools core");
    assert!(again.contains("already running"), "{again}");
    let other = server.told("mcp start --port 0");
    assert!(other.contains("a server with other settings"), "{other}");
}

/// Other clients' lists do not change.
#[test]
fn clients_that_show_pages_learn_of_the_page_for_results() {
    let sandbox = shop();
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/ui": {} } });
    let mut client = Client::able_to(&sandbox, &capabilities);
    let list = client.ask("tools/list", json!({}));
    let tools = list["tools"].as_array().expect("tools").iter();
    let shown = tools.filter(|tool| !tool["_meta"].is_null());
    let shown: Vec<Value> = shown
        .map(|tool| json!([tool["name"], tool["_meta"]]))
        .collect();
    let page = json!({ "ui": { "resourceUri": "ui://ktx/result" } });
    assert_eq!(
        shown,
        [json!(["sl_query", page]), json!(["sql_execution", page])]
    );
    let read = client.ask("resources/read", json!({ "uri": "ui://ktx/result" }));
    let contents = &read["contents"][0];
    assert_eq!(contents["mimeType"], "text/html;profile=mcp-app");
    let text = contents["text"].as_str().expect("a page");
    assert!(text.starts_with("<!doctype html>"), "{text}");
    client.close();
}
