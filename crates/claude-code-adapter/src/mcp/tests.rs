//! Tests of the tool server, message by message.

use ktx_tool_descriptors::{
    LONGEST_RESULT, ToolDescriptor, ToolError, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use serde_json::{Value, json};

use super::{McpAnswer, ToolServer, tool_id, tool_name};

fn server() -> ToolServer {
    let tool = |name: &str, effect| ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({ "type": "object", "properties": {} }),
        output_schema: Some(json!({ "type": "object" })),
        effect,
        handler: handler_fn(|_, _| Ok(ToolOutput::text("done"))),
    };
    let tools = ToolSet::new(vec![
        tool("read", WriteEffect::ReadOnly),
        tool("emit", WriteEffect::Writes),
    ])
    .unwrap();
    ToolServer::new(tools, "1.2.3")
}

#[track_caller]
fn check(message: &Value, expected: &Value) {
    assert_eq!(server().answer(message), McpAnswer::Reply(expected.clone()));
}

#[test]
fn the_handshake_is_answered() {
    check(
        &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25" } }),
        &json!({ "jsonrpc": "2.0", "id": 0, "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "ktx", "version": "1.2.3" },
        } }),
    );
    check(
        &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        &json!({ "jsonrpc": "2.0", "result": {}, "id": 0 }),
    );
    check(
        &json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" }),
        &json!({ "jsonrpc": "2.0", "id": "p", "result": {} }),
    );
    check(
        &json!({ "jsonrpc": "2.0", "id": 9, "method": "resources/list" }),
        &json!({ "jsonrpc": "2.0", "id": 9, "error": { "code": -32601, "message": "Method not found" } }),
    );
}

/// KTX-57.
#[test]
fn tools_are_listed_with_their_size_limit_and_read_only_mark() {
    let meta = json!({ "anthropic/maxResultSizeChars": 500_000, "anthropic/alwaysLoad": true });
    check(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
        &json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [
            {
                "name": "emit",
                "description": "Does emit.",
                "inputSchema": { "type": "object", "properties": {} },
                "_meta": meta,
            },
            {
                "name": "read",
                "description": "Does read.",
                "inputSchema": { "type": "object", "properties": {} },
                "annotations": { "readOnlyHint": true },
                "_meta": meta,
            },
        ] } }),
    );
}

#[test]
fn calls_carry_the_models_id() {
    let message = json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {
        "name": "emit", "arguments": { "key": "k" },
        "_meta": { "claudecode/toolUseId": "toolu_1", "progressToken": 4 },
    } });
    assert_eq!(
        server().answer(&message),
        McpAnswer::Call {
            rpc: json!(4),
            name: "emit".to_owned(),
            arguments: json!({ "key": "k" }),
            call_id: Some("toolu_1".to_owned()),
        }
    );
}

#[test]
fn a_cancelled_call_is_named() {
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 4, "reason": "x" } });
    assert_eq!(
        server().answer(&message),
        McpAnswer::Cancel {
            rpc: json!(4),
            reply: json!({ "jsonrpc": "2.0", "result": {}, "id": 0 }),
        }
    );
}

/// KTX-54.
#[test]
fn results_are_markdown_and_errors_are_marked() {
    let mut server = server();
    let output = ToolOutput::new("**two**", json!({ "rows": 2 }));
    assert_eq!(
        server.result_message(&json!(4), &Ok(output)),
        json!({ "jsonrpc": "2.0", "id": 4, "result": { "content": [{ "type": "text", "text": "**two**" }] } })
    );
    assert_eq!(
        server.result_message(&json!(5), &Err(ToolError::new("no such table"))),
        json!({ "jsonrpc": "2.0", "id": 5, "result": { "content": [{ "type": "text", "text": "no such table" }], "isError": true } })
    );
}

fn text_of(message: &Value) -> String {
    message
        .pointer("/result/content/0/text")
        .and_then(Value::as_str)
        .unwrap()
        .to_owned()
}

#[test]
fn a_long_result_is_read_in_parts() {
    let mut server = server();
    let whole = "ä🙂".repeat(400_000);
    let first = text_of(&server.result_message(&json!(1), &Ok(ToolOutput::text(whole.clone()))));
    assert!(first.encode_utf16().count() <= LONGEST_RESULT);
    let (mut read, note) = first.split_once("\n\n[cut: ").unwrap();
    assert_eq!(
        note,
        "700500 characters are left. Call the same tool with only {\"_cursor\": \"part-1\"} to read on.]"
    );
    let mut all = read.to_owned();
    let mut next = 1;
    while all.len() < whole.len() {
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "read", "arguments": { "_cursor": format!("part-{next}") },
        } });
        let McpAnswer::Reply(reply) = server.answer(&call) else {
            panic!("a cursor needs no call");
        };
        let part = text_of(&reply);
        read = part
            .split_once("\n\n[cut: ")
            .map_or(&*part, |(read, _)| read);
        all.push_str(read);
        next += 1;
    }
    assert_eq!((all == whole, next), (true, 3));
    let again = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "read", "arguments": { "_cursor": "part-1" },
    } });
    let McpAnswer::Reply(reply) = server.answer(&again) else {
        panic!("a cursor needs no call");
    };
    assert_eq!(
        reply,
        json!({ "jsonrpc": "2.0", "id": 2, "result": {
            "content": [{ "type": "text", "text": "this part does not exist or was read already" }],
            "isError": true,
        } })
    );
}

#[test]
fn ids_go_both_ways() {
    assert_eq!(tool_name(&tool_id("emit")), Some("emit"));
    assert_eq!(tool_name("mcp__other__emit"), None);
    assert_eq!(tool_name("Bash"), None);
}
