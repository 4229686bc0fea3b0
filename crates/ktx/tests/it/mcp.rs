//! `ktx mcp stdio`: every tool, over lines of JSON-RPC and through the official client.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ktx_test_support::sandbox::Sandbox;
use ktx_test_support::services::{Service, ServiceName, service};
use serde_json::{Value, json};

use crate::support::{CONFIG, compare_text, sandbox, shop, tree, write};

/// A client that speaks lines; every line of stdout must be a message.
struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    calls: u64,
}

impl Client {
    fn start(sandbox: &Sandbox) -> Self {
        let mut child = sandbox
            .command(["mcp", "stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self {
            child,
            stdin,
            stdout,
            calls: 0,
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("the server reads");
    }

    /// Sends a request and gives the result or the error of its answer.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments are written where they are used"
    )]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the server writes");
        let mut answer: Value = serde_json::from_str(&line).expect("every line is a message");
        assert_eq!(answer["id"], json!(id), "{line}");
        let part = if answer["error"].is_null() {
            "result"
        } else {
            "error"
        };
        answer[part].take()
    }

    fn initialize(&mut self) -> Value {
        let answer = self.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "0" },
            }),
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    /// Calls a tool and gives what it says, structured when it is no error.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments are written where they are used"
    )]
    fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
        if answer["isError"] == json!(true) {
            json!({ "isError": true, "text": answer["content"][0]["text"] })
        } else if answer["structuredContent"].is_null() {
            answer
        } else {
            let text = answer["content"][0]["text"].as_str().unwrap_or_default();
            let mut text: Value = serde_json::from_str(text).expect("the text is JSON");
            // The text also warns the model that it reads data.
            if let Some(text) = text.as_object_mut() {
                text.shift_remove("_note");
            }
            assert_eq!(text, answer["structuredContent"], "{name}");
            text
        }
    }

    /// Closes the session and gives the exit code with everything that was still printed.
    fn close(self) -> (Option<i32>, String, String) {
        let Self {
            mut child,
            stdin,
            mut stdout,
            ..
        } = self;
        drop(stdin);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).expect("UTF-8");
        let mut complaints = String::new();
        let mut stderr = child.stderr.take().expect("stderr is piped");
        stderr.read_to_string(&mut complaints).expect("UTF-8");
        (child.wait().expect("it ends").code(), rest, complaints)
    }
}

#[track_caller]
fn check(sandbox: &Sandbox, what: &str, answer: &Value, expected: &str) {
    compare_text(
        what,
        &sandbox.filter(format!("{answer:#}\n").as_bytes()),
        expected,
    );
}

#[test]
fn a_session_begins_and_lists_its_tools() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    let answer = client.initialize();
    assert_eq!(
        json!([
            answer["protocolVersion"],
            answer["capabilities"],
            answer["serverInfo"]["name"],
            answer["serverInfo"]["version"]
        ]),
        json!(["2025-06-18", { "tools": { "listChanged": true } }, "ktx", env!("CARGO_PKG_VERSION")])
    );
    let list = client.ask("tools/list", json!({}));
    let tools: Vec<Value> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            json!([
                tool["name"],
                tool["annotations"]["readOnlyHint"],
                tool["inputSchema"]["type"],
                tool["outputSchema"]["type"]
            ])
        })
        .collect();
    let expected: Vec<Value> = [
        "connection_list",
        "dictionary_search",
        "discover_data",
        "entity_details",
        "sl_query",
        "sl_read_source",
        "sql_execution",
        "wiki_read",
        "wiki_search",
    ]
    .map(|name| json!([name, true, "object", "object"]))
    .to_vec();
    assert_eq!(tools, expected);
    check(
        &sandbox,
        "resources/list",
        &client.ask("resources/list", json!({})),
        r#"
{
  "resources": []
}
"#,
    );
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

