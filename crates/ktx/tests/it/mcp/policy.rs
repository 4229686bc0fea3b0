//! What clients can use and read.

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::Client;
use super::served::{Server, initialize};
use crate::live_warehouse::server::{Postgres, Server as _};
use crate::live_warehouse::warehouse;
use crate::support::{CONFIG, commit, database, project, run, write};

const SHOP: &str = include_str!("../../../../../fixtures/policy/shop.sql");
pub(super) const CLIENTS: &str = include_str!("../../../../../fixtures/policy/clients.yaml");
const TEXTS: &str = include_str!("../../../../../fixtures/policy/reach.txt");

/// Only in hidden columns, rows and pages.
const MARKS: [&str; 3] = ["XQZ-", "98765", "77777"];

const FILES: &[(&str, &str)] = &[
    (
        "semantic-layer/warehouse/customers.yaml",
        "name: customers\ncolumns:\n  - {name: mail_host, type: string, expr: \"substr(email, 5)\"}\n\
         measures:\n  - {name: contacts, expr: count(distinct email), description: With XQZ-one@example.com}\n  \
         - {name: heads, expr: count(id)}\n  - {name: mails, expr: count(mail_host)}\n",
    ),
    (
        "semantic-layer/warehouse/orders.yaml",
        "name: orders\nmeasures:\n  - {name: revenue, expr: sum(amount)}\n",
    ),
    (
        "semantic-layer/warehouse/people.yaml",
        "name: people\nsql: select id, pay from salaries\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  \
         - {name: pay, type: number, descriptions: {user: XQZ-98765 at most}}\nmeasures:\n  - {name: heads, expr: count(id)}\n  \
         - {name: pay_sum, expr: sum(pay)}\n",
    ),
    (
        "wiki/global/payroll.md",
        "---\nsummary: Payroll\n---\nThe XQZ-payroll is paid monthly.\n",
    ),
    (
        "wiki/global/mails.md",
        "---\nsummary: Mails\n---\n`customers.email` is like XQZ-ada-mail.\n",
    ),
    (
        "wiki/global/people.md",
        "---\nsummary: XQZ-People\nsl_refs: [warehouse.people]\n---\nXQZ-they are paid.\n",
    ),
    (
        "wiki/global/regions.md",
        "---\nsummary: Regions\n---\nOrders of the EU have the region `EU`.\n",
    ),
];

fn described(sandbox: Sandbox) -> Sandbox {
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    for (path, text) in FILES {
        write(&sandbox, path, text);
    }
    commit(&sandbox, "described");
    sandbox
}

pub(super) fn sqlite() -> Sandbox {
    sqlite_of(SHOP)
}

fn sqlite_of(shop: &str) -> Sandbox {
    let sandbox = project();
    database(&sandbox, "warehouse.db", shop);
    write(&sandbox, "ktx.yaml", CONFIG);
    write(&sandbox, ".gitignore", "*.db\n");
    described(sandbox)
}

/// Adds the policy to `ktx.yaml`.
pub(super) fn restrict(sandbox: &Sandbox, clients: &str) {
    let config = sandbox.read("ktx.yaml").expect("a configuration");
    write(sandbox, "ktx.yaml", &format!("{config}{clients}"));
}

/// Each text of a dialect with its answer.
fn answers(sandbox: &Sandbox, dialect: &str) -> Vec<(&'static str, Value)> {
    let mut client = Client::start(sandbox);
    client.initialize();
    let mut answers = Vec::new();
    for line in TEXTS.lines().filter(|line| !line.starts_with('#')) {
        let own = ["sqlite: ", "postgres: "];
        let text = match own.iter().find(|own| line.starts_with(**own)) {
            Some(own) if own.trim_end_matches(": ") == dialect => &line[own.len()..],
            Some(_) => continue,
            None => line,
        };
        let given = |text: &str| -> Value { serde_json::from_str(text).expect("arguments") };
        let (method, parameters) = match text.split_at(1) {
            ("!", request) => {
                let (method, parameters) = request.split_once(' ').expect("a request");
                (method, given(parameters))
            }
            ("@", call) => {
                let (tool, arguments) = call.split_once(' ').expect("a call");
                let arguments = given(arguments);
                (
                    "tools/call",
                    json!({ "name": tool, "arguments": arguments }),
                )
            }
            _ => {
                let arguments = json!({ "sql": text });
                (
                    "tools/call",
                    json!({ "name": "sql_execution", "arguments": arguments }),
                )
            }
        };
        answers.push((line, client.ask(method, parameters)));
    }
    answers
}

/// The texts of a dialect that reach what is hidden, of how many.
fn reaching(sandbox: &Sandbox, dialect: &str) -> (Vec<String>, usize) {
    let answers = answers(sandbox, dialect);
    let shown = answers
        .iter()
        .map(|(text, answer)| (text, answer.to_string()));
    let reached = shown.filter(|(_, answer)| MARKS.iter().any(|mark| answer.contains(mark)));
    let reached = reached.map(|(text, answer)| format!("{text}\n  {answer}"));
    (reached.collect(), answers.len())
}

