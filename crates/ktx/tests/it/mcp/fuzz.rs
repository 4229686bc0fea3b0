//! Careless calls: none breaks the server, and refusals have a next step.

use std::collections::{BTreeMap, BTreeSet};

use ktx_context_tools::tool_catalogue;
use ktx_tool_descriptors::ObjectSchema;
use serde_json::{Value, json};

use super::client::Client;
use crate::support::{run, sandbox};

const CALLS: usize = 1500;

/// As the tools' budget counts.
const TOKEN_BYTES: u64 = 3;

/// In bytes.
const LONGEST_REFUSAL: usize = 6_000;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

fn sound() -> Vec<(&'static str, Value)> {
    vec![
        ("connection_list", json!({})),
        ("discover_data", json!({ "query": "net revenue" })),
        (
            "discover_data",
            json!({ "query": "refund reason", "kinds": ["sl_dimension", "wiki"], "limit": 4 }),
        ),
        ("wiki_search", json!({ "query": "refunds", "limit": 3 })),
        ("wiki_read", json!({ "key": "net-revenue" })),
        ("sl_read_source", json!({ "sourceName": "order_items" })),
        (
            "sl_read_source",
            json!({ "sourceName": "orders", "connectionId": "warehouse" }),
        ),
        (
            "sl_query",
            json!({ "measures": ["orders.order_count"], "dimensions": ["orders.channel"] }),
        ),
        (
            "sl_query",
            json!({
                "measures": ["sum(orders.tax_amount)"], "dimensions": ["orders.placed_at:month"],
                "filters": ["orders.status = 'completed'"], "order_by": ["orders.placed_at:desc"], "limit": 5,
            }),
        ),
        (
            "sl_query",
            json!({
                "connectionId": "warehouse", "measures": [{ "expr": "count(customers.id)", "name": "n" }],
                "dimensions": [{ "field": "customers.segment" }], "segments": ["customers.real"], "include": ["sql"],
            }),
        ),
        ("entity_details", json!({ "entities": ["orders"] })),
        (
            "entity_details",
            json!({ "connectionId": "warehouse", "entities": [{ "table": "refunds", "columns": ["reason"] }] }),
        ),
        ("dictionary_search", json!({ "values": ["completed"] })),
        (
            "sql_execution",
            json!({ "sql": "select status, count(*) from orders group by status", "maxRows": 10 }),
        ),
        (
            "sql_execution",
            json!({ "connectionId": "warehouse", "sql": "select reason from refunds limit 3" }),
        ),
    ]
}

const FOREIGN_SQL: [&str; 8] = [
    "select top 3 * from orders",
    "select date_trunc('month', placed_at) from orders",
    "select `id` from `shop`.`orders`",
    "delete from orders",
    "select * from orders qualify row_number() over (partition by id order by id) = 1",
    "selec 1",
    "select 1; select 2",
    "SELECT [id] FROM [dbo].[orders] WHERE placed_at > GETDATE()",
];

fn other_type(random: &mut Random) -> Value {
    let values = [
        json!(7),
        json!(-1),
        json!(1e300),
        json!(true),
        json!(null),
        json!("x"),
        json!([]),
        json!({}),
        json!([[1]]),
        json!([null]),
        json!({ "a": { "b": "c" } }),
        json!(["a", 2]),
        json!("12"),
    ];
    random.pick(&values).clone()
}

fn misspelled(text: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    if letters.len() < 3 {
        return format!("{text}x");
    }
    let at = 1 + random.below(letters.len() - 2);
    match random.below(3) {
        0 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letters[at]),
        _ => letters.swap(at, at - 1),
    }
    letters.into_iter().collect()
}

fn respelled(name: &str, random: &mut Random) -> String {
    let snake = name.chars().flat_map(|letter| {
        let begins = letter.is_uppercase().then_some('_');
        begins.into_iter().chain(letter.to_lowercase())
    });
    match random.below(5) {
        0 => snake.collect(),
        1 => name.trim_end_matches('s').to_owned(),
        2 => name.to_uppercase(),
        3 => misspelled(name, random),
        _ => format!("my_{name}"),
    }
}

fn texts(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(place.to_owned()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                texts(item, &format!("{place}/{at}"), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                texts(item, &format!("{place}/{key}"), found);
            }
        }
        _ => {}
    }
}