#[test]
fn tools_that_look_answer() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    client.initialize();
    check(
        &sandbox,
        "connection_list",
        &client.call("connection_list", json!({})),
        r#"
{
  "connections": [
    {
      "id": "warehouse",
      "name": "warehouse",
      "connectionType": "SQLITE"
    }
  ]
}
"#,
    );
    check(
        &sandbox,
        "wiki_search",
        &client.call("wiki_search", json!({ "query": "paid" })),
        r#"
{
  "results": [
    {
      "key": "revenue",
      "path": "wiki/global/revenue.md",
      "scope": "GLOBAL",
      "summary": "Revenue counts paid orders only",
      "score": 1.0,
      "matchReasons": [
        "lexical"
      ]
    }
  ],
  "totalFound": 1
}
"#,
    );
    check(
        &sandbox,
        "wiki_read",
        &client.call("wiki_read", json!({ "key": "revenue" })),
        r##"
{
  "key": "revenue",
  "scope": "GLOBAL",
  "summary": "Revenue counts paid orders only",
  "content": "# Revenue\n\nTest customers never count; see [[test-customers]].\n",
  "tags": [
    "finance",
    "revenue"
  ],
  "refs": [
    "test-customers"
  ],
  "slRefs": [
    "warehouse.orders"
  ]
}
"##,
    );
    check(
        &sandbox,
        "sl_read_source",
        &client.call(
            "sl_read_source",
            json!({ "connectionId": "warehouse", "sourceName": "regions" }),
        ),
        r#"
{
  "sourceName": "regions",
  "yaml": "name: regions\ntable: regions\ngrain:\n- id\ncolumns:\n- name: id\n  type: number\n- name: name\n  type: string\njoins:\n- to: customers\n  on: regions.id = customers.region_id\n  relationship: one_to_many\nmeasures: []\n"
}
"#,
    );
    check(
        &sandbox,
        "dictionary_search",
        &client.call("dictionary_search", json!({ "values": ["islands"] })),
        r#"
{
  "searched": [
    {
      "connectionId": "warehouse",
      "coverage": {
        "sampledRows": 6,
        "valuesPerColumn": 5,
        "profiledColumns": 10,
        "syncId": "[SYNC]",
        "profiledAt": "[TIME]"
      },
      "status": "ready"
    }
  ],
  "results": [
    {
      "value": "islands",
      "matches": [
        {
          "connectionId": "warehouse",
          "sourceName": "regions",
          "columnName": "name",
          "matchedValue": "Islands",
          "cardinality": 3
        }
      ],
      "misses": []
    }
  ]
}
"#,
    );
    check(
        &sandbox,
        "discover_data",
        &client.call("discover_data", json!({ "query": "revenue", "limit": 3 })),
        r#"
{
  "refs": [
    {
      "kind": "wiki",
      "id": "revenue",
      "score": 1.0,
      "summary": "Revenue counts paid orders only",
      "snippet": "revenue",
      "matchedOn": "name"
    },
    {
      "kind": "sl_measure",
      "id": "orders.revenue",
      "score": 1.0,
      "summary": "Money received from real customers.",
      "snippet": "revenue",
      "matchedOn": "name",
      "connectionId": "warehouse"
    },
    {
      "kind": "sl_source",
      "id": "orders",
      "score": 0.984,
      "summary": "One row per order; cancelled orders are not kept.",
      "snippet": "id customer_id status amount ordered_at revenue order_count paid The…",
      "matchedOn": "body",
      "connectionId": "warehouse"
    }
  ]
}
"#,
    );
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn tools_that_ask_the_warehouse_answer() {
    let sandbox = shop();
    let before = tree(&sandbox);
    let mut client = Client::start(&sandbox);
    client.initialize();
    check(
        &sandbox,
        "entity_details",
        &client.call(
            "entity_details",
            json!({ "connectionId": "warehouse", "entities": [{ "table": "regions" }] }),
        ),
        r#"
{
  "results": [
    {
      "ok": true,
      "connectionId": "warehouse",
      "tableRef": {
        "catalog": null,
        "db": null,
        "name": "regions"
      },
      "display": "regions",
      "kind": "table",
      "comment": null,
      "estimatedRows": 3,
      "columns": [
        {
          "name": "id",
          "nativeType": "INTEGER",
          "normalizedType": "INTEGER",
          "dimensionType": "number",
          "nullable": false,
          "primaryKey": true,
          "comment": null,
          "sampleValues": [
            "1",
            "2",
            "3"
          ]
        },
        {
          "name": "name",
          "nativeType": "TEXT",
          "normalizedType": "TEXT",
          "dimensionType": "string",
          "nullable": false,
          "primaryKey": false,
          "comment": null,
          "sampleValues": [
            "Islands",
            "North",
            "South"
          ]
        }
      ],
      "foreignKeys": [],
      "snapshot": {
        "syncId": "[SYNC]",
        "extractedAt": "[TIME]",
        "scanRunId": "[UUID]"
      },
      "sourceName": "regions",
      "joins": [
        {
          "to": "customers",
          "on": "regions.id = customers.region_id",
          "relationship": "one_to_many"
        }
      ]
    }
  ]
}
"#,
    );
    let query = json!({ "measures": ["orders.revenue"], "dimensions": [{ "field": "regions.name" }], "order_by": [{ "field": "regions.name" }], "include": ["sql"] });
    check(
        &sandbox,
        "sl_query",
        &client.call("sl_query", query),
        r#"
{
  "connectionId": "warehouse",
  "dialect": "sqlite",
  "headers": [
    "name",
    "revenue"
  ],
  "rows": [
    [
      "Islands",
      null
    ],
    [
      "North",
      15.5
    ],
    [
      "South",
      10.0
    ]
  ],
  "totalRows": 3,
  "truncated": false,
  "notes": [
    "rows of `orders` whose `region_id` has no match in `regions` count under NULL"
  ],
  "sql": "WITH orders_part AS (\nSELECT regions.name AS d1_name, sum(CASE WHEN (orders.status = 'paid' AND customers.test = 0) THEN orders.amount END) AS a1_revenue\nFROM orders AS orders\nLEFT JOIN customers AS customers ON orders.customer_id = customers.id\nLEFT JOIN regions AS regions ON customers.region_id = regions.id\nGROUP BY regions.name\n),\nregions_members AS (\nSELECT DISTINCT regions.name AS d1_name\nFROM regions AS regions\n),\nstacked AS (\nSELECT d1_name, a1_revenue\nFROM orders_part\nUNION ALL\nSELECT d1_name, NULL AS a1_revenue\nFROM regions_members\n),\nmerged AS (\nSELECT d1_name, MAX(a1_revenue) AS v1_revenue\nFROM stacked\nGROUP BY d1_name\n)\nSELECT d1_name AS name, v1_revenue AS revenue\nFROM merged\nORDER BY name\nLIMIT 1000"
}
"#,
    );
    let sql = |sql: &str| json!({ "connectionId": "warehouse", "sql": sql, "maxRows": 2 });
    check(
        &sandbox,
        "sql_execution",
        &client.call(
            "sql_execution",
            sql("select id, name from regions order by id"),
        ),
        r#"
{
  "headers": [
    "id",
    "name"
  ],
  "headerTypes": [
    "INTEGER",
    "TEXT"
  ],
  "rows": [
    [
      1,
      "North"
    ],
    [
      2,
      "South"
    ]
  ],
  "rowCount": 2,
  "truncated": true
}
"#,
    );
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
    assert_eq!(tree(&sandbox), before);
}

