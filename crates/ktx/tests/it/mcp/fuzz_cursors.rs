//! Cursors of other calls, sessions and data, and arguments of ten megabytes: each has an answer with
//! a next step.

use serde_json::{Value, json};

use super::client::Client;
use super::fuzz::{faults, schemas};
use crate::support::{run, sandbox};

const WORDS: [&str; 4] = ["--project-dir", "ktx-demo", "mcp", "stdio"];

const BIG: usize = 10_000_000;

fn calls() -> [(&'static str, Value); 9] {
    [
        ("connection_list", json!({})),
        ("discover_data", json!({ "query": "net revenue" })),
        ("wiki_search", json!({ "query": "refunds" })),
        ("wiki_read", json!({ "key": "net-revenue" })),
        ("sl_read_source", json!({ "sourceName": "order_items" })),
        (
            "sl_query",
            json!({ "measures": ["orders.order_count"], "dimensions": ["orders.channel"] }),
        ),
        ("entity_details", json!({ "entities": ["orders"] })),
        ("dictionary_search", json!({ "values": ["completed"] })),
        (
            "sql_execution",
            json!({ "sql": "select * from orders order by id", "maxRows": 200 }),
        ),
    ]
}

/// Collects what is wrong with the answers.
struct Judge {
    client: Client,
    wrong: Vec<String>,
}

impl Judge {
    fn start(sandbox: &ktx_test_support::sandbox::Sandbox) -> Self {
        let mut client = Client::run(sandbox, &WORDS);
        client.initialize();
        Self {
            client,
            wrong: Vec::new(),
        }
    }

    fn ask(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.client.ask("tools/call", params);
        let shown: String = arguments.to_string().chars().take(200).collect();
        let mut found = faults(tool, arguments, &answer, &schemas());
        let suggestions = answer["structuredContent"]["error"]["suggestions"].clone();
        for suggestion in suggestions.as_array().into_iter().flatten() {
            let params = json!({ "name": tool, "arguments": suggestion });
            let again = self.client.ask("tools/call", params);
            if again["isError"] == json!(true) {
                let text = &again["content"][0]["text"];
                found.push(format!("`{suggestion}` is refused: {text}"));
            }
        }
        let found = found.into_iter();
        self.wrong
            .extend(found.map(|fault| format!("{tool} {shown}: {fault}")));
        answer
    }
}

fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_cursor_holds_for_its_call_and_its_data_in_every_session() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo --json").code, Some(0));
    let mut judge = Judge::start(&sandbox);
    let mut rows = calls()[8].1.clone();
    rows["maxTokens"] = json!(300);
    rows["format"] = json!("json");
    let first = judge.ask("sql_execution", &rows);
    let cursor = first["structuredContent"]["cursor"].clone();
    assert!(cursor.is_string(), "{first}");
    for (tool, mut arguments) in calls() {
        arguments["cursor"] = cursor.clone();
        let answer = judge.ask(tool, &arguments);
        assert_eq!(
            answer["isError"] == json!(true),
            tool != "sql_execution",
            "{answer}"
        );
    }
    for wrong in [
        json!("x"),
        json!(7),
        json!(null),
        json!([cursor]),
        json!({}),
        json!(" "),
    ] {
        rows["cursor"] = wrong;
        judge.ask("sql_execution", &rows);
    }
    rows["cursor"] = cursor;
    let mut other = Judge::start(&sandbox);
    let next = other.ask("sql_execution", &rows);
    assert_ne!(next["isError"], json!(true), "{next}");
    assert_eq!(next, judge.ask("sql_execution", &rows));
    let database = sandbox.work().join("ktx-demo/warehouse.db");
    let database = rusqlite::Connection::open(database).unwrap();
    database
        .execute_batch(
            "pragma foreign_keys = off; delete from orders where id = (select min(id) from orders)",
        )
        .unwrap();
    let changed = judge.ask("sql_execution", &rows);
    assert!(
        text(&changed).contains("the data have changed"),
        "{changed}"
    );
    assert_eq!(judge.wrong, Vec::<String>::new());
    assert_eq!(other.wrong, Vec::<String>::new());
    assert_eq!(judge.client.close().0, Some(0));
    assert_eq!(other.client.close().0, Some(0));
}

#[test]
fn arguments_of_ten_megabytes_are_refused_in_a_few_words() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo --json").code, Some(0));
    let mut judge = Judge::start(&sandbox);
    let big = json!("x".repeat(BIG));
    for (tool, arguments) in calls() {
        let names: Vec<String> = match arguments.as_object() {
            Some(given) => given.keys().cloned().collect(),
            None => Vec::new(),
        };
        for name in names.iter().filter(|name| *name != "maxRows") {
            for huge in [big.clone(), json!(vec!["y"; 100_000])] {
                let mut arguments = arguments.clone();
                arguments[name] = huge;
                let answer = judge.ask(tool, &arguments);
                assert_eq!(answer["isError"], json!(true), "{tool} {name}");
            }
        }
    }
    assert_eq!(judge.wrong, Vec::<String>::new());
    assert_eq!(judge.client.close().0, Some(0));
}
