//! Ten demo questions for a reader that knows only tool results.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::Client;
use crate::support::{run, sandbox};

const MOST_CALLS: usize = 4;

/// Calls up to the query, and the right answer in SQL.
struct Question {
    words: &'static str,
    reads: Vec<(&'static str, Value)>,
    query: Value,
    /// First reference of a quantity.
    first: &'static str,
    sql: &'static str,
}

fn question(words: &'static str, first: &'static str, query: Value, sql: &'static str) -> Question {
    Question {
        words,
        reads: Vec::new(),
        query,
        first,
        sql,
    }
}

fn questions() -> Vec<Question> {
    let net = Question {
        reads: vec![("wiki_read", json!({ "key": "net-revenue" }))],
        ..question(
            "net revenue",
            "net-revenue",
            json!({ "measures": [{ "expr": "order_items.goods_sold - refunds.refunded", "name": "net" }] }),
            "select (select sum(i.quantity * i.unit_price_cents) from order_items i join orders o on o.id = i.order_id \
             join customers c on c.id = o.customer_id where o.status = 'completed' and c.is_test = 0) / 100.0 \
             - (select sum(r.amount_cents) from refunds r join orders o on o.id = r.order_id \
             join customers c on c.id = o.customer_id where o.status = 'completed' and c.is_test = 0) / 100.0",
        )
    };
    vec![
        net,
        question(
            "how many customers are there",
            "customers.customer_count",
            json!({ "measures": ["customers.customer_count"] }),
            "select count(*) from customers where is_test = 0",
        ),
        question(
            "completed orders by channel",
            "",
            json!({ "measures": ["orders.order_count"], "dimensions": ["orders.channel"] }),
            "select o.channel, count(*) from orders o join customers c on c.id = o.customer_id \
             where o.status = 'completed' and c.is_test = 0 group by 1 order by 1",
        ),
        question(
            "refunded amount by reason",
            "refunds.refunded",
            json!({ "measures": ["refunds.refunded"], "dimensions": ["refunds.reason"] }),
            "select r.reason, sum(r.amount_cents) / 100.0 from refunds r join orders o on o.id = r.order_id \
             join customers c on c.id = o.customer_id where o.status = 'completed' and c.is_test = 0 \
             group by 1 order by 1",
        ),
        question(
            "average tax amount of an order",
            "",
            json!({ "measures": ["avg(orders.tax_amount)"] }),
            "select avg(tax_amount) from orders",
        ),
        question(
            "amount paid by method",
            "payments.paid",
            json!({ "measures": ["payments.paid"], "dimensions": ["payments.method"] }),
            "select method, sum(amount_cents) / 100.0 from payments group by 1 order by 1",
        ),
        question(
            "how many support tickets by topic",
            "count(support_tickets.*)",
            json!({ "measures": ["count(support_tickets.*)"], "dimensions": ["support_tickets.topic"] }),
            "select topic, count(*) from support_tickets group by 1 order by 1",
        ),
        question(
            "number of web sessions by source",
            "count(web_sessions.*)",
            json!({ "measures": ["count(web_sessions.*)"], "dimensions": ["web_sessions.source"] }),
            "select source, count(*) from web_sessions group by 1 order by 1",
        ),
        question(
            "how many shipments by carrier",
            "count(shipments.*)",
            json!({ "measures": ["count(shipments.*)"], "dimensions": ["shipments.carrier"] }),
            "select carrier, count(*) from shipments group by 1 order by 1",
        ),
        question(
            "amount of crm orders by stage",
            "",
            json!({ "measures": ["sum(crm_orders.amount)"], "dimensions": ["crm_orders.stage"] }),
            "select stage, sum(amount) from crm_orders group by 1 order by 1",
        ),
    ]
}

fn names(query: &Value) -> BTreeSet<String> {
    let text = query.to_string();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let words = text.split(|letter| !is_part(letter));
    words
        .map(|word| word.trim_matches('.'))
        .filter(|word| word.contains('.') || word.contains('_') && !word.ends_with("_by"))
        .map(str::to_owned)
        .collect()
}

fn rounded(rows: &Value) -> Vec<Vec<String>> {
    let rows = rows.as_array().expect("rows").iter();
    let rows = rows.map(|row| {
        let cells = row.as_array().expect("a row").iter();
        let cells = cells.map(|cell| match cell.as_f64() {
            Some(number) => format!("{number:.2}"),
            None => cell.as_str().unwrap_or_default().to_owned(),
        });
        cells.collect()
    });
    rows.collect()
}

#[test]
fn a_reader_of_results_alone_reaches_the_right_numbers() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo --json").code, Some(0));
    let words = ["--project-dir", "ktx-demo", "mcp", "stdio"];
    let mut client = Client::run(&sandbox, &words);
    client.initialize();
    let mut wrong = Vec::new();
    for question in questions() {
        let Question {
            words,
            reads,
            query,
            first,
            sql,
        } = question;
        assert!(reads.len() + 2 <= MOST_CALLS);
        let mut seen = String::new();
        let search = ("discover_data", json!({ "query": words }));
        for (tool, arguments) in std::iter::once(search).chain(reads) {
            let answer = client.call(tool, arguments);
            let found = answer["refs"][0]["id"].as_str();
            if let Some(found) = found.filter(|found| !first.is_empty() && *found != first) {
                wrong.push(format!("{words}: `{found}` is first, not `{first}`"));
            }
            seen.push_str(&answer.to_string());
        }
        let unknown: Vec<String> = names(&query)
            .into_iter()
            .filter(|name| !seen.contains(name))
            .collect();
        if !unknown.is_empty() {
            wrong.push(format!("{words}: no result names {unknown:?}: {seen}"));
        }
        let answer = client.call("sl_query", query);
        let right = client.call("sql_execution", json!({ "sql": sql }));
        if rounded(&answer["rows"]) != rounded(&right["rows"]) {
            wrong.push(format!("{words}: {answer} is not {right}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(client.close().0, Some(0));
}

/// A table is its source, a column its dimension; else the answer names measures.
#[test]
fn discovery_names_each_thing_once() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo --json").code, Some(0));
    let words = ["--project-dir", "ktx-demo", "mcp", "stdio"];
    let mut client = Client::run(&sandbox, &words);
    client.initialize();
    let mut discover = |arguments: Value| client.call("discover_data", arguments);
    let found = discover(json!({ "query": "orders", "limit": 50 }));
    let refs = found["refs"].as_array().expect("references");
    let kinds: BTreeSet<&str> = refs.iter().filter_map(|one| one["kind"].as_str()).collect();
    assert!(
        !kinds.contains("table") && !kinds.contains("column"),
        "{found:#}"
    );
    let orders = refs.iter().find(|one| one["id"] == "orders");
    let orders = orders.expect("the source");
    assert_eq!(
        json!([
            orders["kind"],
            orders["tableRef"]["name"],
            orders["dataRange"]
        ]),
        json!([
            "sl_source",
            "orders",
            "placed_at from 2024-01-01 to 2025-12-28"
        ])
    );
    assert_eq!(found["hasMore"], Value::Null);
    let few = discover(json!({ "query": "orders", "limit": 2 }));
    assert_eq!(
        json!([few["refs"].as_array().map(Vec::len), few["hasMore"]]),
        json!([2, true])
    );
    let nothing = discover(json!({ "query": "qqqq" }));
    assert_eq!(
        json!([
            nothing["refs"],
            nothing["notes"],
            nothing["catalog"].as_array().map(Vec::len)
        ]),
        json!([
            [],
            [
                "nothing fits; these measures exist: `customers.customer_count`, `order_items.goods_sold`, \
             `orders.order_count`, `payments.paid`, `refunds.refunded`",
            ],
            13
        ])
    );
    let pages = client.call("wiki_search", json!({ "query": "accounts", "limit": 1 }));
    assert_eq!(
        json!([pages["totalFound"], pages["hasMore"]]),
        json!([1, true])
    );
}

/// The note has a query that counts rows once.
#[test]
fn sql_that_multiplies_rows_says_so() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo --json").code, Some(0));
    let words = ["--project-dir", "ktx-demo", "mcp", "stdio"];
    let mut client = Client::run(&sandbox, &words);
    client.initialize();
    let mut notes = |sql: &str| client.call("sql_execution", json!({ "sql": sql }))["notes"].take();
    let multiplied = notes(
        "select o.channel, sum(o.tax_amount) from orders o join order_items i on i.order_id = o.id \
         where o.status = 'completed' group by o.channel",
    );
    let note = multiplied[0].as_str().expect("a note").to_owned();
    let (why, instead) = note
        .split_once("; send to `sl_query` instead: ")
        .expect("a query");
    assert_eq!(
        why,
        "`sum(orders.tax_amount)` counts rows of `orders` more than once: the join to `order_items` finds several \
         rows for one"
    );
    // These joins duplicate nothing.
    for sound in [
        "select sum(i.quantity) from orders o join order_items i on i.order_id = o.id",
        "select c.segment, sum(o.tax_amount) from orders o join customers c on c.id = o.customer_id group by 1",
        "select count(distinct o.id) from orders o join order_items i on i.order_id = o.id",
    ] {
        assert_eq!(notes(sound), Value::Null, "{sound}");
    }
    let instead: Value = serde_json::from_str(instead).expect("JSON");
    let answer = client.call("sl_query", instead);
    let sql = "select channel, sum(tax_amount) from orders where status = 'completed' group by 1 order by 1";
    let right = client.call("sql_execution", json!({ "sql": sql }));
    assert_eq!(rounded(&answer["rows"]), rounded(&right["rows"]));
}