/// A call that cannot be answered is an error that the agent can read, and the session goes on.
#[test]
fn failures_are_answers() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    client.initialize();
    let sql = |sql: &str| json!({ "connectionId": "warehouse", "sql": sql });
    check(
        &sandbox,
        "a write",
        &client.call("sql_execution", sql("delete from regions")),
        r#"
{
  "isError": true,
  "text": "not_a_query: only queries are allowed\nhint: send one query that only reads"
}
"#,
    );
    check(
        &sandbox,
        "wrong SQL",
        &client.call("sql_execution", sql("select * from nope")),
        r#"
{
  "isError": true,
  "text": "query_failed: no such table: nope"
}
"#,
    );
    check(
        &sandbox,
        "an unknown measure",
        &client.call("sl_query", json!({ "measures": ["orders.revenu"] })),
        r#"
{
  "isError": true,
  "text": "unknown_measure: unknown measure `orders.revenu`\nhint: try `orders.revenue`"
}
"#,
    );
    check(
        &sandbox,
        "a missing argument",
        &client.call("wiki_read", json!({})),
        r#"
{
  "isError": true,
  "text": "MCP error -32602: Input validation error: Invalid arguments for tool wiki_read: (root): \"key\" is a required property"
}
"#,
    );
    check(
        &sandbox,
        "a page that is not there",
        &client.call("wiki_read", json!({ "key": "zebra" })),
        r#"
{
  "isError": true,
  "text": "page_not_found: there is no wiki page `zebra`\nhint: find pages with `wiki_search`"
}
"#,
    );
    check(
        &sandbox,
        "an unknown tool",
        &client.call("nope", json!({})),
        r#"
{
  "isError": true,
  "text": "MCP error -32602: Tool nope not found; available: connection_list, dictionary_search, discover_data, entity_details, sl_query, sl_read_source, sql_execution, wiki_read, wiki_search"
}
"#,
    );
    let rows = client.call("sql_execution", sql("select count(*) as n from regions"));
    assert_eq!(rows["rows"], json!([[3]]));
    assert_eq!(client.close().0, Some(0));
}

