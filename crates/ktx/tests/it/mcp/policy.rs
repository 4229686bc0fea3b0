//! What clients can use and read.

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::Client;
use super::served::{Server, initialize};
use crate::live_warehouse::server::{Postgres, Server as _};
use crate::live_warehouse::warehouse;
use crate::support::{CONFIG, commit, database, project, run, write};

const SHOP: &str = include_str!("../../../../../fixtures/policy/shop.sql");
const CLIENTS: &str = include_str!("../../../../../fixtures/policy/clients.yaml");
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

fn sqlite() -> Sandbox {
    let sandbox = project();
    database(&sandbox, "warehouse.db", SHOP);
    write(&sandbox, "ktx.yaml", CONFIG);
    write(&sandbox, ".gitignore", "*.db\n");
    described(sandbox)
}

fn restrict(sandbox: &Sandbox, clients: &str) {
    let config = sandbox.read("ktx.yaml").expect("a configuration");
    write(sandbox, "ktx.yaml", &format!("{config}{clients}"));
}

/// Attack texts that succeed, and the number of all texts.
fn reaching(sandbox: &Sandbox, dialect: &str) -> (Vec<String>, usize) {
    let mut client = Client::start(sandbox);
    client.initialize();
    let (mut reached, mut count) = (Vec::new(), 0);
    for line in TEXTS.lines().filter(|line| !line.starts_with('#')) {
        let own = ["sqlite: ", "postgres: "];
        let text = match own.iter().find(|own| line.starts_with(**own)) {
            Some(own) if own.trim_end_matches(": ") == dialect => &line[own.len()..],
            Some(_) => continue,
            None => line,
        };
        let (tool, arguments) = match text.strip_prefix('@') {
            Some(call) => {
                let (tool, arguments) = call.split_once(' ').expect("a call");
                (tool, serde_json::from_str(arguments).expect("arguments"))
            }
            None => ("sql_execution", json!({ "sql": text })),
        };
        count += 1;
        let answer = client.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        let answer = answer.to_string();
        if MARKS.iter().any(|mark| answer.contains(mark)) {
            reached.push(format!("{line}\n  {answer}"));
        }
    }
    (reached, count)
}

/// Most texts succeed without the policy, none with it.
#[track_caller]
fn nothing_is_reached(sandbox: &Sandbox, dialect: &str) {
    let (reached, count) = reaching(sandbox, dialect);
    assert!(
        count >= 200 && reached.len() >= 100,
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

/// Numbers cover the visible rows.
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

fn asked(client: &mut Client, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    client.ask("tools/call", params).to_string()
}

/// With unusable settings, the server shows nothing.
#[test]
fn a_policy_holds_from_the_moment_it_is_written() {
    let sandbox = sqlite();
    let config = sandbox.read("ktx.yaml").expect("a configuration");
    let salary = json!({ "sql": "select pay from salaries" });
    let regions = json!({ "query": "regions" });
    let mut client = Client::start(&sandbox);
    client.initialize();
    let open = asked(&mut client, "sql_execution", &salary);
    assert!(open.contains("98765"), "{open}");
    restrict(&sandbox, CLIENTS);
    let refused = asked(&mut client, "sql_execution", &salary);
    assert!(refused.contains("policy_refused"), "{refused}");
    assert!(
        refused.contains("this client may not read a table `salaries`"),
        "{refused}"
    );
    let broken = CLIENTS.replace("salaries", "salaries_of_nobody");
    assert_ne!(broken, CLIENTS);
    write(&sandbox, "ktx.yaml", &format!("{config}{broken}"));
    for (tool, arguments) in [("sql_execution", &salary), ("wiki_search", &regions)] {
        let closed = asked(&mut client, tool, arguments);
        assert!(closed.contains("settings_unusable"), "{closed}");
        assert!(!closed.contains("of_nobody"), "{closed}");
    }
    write(&sandbox, "ktx.yaml", &format!("{config}{CLIENTS}"));
    let pages = asked(&mut client, "wiki_search", &regions);
    assert!(pages.contains("Regions"), "{pages}");
    write(&sandbox, "ktx.yaml", &config);
    let open = asked(&mut client, "sql_execution", &salary);
    assert!(open.contains("98765"), "{open}");
}

#[test]
fn broken_settings_open_no_tool() {
    const ONE_TOOL: &str = "clients:\n  default:\n    allowed_tools: [connection_list]\n";
    let sandbox = sqlite();
    let config = sandbox.read("ktx.yaml").expect("a configuration");
    restrict(&sandbox, ONE_TOOL);
    let mut client = Client::start(&sandbox);
    client.initialize();
    let names = |client: &mut Client| {
        let list = client.ask("tools/list", json!({}));
        let tools = list["tools"].as_array().expect("tools").clone();
        let names = tools.iter().map(|tool| tool["name"].clone());
        names.collect::<Value>()
    };
    assert_eq!(names(&mut client), json!(["connection_list"]));
    let salary = json!({ "sql": "select pay from salaries" });
    // A list cannot disappear while the server runs.
    for broken in ["connections: [\n", &config] {
        write(&sandbox, "ktx.yaml", broken);
        assert_eq!(names(&mut client), json!(["connection_list"]), "{broken}");
        let refused = asked(&mut client, "sql_execution", &salary);
        assert!(!refused.contains("98765"), "{refused}");
        let closed = asked(&mut client, "connection_list", &json!({}));
        assert!(closed.contains("settings_unusable"), "{closed}");
    }
    write(&sandbox, "ktx.yaml", &format!("{config}{ONE_TOOL}"));
    let open = asked(&mut client, "connection_list", &json!({}));
    assert!(open.contains("\"warehouse\""), "{open}");
}

#[test]
fn tools_of_the_project_follow_their_files() {
    let sandbox = sqlite();
    let mut client = Client::start(&sandbox);
    client.initialize();
    let has_tool = |client: &mut Client| {
        let list = client.ask("tools/list", json!({}));
        list.to_string().contains("\"heads_of\"")
    };
    assert!(!has_tool(&mut client));
    let tool =
        "name: heads_of\ndescription: How many.\nsql: select count(*) as heads from customers\n";
    write(&sandbox, "tools/heads.yaml", tool);
    assert!(has_tool(&mut client));
    let answer = client.ask("tools/call", json!({ "name": "heads_of", "arguments": {} }));
    assert_ne!(answer["isError"], true, "{answer}");
    write(
        &sandbox,
        "tools/heads.yaml",
        "name: heads_of\nsql: delete from customers\n",
    );
    assert!(!has_tool(&mut client));
    write(&sandbox, "tools/heads.yaml", tool);
    assert!(has_tool(&mut client));
}
