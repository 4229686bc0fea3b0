//! Every tool refuses texts of ten million bytes over every transport.

use serde_json::{Value, json};

use super::client::Client;
use super::served::Server;
use crate::notes::{captures, local};
use crate::support::{compare_text, shop, write};

const BYTES: usize = 10_000_000;

/// Errors repeat the beginning and the length.
fn echo() -> String {
    format!("{}… ({BYTES} bytes)", "word.".repeat(32))
}

type Case = (&'static str, Value, String);

fn cases() -> Vec<Case> {
    let text = "word.".repeat(BYTES / 5);
    let text = text.as_str();
    let longer = |argument: &str, bytes: usize, limit: usize| {
        format!(
            "text_too_long: `{argument}` has {bytes} bytes; the limit is {limit} bytes\n\
             hint: send less in one call"
        )
    };
    let too_long = |argument: &str, limit: usize| longer(argument, BYTES, limit);
    let no_connection = |instead: &str| {
        format!(
            "unknown_connection: there is no connection `{}`\nhint: use one of `warehouse`\n\
             send instead: {{{instead},\"connectionId\":\"warehouse\"}}",
            echo()
        )
    };
    let invalid = |tool: &str, what: &str| {
        format!(
            "MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {what}"
        )
    };
    vec![
        (
            "discover_data",
            json!({ "query": text }),
            too_long("query", 4096),
        ),
        (
            "discover_data",
            json!({ "query": "paid", "connectionId": text }),
            no_connection(r#""query":"paid""#),
        ),
        (
            "wiki_search",
            json!({ "query": text }),
            too_long("query", 4096),
        ),
        ("wiki_read", json!({ "key": text }), too_long("key", 4096)),
        (
            "sl_read_source",
            json!({ "sourceName": text }),
            too_long("sourceName", 4096),
        ),
        (
            "sl_read_source",
            json!({ "sourceName": "orders", "connectionId": text }),
            no_connection(r#""sourceName":"orders""#),
        ),
        (
            "sl_query",
            json!({ "measures": [text] }),
            too_long("measures", 65536),
        ),
        (
            "sl_query",
            json!({ "measures": [{ "expr": "orders.revenue", "name": text }] }),
            longer("measures", BYTES + "orders.revenue".len(), 65536),
        ),
        (
            "sl_query",
            json!({ "measures": ["orders.revenue"], "dimensions": [text] }),
            too_long("dimensions", 65536),
        ),
        (
            "sl_query",
            json!({ "measures": ["orders.revenue"], "filters": [text] }),
            too_long("filters", 65536),
        ),
        (
            "sl_query",
            json!({ "measures": ["orders.revenue"], "segments": [text] }),
            too_long("segments", 65536),
        ),
        (
            "sl_query",
            json!({ "measures": ["orders.revenue"], "order_by": [{ "field": text }] }),
            too_long("order_by", 65536),
        ),
        (
            "sl_query",
            json!({ "measures": ["orders.revenue"], "connectionId": text }),
            no_connection(r#""measures":["orders.revenue"]"#),
        ),
        (
            "entity_details",
            json!({ "entities": [text] }),
            too_long("table", 4096),
        ),
        (
            "entity_details",
            json!({ "entities": [{ "table": { "db": text, "name": "orders" } }] }),
            too_long("table", 4096),
        ),
        (
            "entity_details",
            json!({ "entities": [{ "table": "orders", "columns": [text] }] }),
            too_long("columns", 4096),
        ),
        (
            "dictionary_search",
            json!({ "values": [text] }),
            too_long("values", 4096),
        ),
        (
            "dictionary_search",
            json!({ "values": ["paid"], "connectionId": text }),
            no_connection(r#""values":["paid"]"#),
        ),
        (
            "sql_execution",
            json!({ "sql": format!("select '{text}'") }),
            format!(
                "too_large: the SQL has {} bytes; the limit is 1048576 bytes\nhint: write it shorter \
                 or flatter, such as with `WITH` and lists, or ask in parts",
                BYTES + 9
            ),
        ),
        (
            "wiki_search",
            json!({ "query": "paid", "limit": text }),
            invalid(
                "wiki_search",
                "/limit: the value is not of types \"null\", \"integer\"\n\
                 hint: correct `limit`: the most pages (10 when left out)",
            ),
        ),
        (
            "connection_list",
            json!({ text: 1 }),
            invalid(
                "connection_list",
                &format!(
                    "(root): Additional properties are not allowed ('{}… ({} bytes)\n\
                     hint: use only the arguments `maxTokens`, `cursor`, `format`",
                    "word.".repeat(24),
                    BYTES + 57
                ),
            ),
        ),
    ]
}

fn refused(answer: &Value) -> Value {
    json!([answer["isError"], answer["content"][0]["text"]])
}

#[test]
fn every_tool_refuses_them_over_stdio_and_http() {
    let sandbox = shop();
    let server = Server::start(&sandbox, "");
    let session = server.session();
    let mut client = Client::start(&sandbox);
    client.initialize();
    let mut seen = Vec::new();
    for (tool, arguments, expected) in cases() {
        let params = json!({ "name": tool, "arguments": arguments });
        let expected = json!([true, expected]);
        assert_eq!(refused(&client.ask("tools/call", params.clone())), expected);
        // All arguments of a tool behave alike.
        if !seen.contains(&tool) {
            assert_eq!(refused(&session.ask("tools/call", &params)), expected);
            seen.push(tool);
        }
    }
    let name = "word.".repeat(BYTES / 5);
    let unknown = client.ask("tools/call", json!({ "name": name, "arguments": {} }));
    let text = unknown["content"][0]["text"].as_str().unwrap_or_default();
    let head = format!("MCP error -32602: Tool {} not found; available: ", echo());
    assert!(text.starts_with(&head), "{text}");
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

#[test]
fn a_note_of_ten_million_bytes_is_refused_at_once() {
    let sandbox = local(&captures());
    let mut client = Client::start(&sandbox);
    client.initialize();
    let note = json!({ "content": "word.".repeat(BYTES / 5) });
    let mut ask = |tool: &str, arguments: &Value| {
        refused(&client.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        ))
    };
    let expected = "the note has 10000000 characters; a note may have at most 200000";
    assert_eq!(ask("memory_ingest", &note), json!([true, expected]));
    let run = json!({ "runId": "word.".repeat(BYTES / 5) });
    let expected = format!("no note was taken under the run `{}`", echo());
    assert_eq!(ask("memory_ingest_status", &run), json!([true, expected]));
}

#[test]
fn the_command_line_refuses_them_too() {
    let sandbox = shop();
    let word = "w".repeat(5_000);
    let printed = |words: &[&str]| sandbox.run_arguments(words).expect("it runs").to_string();
    for words in [["sl", "search"], ["wiki", "search"]] {
        compare_text(
            words[0],
            &printed(&[words[0], words[1], &word]),
            "
exit: 2
--- stdout
--- stderr
Project: [SANDBOX]/work
error: `query` has 5000 bytes; the limit is 4096 bytes
",
        );
    }
    let filter = "orders.id = 1 or ".repeat(5_000);
    let query = json!({ "measures": ["orders.revenue"], "filters": [filter] });
    write(&sandbox, "query.json", &query.to_string());
    compare_text(
        "query",
        &printed(&["sl", "query", "--query-file", "query.json"]),
        "
exit: 2
--- stdout
--- stderr
Project: [SANDBOX]/work
error: `filters` has 85000 bytes; the limit is 65536 bytes
",
    );
    let echo = |quoted: usize| format!("{}… ({} bytes)", "w".repeat(160), 5_000 + quoted);
    compare_text(
        "limit",
        &printed(&["sl", "search", "paid", "--limit", &word]),
        &format!(
            "
exit: 2
--- stdout
--- stderr
error: invalid value '{} for '--limit <N>': invalid digit found in string

hint: run `ktx --help` to see its arguments
",
            // Both quotes belong to the word.
            echo(2).replacen('w', "", 1)
        ),
    );
    compare_text(
        "connection",
        &printed(&["sql", "select 1", "--connection", &word]),
        &format!(
            "
exit: 3
--- stdout
--- stderr
Project: [SANDBOX]/work
error: there is no connection `{}`

hint: use one of `warehouse`
",
            echo(0)
        ),
    );
}