/// Most texts succeed without the policy, none with it.
#[track_caller]
fn nothing_is_reached(sandbox: &Sandbox, dialect: &str) {
    let (reached, count) = reaching(sandbox, dialect);
    assert!(
        count >= 300 && reached.len() >= 150,
        "{} of {count}",
        reached.len()
    );
    restrict(sandbox, CLIENTS);
    let (reached, _) = reaching(sandbox, dialect);
    assert_eq!(reached, Vec::<String>::new());
}

#[test]
fn no_text_reaches_what_a_policy_hides_on_sqlite() {
    nothing_is_reached(&sqlite(), "sqlite");
}

#[test]
fn no_text_reaches_what_a_policy_hides_on_postgres() {
    let Some(server) = Postgres::new("ktx_policy") else {
        return;
    };
    server.execute(SHOP);
    let sandbox = warehouse(&server, server.port(), "    database: ktx_policy\n");
    nothing_is_reached(&described(sandbox), "postgres");
}

/// What only the policy hides, in another warehouse.
const ELSEWHERE: [(&str, &str); 8] = [
    ("XQZ-ada-mail", "zz-other"),
    ("XQZ-ben-mail", "aa-longer-than-it"),
    ("XQZ-ada-phone", "12"),
    ("XQZ-ben-phone", "34567"),
    (
        "(3, 1, 'US', 77777, 'XQZ-us-note')",
        "(3, 2, 'UK', 3, 'n'), (4, 1, 'CH', 4, 'a')",
    ),
    ("'XQZ-person'", "'bob'"),
    ("98765)", "11), (2, 'eve', 5)"),
    ("XQZ-", ""),
];

