//! Sessions over in-process pipes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ktx_mcp_bridge::{Ended, LazyTools, ServeError, ServerIdentity, serve_stream};
use ktx_tool_descriptors::ToolSet;
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::tools::tools;

type Server = JoinHandle<Result<Ended, ServeError>>;

fn start(shutdown: &CancellationToken) -> (DuplexStream, Server) {
    serve(LazyTools::from(tools()), shutdown)
}

fn serve(tools: LazyTools, shutdown: &CancellationToken) -> (DuplexStream, Server) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let identity = ServerIdentity {
        name: "ktx".to_owned(),
        title: "ktx".to_owned(),
        version: "1.2.3".to_owned(),
        instructions: "Look first.".to_owned(),
    };
    let server = tokio::spawn(serve_stream(
        tools.into(),
        identity,
        Box::new(reader),
        Box::new(writer),
        shutdown.clone(),
    ));
    (ours, server)
}

struct Lines {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Lines {
    async fn open(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let mut lines = Self {
            reader: BufReader::new(reader),
            writer,
        };
        lines
            .send(
                &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": "2025-06-18", "capabilities": {},
                    "clientInfo": {"name": "test", "version": "0"},
                }}),
            )
            .await;
        let answer = lines.receive().await;
        assert_eq!(
            answer.pointer("/result").expect("initialize is answered"),
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"logging": {}, "tools": {"listChanged": true}},
                "serverInfo": {"name": "ktx", "title": "ktx", "version": "1.2.3"},
                "instructions": "Look first.",
            })
        );
        lines
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        lines
    }

    async fn send(&mut self, message: &Value) {
        self.writer
            .write_all(format!("{message}\n").as_bytes())
            .await
            .expect("the pipe is open");
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.reader
            .read_line(&mut line)
            .await
            .expect("the pipe is open");
        serde_json::from_str(&line).expect("every line is JSON")
    }

    async fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        self.receive().await
    }
}

#[tokio::test]
async fn lists_tools_in_the_order_of_their_names_with_annotations() {
    let (stream, _server) = start(&CancellationToken::new());
    let mut client = Lines::open(stream).await;
    let answer = client.ask(1, "tools/list", json!({})).await;
    let tools = answer
        .pointer("/result/tools")
        .and_then(Value::as_array)
        .unwrap();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool.get("name").and_then(Value::as_str))
        .collect();
    assert_eq!(names, ["crash", "echo", "fail", "wait"]);
    let echo = &tools[1];
    assert_eq!(
        echo,
        &json!({
            "name": "echo",
            "title": "The echo",
            "description": "Does echo.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    );
    let fail = tools
        .get(2)
        .and_then(|tool| tool.get("annotations"))
        .unwrap();
    assert_eq!(
        fail,
        &json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false})
    );
}

#[tokio::test]
async fn answers_calls_with_text_and_structured_content() {
    let (stream, _server) = start(&CancellationToken::new());
    let mut client = Lines::open(stream).await;
    let answer = client
        .ask(
            1,
            "tools/call",
            json!({"name": "echo", "arguments": {"text": "hi"}}),
        )
        .await;
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "content": [{"type": "text", "text": "what the model sees"}],
            "structuredContent": {"text": "hi"},
            "isError": false,
        }})
    );
}

#[tokio::test]
async fn every_failure_is_a_readable_result() {
    let (stream, _server) = start(&CancellationToken::new());
    let mut client = Lines::open(stream).await;
    let cases = [
        (
            json!({"name": "fail", "arguments": {}}),
            "no such page; try `wiki_search`",
        ),
        (
            json!({"name": "nope", "arguments": {}}),
            "MCP error -32602: Tool nope not found; available: crash, echo, fail, wait",
        ),
        (
            json!({"name": "echo", "arguments": {"text": 1}}),
            "MCP error -32602: Input validation error: Invalid arguments for tool echo: /text: 1 is not of type \"string\"\nhint: correct `text`\nsend instead: {\"text\":\"1\"}",
        ),
        (
            json!({"name": "echo", "arguments": "text"}),
            "MCP error -32602: `params` must be {\"name\": text, \"arguments\": object}",
        ),
        (
            json!({"name": "crash", "arguments": {}}),
            "the tool stopped unexpectedly; this is a fault of ktx",
        ),
    ];
    let mut errors = Vec::new();
    for (params, text) in cases {
        let answer = client.ask(7, "tools/call", params).await;
        let mut result = answer["result"].clone();
        let data = result
            .as_object_mut()
            .and_then(|result| result.shift_remove("structuredContent"));
        assert_eq!(
            result,
            json!({"content": [{"type": "text", "text": text}], "isError": true})
        );
        errors.push(data.unwrap_or_default()["error"].take());
    }
    let message = "Tool nope not found; available: crash, echo, fail, wait";
    let wrong = "/text: 1 is not of type \"string\"";
    assert_eq!(
        errors,
        [
            Value::Null,
            json!({"code": "unknown_tool", "message": message}),
            json!({
                "code": "invalid_arguments", "message": wrong, "hints": ["correct `text`"],
                "suggestions": [{"text": "1"}],
            }),
            Value::Null,
            Value::Null,
        ]
    );
}

