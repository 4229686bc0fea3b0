//! The memory of a server does not grow with the number of calls.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::{run, sandbox};

/// The caches are full before.
const WARM: usize = if cfg!(debug_assertions) { 500 } else { 2_000 };

const CALLS: usize = if cfg!(debug_assertions) {
    2_000
} else {
    20_000
};

/// In bytes; an allocator keeps some of what is freed.
const MOST_GROWTH: u64 = 6_000_000;

/// The `at`th call: each tool, refusals, and texts that no cache has seen.
fn call(at: usize) -> (&'static str, Value) {
    match at % 12 {
        0 => ("connection_list", json!({})),
        1 => (
            "discover_data",
            json!({ "query": format!("revenue word{at}") }),
        ),
        2 => (
            "wiki_search",
            json!({ "query": format!("refunds word{at}") }),
        ),
        3 => ("wiki_read", json!({ "key": "net-revenue" })),
        4 => ("sl_read_source", json!({ "sourceName": "order_items" })),
        5 => ("entity_details", json!({ "entities": ["orders"] })),
        6 => (
            "dictionary_search",
            json!({ "values": [format!("completed{at}")] }),
        ),
        7 => {
            let sql = format!("select status, {at} as n from orders limit {}", at % 50 + 1);
            ("sql_execution", json!({ "sql": sql }))
        }
        8 => {
            let filter = format!("orders.id > {at}");
            let measures = ["orders.order_count"];
            (
                "sl_query",
                json!({ "measures": measures, "filters": [filter] }),
            )
        }
        9 => (
            "sl_query",
            json!({ "measures": [format!("orders.nothing{at}")] }),
        ),
        10 => ("sql_execution", json!({ "sql": format!("selec {at}") })),
        _ => ("wiki_read", json!({ "key": format!("nothing-{at}") })),
    }
}

#[test]
fn memory_is_flat_over_thousands_of_calls() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo --json").code, Some(0));
    let mut client = Client::run(&sandbox, &["--project-dir", "ktx-demo", "mcp", "stdio"]);
    client.initialize();
    let ask = |client: &mut Client, calls: std::ops::Range<usize>| {
        for at in calls {
            let (tool, arguments) = call(at);
            client.ask(
                "tools/call",
                json!({ "name": tool, "arguments": arguments }),
            );
        }
        client.resident()
    };
    let before = ask(&mut client, 0..WARM);
    let after = ask(&mut client, WARM..CALLS);
    let growth = after.saturating_sub(before);
    assert!(growth < MOST_GROWTH, "{before} bytes, then {after}");
    assert_eq!(client.close().0, Some(0));
}