/// Without the names and times of scans.
fn settled(answer: &Value) -> Value {
    match answer {
        Value::Object(fields) => {
            let scans = ["syncId", "extractedAt", "scanRunId", "profiledAt"];
            let fields = fields
                .iter()
                .filter(|(key, _)| !scans.contains(&key.as_str()));
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), settled(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.iter().map(settled).collect(),
        Value::String(text) => {
            if let Ok(data @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
                settled(&data)
            } else {
                let lines = text.lines().filter(|line| !line.contains("syncId"));
                json!(lines.collect::<Vec<_>>().join("\n"))
            }
        }
        other => other.clone(),
    }
}

/// No question about what is hidden can be answered through the order, the number or the lack of
/// answers: two warehouses that differ only in what is hidden answer every text alike.
#[test]
fn what_a_policy_hides_has_no_influence_on_any_answer() {
    let elsewhere = ELSEWHERE
        .iter()
        .fold(SHOP.to_owned(), |shop, (here, there)| {
            shop.replace(here, there)
        });
    let (one, other) = (sqlite(), sqlite_of(&elsewhere));
    let differing = || {
        let pairs = answers(&one, "sqlite").into_iter();
        let pairs = pairs.zip(answers(&other, "sqlite"));
        let differing = pairs.filter(|((_, one), (_, other))| settled(one) != settled(other));
        differing
            .map(|((text, one), (_, other))| format!("{text}\n  {one}\n  {other}"))
            .collect::<Vec<_>>()
    };
    assert!(differing().len() >= 150);
    restrict(&one, CLIENTS);
    restrict(&other, CLIENTS);
    assert_eq!(differing(), Vec::<String>::new());
}

/// What is left is answered, with the numbers of the rows that are left.
#[test]
fn what_a_policy_leaves_is_answered() {
    let sandbox = sqlite();
    restrict(&sandbox, CLIENTS);
    let mut client = Client::start(&sandbox);
    client.initialize();
    let texts = [
        "select * from customers",
        "select main.orders.id, c.name from main.orders join customers c on orders.customer_id = c.id order by 1",
        "with orders as (select * from orders where amount > 15) select count(*) as n from orders",
        "with recursive n(x) as (select 1 union all select x + 1 from n where x < 3) select sum(x) from n",
        "select * from orders natural join (select id from orders) order by id",
        "select o.id from orders as o where o.id in (select id from orders) order by o.id desc limit 1",
        "select max(amount), count(*) from orders",
        "select value from json_each('[1, 2]')",
    ];
    let answers: Vec<Value> = texts
        .iter()
        .map(|sql| client.call("sql_execution", json!({ "sql": sql })))
        .map(|mut answer| answer["rows"].take())
        .collect();
    assert_eq!(
        json!(answers),
        json!([
            [[1, "Ada", "***"], [2, "Ben", "***"]],
            [[1, "Ada"], [2, "Ben"]],
            [[1]],
            [[6]],
            [
                [1, 1, "EU", 10, "a first one"],
                [2, 2, "EU", 20, "a second one"]
            ],
            [[2]],
            [[20, 2]],
            [[1], [2]],
        ])
    );
    let query = json!({ "measures": ["orders.revenue", "customers.heads"], "dimensions": ["customers.name"] });
    assert_eq!(
        client.call("sl_query", query)["rows"],
        json!([["Ada", 10, 1], ["Ben", 20, 1]])
    );
    let page = client.call("wiki_read", json!({ "key": "regions" }));
    assert_eq!(page["summary"], "Regions");
    let list = client.ask("resources/list", json!({}));
    let names = list["resources"].as_array().expect("a list").iter();
    let names: Vec<&str> = names.filter_map(|one| one["uri"].as_str()).collect();
    insta::assert_snapshot!(names.join("\n"), @"
    ktx://schema/warehouse
    ktx://source/warehouse/customers
    ktx://source/warehouse/orders
    ktx://wiki/regions
    ");
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn a_policy_that_names_what_is_missing_is_refused() {
    let sandbox = sqlite();
    restrict(
        &sandbox,
        "clients:
  default:
    warehouses:
      warehouse:
        hidden_columns: [customers.emial]
        hidden_tables: [salarys]
        row_filters: {orders: \"region = \"}
        masked_columns: {phone: \"'x'\"}
",
    );
    check!(&sandbox, "mcp stdio", @"
    exit 3
    --- stderr
    error: ktx.yaml:9:26: the policy names a column `emial` that `customers` does not have in the last scan
      caused by: ktx.yaml:10:25: the policy names a table `salarys` that the last scan does not have
      caused by: ktx.yaml:11:31: the expression cannot be read as SQL: sql parser error: Expected: an expression, found: ) at Line: 1, Column: 18
      caused by: ktx.yaml:12:33: the policy names a column `phone` without its table

    hint: did you mean `email`?
    ");
    check!(&sandbox, "status", @"
    exit 3
    --- stderr
    error: ktx.yaml:9:26: the policy names a column `emial` that `customers` does not have in the last scan
      caused by: ktx.yaml:10:25: the policy names a table `salarys` that the last scan does not have
      caused by: ktx.yaml:11:31: the expression cannot be read as SQL: sql parser error: Expected: an expression, found: ) at Line: 1, Column: 18
      caused by: ktx.yaml:12:33: the policy names a column `phone` without its table

    hint: did you mean `email`?
    ");
    let config = sandbox.read("ktx.yaml").expect("a configuration");
    let config = config
        .replace("  default:", "  agents:")
        .replace("      warehouse:", "      wharehouse:");
    write(&sandbox, "ktx.yaml", &config);
    check!(&sandbox, "status --validate", @"
    exit 3
    --- stderr
    error: ktx.yaml:6:3: the client `agents` has no `token`, so no one can connect as this client
      caused by: ktx.yaml:8:7: there is no connection `wharehouse`

    hint: add `token: env:NAME`, or call the client `default`
    ");
}

const SUPPORT: &str = "clients:
  support:
    token: env:SUPPORT_TOKEN
    allowed_tools: [sql_execution, connection_list]
    max_rows: 1
    warehouses:
      warehouse:
        tables: [orders]
        row_filters: {orders: \"region = 'EU'\"}
";

#[test]
fn a_client_is_known_by_its_token() {
    let mut sandbox = sqlite();
    restrict(&sandbox, SUPPORT);
    let refused = run(&sandbox, "mcp start --port 0");
    assert_eq!(refused.code, Some(3), "{refused}");
    insta::assert_snapshot!(crate::support::transcript(&refused), @r"
    exit 3
    --- stderr
    error: the token of the client `support` cannot be used
      caused by: environment variable `SUPPORT_TOKEN` is not set
    ");
    sandbox.set("SUPPORT_TOKEN", "a-token-of-support".to_owned());
    let server = Server::start(&sandbox, "");
    let token = ("Authorization", "Bearer a-token-of-support");
    let (status, answer) = server.post(&[token], &initialize());
    assert_eq!(status, 200, "{answer}");
    let session = answer
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "))
        .expect("a session")
        .trim()
        .to_owned();
    let ask = |headers: &[(&str, &str)], method: &str, params: Value| {
        let mut all = vec![("Mcp-Session-Id", session.as_str())];
        all.extend(headers);
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        server.post(&all, &body)
    };
    let sql = |sql: &str| json!({ "name": "sql_execution", "arguments": { "sql": sql } });
    let (_, tools) = ask(&[token], "tools/list", json!({}));
    assert!(
        tools.contains("sql_execution") && !tools.contains("discover_data"),
        "{tools}"
    );
    let (_, rows) = ask(
        &[token],
        "tools/call",
        sql("select note from orders order by id desc"),
    );
    assert!(
        rows.contains("a second one") && !rows.contains("a first one"),
        "{rows}"
    );
    let (_, refused) = ask(&[token], "tools/call", sql("select * from customers"));
    assert!(
        refused.contains("this client may not read a table `customers`"),
        "{refused}"
    );
    let (_, pages) = ask(&[token], "resources/list", json!({}));
    assert!(pages.contains("-32601"), "{pages}");
    // Another client does not know the session; a wrong token has no client.
    assert_eq!(ask(&[], "tools/list", json!({})).0, 404);
    let wrong = ("Authorization", "Bearer a-token-of-nobody");
    assert_eq!(ask(&[wrong], "tools/list", json!({})).0, 401);
    // Without a client's token, everything is open.
    let open = server.session().ask(
        "tools/call",
        &sql("select note from orders where region = 'US'"),
    );
    assert!(open.to_string().contains("XQZ-us-note"), "{open}");
}