#[tokio::test]
async fn what_is_not_announced_is_refused() {
    let (stream, _server) = start(&CancellationToken::new());
    let mut client = Lines::open(stream).await;
    for method in [
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "resources/nothing",
    ] {
        let answer = client.ask(8, method, json!({})).await;
        assert_eq!(
            answer,
            json!({"jsonrpc": "2.0", "id": 8, "error": {"code": -32601, "message": method}})
        );
    }
}

#[tokio::test]
async fn tools_are_made_at_their_first_use_only_and_once() {
    let made = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&made);
    let lazy = LazyTools::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(tools())
    });
    let (stream, _server) = serve(lazy, &CancellationToken::new());
    let mut client = Lines::open(stream).await;
    assert_eq!(
        client.ask(1, "ping", json!({})).await.get("id"),
        Some(&json!(1))
    );
    assert_eq!(made.load(Ordering::SeqCst), 0);
    for id in [2, 3] {
        client.ask(id, "tools/list", json!({})).await;
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn tools_that_cannot_be_made_are_an_error_of_each_request() {
    let lazy = LazyTools::new(|| {
        let mut descriptors: Vec<_> = tools().iter().cloned().collect();
        descriptors.extend(tools().get("echo").cloned());
        ToolSet::new(descriptors)
    });
    let (stream, _server) = serve(lazy, &CancellationToken::new());
    let mut client = Lines::open(stream).await;
    let text =
        "the tools cannot be offered: tool `echo` is there twice; this is a fault of the program";
    assert_eq!(
        client.ask(1, "tools/list", json!({})).await,
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": text}})
    );
    let call = json!({"name": "echo", "arguments": {}});
    assert_eq!(
        client.ask(2, "tools/call", call).await,
        json!({"jsonrpc": "2.0", "id": 2, "result": {
            "content": [{"type": "text", "text": text}], "isError": true,
        }})
    );
}

#[tokio::test]
async fn sends_progress_only_when_asked() {
    let (stream, _server) = start(&CancellationToken::new());
    let mut client = Lines::open(stream).await;
    let params = json!({"name": "echo", "arguments": {}, "_meta": {"progressToken": "t"}});
    let first = client.ask(1, "tools/call", params).await;
    let progress = |fraction: f64, message: &str| {
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": "t", "progress": fraction, "total": 1.0, "message": message,
        }})
    };
    assert_eq!(first, progress(0.0, "Starting"));
    assert_eq!(client.receive().await, progress(1.0, "Done"));
    assert_eq!(client.receive().await.get("id"), Some(&json!(1)));
}

#[tokio::test]
async fn a_cancelled_call_gets_no_answer_and_others_go_on() {
    let (stream, _server) = start(&CancellationToken::new());
    let mut client = Lines::open(stream).await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}))
        .await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    let answer = client.ask(2, "ping", json!({})).await;
    assert_eq!(answer.get("id"), Some(&json!(2)));
}

#[tokio::test]
async fn ends_when_the_client_leaves_or_shutdown_fires() {
    let (stream, server) = start(&CancellationToken::new());
    drop(stream);
    assert_eq!(server.await.unwrap().unwrap(), Ended::InputClosed);

    let (stream, server) = start(&CancellationToken::new());
    drop(Lines::open(stream).await);
    assert_eq!(server.await.unwrap().unwrap(), Ended::InputClosed);

    let shutdown = CancellationToken::new();
    let (stream, server) = start(&shutdown);
    let _client = Lines::open(stream).await;
    shutdown.cancel();
    assert_eq!(server.await.unwrap().unwrap(), Ended::Shutdown);
}

#[tokio::test]
async fn the_official_client_understands_it() {
    let (stream, _server) = start(&CancellationToken::new());
    let client = ().serve(stream).await.unwrap();
    assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
    let call = CallToolRequestParams::new("echo")
        .with_arguments(json!({"text": "hi"}).as_object().cloned().unwrap());
    let result = client.call_tool(call).await.unwrap();
    assert_eq!(result.structured_content, Some(json!({"text": "hi"})));
    client.cancel().await.unwrap();
}