fn mistaken(tool: &mut String, arguments: &mut Value, random: &mut Random) {
    let names: Vec<String> = arguments
        .as_object()
        .map(|map| map.keys().cloned().collect())
        .unwrap_or_default();
    let mut places = Vec::new();
    texts(arguments, "", &mut places);
    let name = names
        .get(random.below(names.len()))
        .cloned()
        .unwrap_or_default();
    let place = places
        .get(random.below(places.len()))
        .cloned()
        .unwrap_or_default();
    match random.below(12) {
        0 if !name.is_empty() => arguments[&name] = other_type(random),
        1 if !name.is_empty() => {
            arguments
                .as_object_mut()
                .and_then(|map| map.shift_remove(&name));
        }
        2 | 3 if !name.is_empty() => {
            let map = arguments.as_object_mut().expect("an object");
            let value = map.shift_remove(&name).unwrap_or_default();
            map.insert(respelled(&name, random), value);
        }
        4 | 5 if !place.is_empty() => {
            if let Some(text) = arguments.pointer_mut(&place) {
                *text = json!(misspelled(text.as_str().unwrap_or_default(), random));
            }
        }
        6 if !place.is_empty() => {
            if let Some(text) = arguments.pointer_mut(&place) {
                let far = ["zzz", "", " ", "orders.zzz", "zzz.id", "\"", "%", "é😀"];
                *text = json!(random.pick(&far));
            }
        }
        7 if !place.is_empty() => {
            if let Some(text) = arguments.pointer_mut(&place) {
                let length = *random.pick(&[300, 5_000, 70_000]);
                *text = json!("long ".repeat(length / 5));
            }
        }
        8 => arguments["connectionId"] = json!(random.pick(&["warehose", "", "prod", "Warehouse"])),
        9 => arguments["sql"] = json!(random.pick(&FOREIGN_SQL)),
        10 => {
            let numbers = [
                json!(0),
                json!("3"),
                json!(1_000_000),
                json!(-5),
                json!("many"),
            ];
            let which = *random.pick(&["limit", "maxTokens", "maxRows"]);
            arguments[which] = random.pick(&numbers).clone();
        }
        _ => {
            *tool = if random.below(4) == 0 {
                misspelled(tool, random)
            } else {
                tool.clone()
            }
        }
    }
}

/// The schemas by tool.
pub(super) fn schemas() -> BTreeMap<String, ObjectSchema> {
    let catalogue = tool_catalogue();
    let tools = catalogue.as_array().expect("tools").iter();
    let each = tools.map(|tool| {
        let schema = ObjectSchema::new(tool["outputSchema"].clone()).expect("a schema");
        (tool["name"].as_str().expect("a name").to_owned(), schema)
    });
    each.collect()
}

pub(super) fn faults(
    tool: &str,
    arguments: &Value,
    answer: &Value,
    schemas: &BTreeMap<String, ObjectSchema>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    let data = &answer["structuredContent"];
    if text.contains("fault of ktx") || text.contains("failed inside") {
        faults.push("it broke down".to_owned());
    }
    if answer["isError"] == json!(true) {
        let error = &data["error"];
        if !text.contains("\nhint: ") && !text.contains("\nsend instead: ") {
            faults.push("no next step".to_owned());
        }
        if text.len() > LONGEST_REFUSAL {
            faults.push(format!("{} bytes", text.len()));
        }
        if !error["code"].is_string() || !error["message"].is_string() {
            faults.push("no error as data".to_owned());
        }
        return faults;
    }
    let tokens = arguments["maxTokens"].as_u64();
    let tokens = tokens.or_else(|| arguments["maxTokens"].as_str()?.parse().ok());
    let bytes = tokens.unwrap_or(4_000) * TOKEN_BYTES;
    let size = text
        .len()
        .max(data.as_object().map_or(0, |_| data.to_string().len()));
    if u64::try_from(size).is_ok_and(|size| size > bytes) {
        faults.push(format!("{size} bytes of {bytes}"));
    }
    if let (Some(schema), false) = (schemas.get(tool), data.is_null()) {
        faults.extend(schema.violations(data));
    }
    faults
}

#[test]
fn careless_calls_are_answered_with_a_next_step() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo --json").code, Some(0));
    let words = ["--project-dir", "ktx-demo", "mcp", "stdio"];
    let mut client = Client::run(&sandbox, &words);
    client.initialize();
    let schemas = schemas();
    let sound = sound();
    let mut random = Random(20_260_714);
    let mut wrong: Vec<String> = Vec::new();
    let (mut refused, mut corrected) = (0, 0);
    let mut called: BTreeSet<String> = BTreeSet::new();
    for call in 0..CALLS {
        let (name, arguments) = random.pick(&sound).clone();
        let (mut tool, mut arguments) = (name.to_owned(), arguments);
        if call >= sound.len() {
            for _ in 0..=random.below(2) {
                mistaken(&mut tool, &mut arguments, &mut random);
            }
        }
        called.insert(tool.clone());
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = client.ask("tools/call", params);
        let mut found = faults(&tool, &arguments, &answer, &schemas);
        if answer["isError"] == json!(true) {
            refused += 1;
            let suggestions = &answer["structuredContent"]["error"]["suggestions"];
            for suggestion in suggestions.as_array().into_iter().flatten() {
                corrected += 1;
                let params = json!({ "name": tool, "arguments": suggestion });
                let again = client.ask("tools/call", params);
                // Only the warehouse can judge its dialect.
                let is_sql = again["structuredContent"]["error"]["code"] == json!("query_failed");
                if again["isError"] == json!(true) && !is_sql {
                    let text = &again["content"][0]["text"];
                    found.push(format!("`{suggestion}` is refused: {text}"));
                }
            }
        }
        let shown: String = arguments.to_string().chars().take(300).collect();
        let text: String = answer["content"][0]["text"]
            .to_string()
            .chars()
            .take(300)
            .collect();
        wrong.extend(
            found
                .iter()
                .map(|fault| format!("{tool} {shown}: {fault}\n  {text}")),
        );
    }
    assert!(
        wrong.is_empty(),
        "{} of {CALLS}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(schemas.keys().all(|tool| called.contains(tool)));
    assert!(refused > CALLS / 4, "{refused}");
    assert!(corrected > refused / 4, "{corrected} of {refused}");
    assert_eq!(client.close().0, Some(0));
}