/// The handshake opens nothing: it works while the warehouse is gone, and a call then says so.
#[test]
fn a_session_begins_without_its_warehouse() {
    let sandbox = shop();
    std::fs::remove_file(sandbox.work().join("warehouse.db")).unwrap();
    let mut client = Client::start(&sandbox);
    assert_eq!(client.initialize()["serverInfo"]["name"], json!("ktx"));
    check(
        &sandbox,
        "sql_execution",
        &client.call(
            "sql_execution",
            json!({ "connectionId": "warehouse", "sql": "select 1" }),
        ),
        r#"
{
  "isError": true,
  "text": "connection_not_found: the database file `[SANDBOX]/work/warehouse.db` does not exist\nhint: correct `path`; a relative path starts at the project folder"
}
"#,
    );
    check(
        &sandbox,
        "wiki_search",
        &client.call("wiki_search", json!({ "query": "zebra" })),
        r#"
{
  "results": [],
  "totalFound": 0
}
"#,
    );
    // What is written while the server runs is seen by the next call.
    write(
        &sandbox,
        "wiki/global/zebra.md",
        "---\nsummary: Stripes\n---\nA zebra.\n",
    );
    assert_eq!(
        client.call("wiki_read", json!({ "key": "zebra" }))["summary"],
        json!("Stripes")
    );
    write(&sandbox, "ktx.yaml", CONFIG);
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

/// Bytes that are no message do not end the session.
#[test]
fn junk_is_no_reason_to_stop() {
    let sandbox = shop();
    let mut client = Client::start(&sandbox);
    client.initialize();
    client.stdin.write_all(b"\n").unwrap();
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/unknown" }));
    assert_eq!(
        client.call("wiki_read", json!({ "key": "revenue" }))["key"],
        json!("revenue")
    );
    assert_eq!(client.close().0, Some(0));
}

/// The official TypeScript client accepts the handshake, the list and every answer.
#[test]
fn the_official_client_is_served() {
    let Service::Available(modules) = service(ServiceName::McpSdk) else {
        return;
    };
    let sandbox = shop();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/mcp/client.mjs");
    let output = Command::new("node")
        .arg(script)
        .arg(modules)
        .arg(env!("CARGO_BIN_EXE_ktx"))
        .arg(sandbox.work())
        .env("HOME", sandbox.home())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let steps: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let step: Value = serde_json::from_str(line).unwrap();
            json!([step["step"], step["isError"]])
        })
        .collect();
    compare_text(
        "steps",
        &format!("{:#}\n", json!(steps)),
        r#"
[
  [
    "initialize",
    null
  ],
  [
    "tools",
    null
  ],
  [
    "connection_list",
    false
  ],
  [
    "wiki_search",
    false
  ],
  [
    "wiki_read",
    false
  ],
  [
    "sl_read_source",
    false
  ],
  [
    "sl_query",
    false
  ],
  [
    "sql_execution",
    false
  ],
  [
    "sql_execution",
    true
  ],
  [
    "entity_details",
    false
  ],
  [
    "dictionary_search",
    false
  ],
  [
    "discover_data",
    false
  ],
  [
    "nope",
    true
  ]
]
"#,
    );
}

#[test]
fn without_a_project_there_is_no_session() {
    let sandbox = sandbox();
    let client = Client::start(&sandbox);
    let (code, stdout, stderr) = client.close();
    assert_eq!((code, stdout.as_str()), (Some(3), ""), "{stderr}");
}