/// With id, code and message prefix of the answers.
fn no_messages() -> Vec<(&'static str, Value, i32, &'static str)> {
    let refused = "Invalid request: ";
    vec![
        (
            "{\"jsonrpc\": \"2.0\", \"id\": 1,",
            json!(null),
            -32700,
            "Parse error: EOF while parsing",
        ),
        (
            "hello",
            json!(null),
            -32700,
            "Parse error: expected value at line 1 column 1",
        ),
        ("\u{feff}nope", json!(null), -32700, "Parse error: "),
        (
            "[]",
            json!(null),
            -32600,
            "Invalid request: batches are not supported",
        ),
        (
            "7",
            json!(null),
            -32600,
            "Invalid request: a message is an object",
        ),
        ("{}", json!(null), -32600, refused),
        (
            "{\"id\": 3, \"method\": \"ping\"}",
            json!(3),
            -32600,
            "Invalid request: `jsonrpc` must be \"2.0\"",
        ),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": \"a\", \"method\": 1}",
            json!("a"),
            -32600,
            "Invalid request: `method` must be a text",
        ),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}",
            json!(null),
            -32600,
            "Invalid request: `id` must be",
        ),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"ping\"}",
            json!(null),
            -32600,
            "Invalid request: `id` must be",
        ),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": 4, \"method\": \"no/such\"}",
            json!(4),
            -32601,
            "no/such",
        ),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"tools/list\", \"params\": \"x\"}",
            json!(5),
            -32602,
            "the parameters of `tools/list` have the wrong shape",
        ),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": 6, \"method\": \"initialize\", \"params\": {\"protocolVersion\": 1}}",
            json!(6),
            -32602,
            "the parameters of `initialize` have the wrong shape",
        ),
    ]
}

#[tokio::test]
async fn what_is_no_message_is_answered() {
    let (stream, _server) = start(&CancellationToken::new());
    let mut client = Lines::open(stream).await;
    let long = format!("\"{}\"", "x".repeat(16 * 1024 * 1024));
    let too_long = "Invalid request: a line is longer than 16777216 bytes";
    let mut table = no_messages();
    table.push((long.leak(), json!(null), -32600, too_long));
    for (line, id, code, message) in table {
        client
            .writer
            .write_all(format!("{line}\r\n").as_bytes())
            .await
            .expect("the pipe is open");
        let answer = client.receive().await;
        let shown: String = line.chars().take(100).collect();
        assert_eq!(answer.get("jsonrpc"), Some(&json!("2.0")), "{shown}");
        assert_eq!(answer.get("id"), Some(&id), "{shown}: {answer}");
        assert_eq!(
            answer.pointer("/error/code"),
            Some(&json!(code)),
            "{shown}: {answer}"
        );
        let text = answer.pointer("/error/message").and_then(Value::as_str);
        assert!(
            text.is_some_and(|text| text.starts_with(message)),
            "{shown}: {answer}"
        );
    }
    // Blank lines, answers without a request, unknown notifications.
    for line in [
        "",
        "  ",
        "{\"jsonrpc\": \"2.0\", \"id\": 99, \"result\": {}}",
        "{\"jsonrpc\": \"2.0\", \"id\": null, \"error\": {\"code\": -32700, \"message\": \"Parse error\"}}",
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/nothing\", \"params\": 7}",
    ] {
        client
            .writer
            .write_all(format!("{line}\n").as_bytes())
            .await
            .expect("the pipe is open");
    }
    let answer = client.ask(8, "ping", json!({})).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 8, "result": {}}));
}

#[tokio::test]
async fn a_session_begins_after_junk() {
    let (mut stream, _server) = start(&CancellationToken::new());
    stream.write_all(b"junk\n").await.expect("the pipe is open");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\n") {
        answer.push(
            tokio::io::AsyncReadExt::read_u8(&mut stream)
                .await
                .expect("an answer"),
        );
    }
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    assert_eq!(answer.pointer("/error/code"), Some(&json!(-32700)));
    let mut client = Lines::open(stream).await;
    assert_eq!(
        client.ask(1, "ping", json!({})).await.get("id"),
        Some(&json!(1))
    );
}

/// The client has stopped reading.
#[tokio::test]
async fn an_answer_that_nobody_takes_holds_up_nothing() {
    let shutdown = CancellationToken::new();
    let (stream, server) = start(&shutdown);
    let mut client = Lines::open(stream).await;
    // Long enough to exceed the pipe's capacity.
    let method = "m".repeat(4000);
    for id in 1..=100 {
        let question = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}});
        let line = format!("{question}\n");
        let sent = tokio::time::timeout(
            std::time::Duration::from_millis(200),
            client.writer.write_all(line.as_bytes()),
        );
        if sent.await.is_err() {
            break;
        }
    }
    shutdown.cancel();
    server
        .await
        .expect("the server does not break down")
        .expect("it ends in order");
}
