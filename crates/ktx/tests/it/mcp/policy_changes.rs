//! A server that runs follows the policy and the tools of its project.

use serde_json::{Value, json};

use super::client::Client;
use super::policy::{CLIENTS, restrict, sqlite};
use crate::support::write;

fn asked(client: &mut Client, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    client.ask("tools/call", params).to_string()
}

/// A server that runs follows its settings; while they cannot be used, it shows nothing.
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

/// While the settings are broken, the list of a client's tools is not longer than before.
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
    // A list cannot go while a server runs.
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

/// A tool of the project is there from the moment it is written, and gone while it is broken.
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
