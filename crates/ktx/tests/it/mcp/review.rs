//! `review_proposals` and `review_decide`.

use serde_json::{Value, json};

use super::client::Client;
use crate::review::{measure, tempted};
use crate::support::{commit, git, json as json_of, run, write};

fn tools(client: &mut Client) -> Vec<String> {
    let list = client.ask("tools/list", json!({}));
    assert!(list.to_string().len() / 4 <= 2500, "{list}");
    let tools = list["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    let names = names.filter(|name| name.starts_with("review"));
    names.map(str::to_owned).collect()
}

/// Without a policy, clients can read pending proposals but not decide.
#[test]
fn proposals_are_shown_and_decided_as_the_policy_permits() {
    let sandbox = tempted(vec![measure(
        "name: orders\nmeasures:\n  - name: revenue\n    expr: sum(amount) * 10\n",
    )]);
    let mut client = Client::start(&sandbox);
    client.initialize();
    assert!(tools(&mut client).is_empty());
    client.close();
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(7));
    let mut client = Client::start(&sandbox);
    client.initialize();
    assert_eq!(tools(&mut client), ["review_proposals"]);
    let listed = client.call("review_proposals", json!({}));
    insta::assert_snapshot!(format!("{listed:#}"), @r#"
    {
      "items": [
        {
          "id": "cc2dc76e",
          "connectionId": "shop-dbt",
          "unitKey": "dbt-all",
          "state": "open",
          "files": [
            {
              "path": "semantic-layer/warehouse/orders.yaml",
              "reason": "a person or another source wrote it"
            }
          ]
        }
      ]
    }
    "#);
    let id = listed["items"][0]["id"].as_str().expect("an id").to_owned();
    let shown = client.call("review_proposals", json!({ "id": id }));
    assert!(
        shown["proposal"]["diff"]
            .to_string()
            .contains("sum(amount) * 10"),
        "{shown}"
    );
    insta::assert_snapshot!(client.call("review_proposals", json!({ "id": "none" })), @r#"{"isError":true,"text":"error: no proposal has the id `none`\n\nhint: `ktx review list` lists what waits"}"#);
    client.close();
    let config = sandbox.read("ktx.yaml").expect("settings");
    let policy = "clients:\n  default:\n    allowed_tools: [review_proposals, review_decide]\n";
    write(&sandbox, "ktx.yaml", &format!("{config}{policy}"));
    commit(&sandbox, "a policy");
    let mut client = Client::start(&sandbox);
    client.initialize();
    assert_eq!(tools(&mut client), ["review_decide", "review_proposals"]);
    let answer = client.ask(
        "tools/call",
        json!({ "name": "review_decide", "arguments": { "id": id, "decision": "accept" } }),
    );
    let decided = &answer["structuredContent"];
    assert_eq!(
        (&decided["id"], &decided["decision"]),
        (&json!(id), &json!("accepted")),
        "{answer}"
    );
    assert!(decided["commit"].is_string(), "{answer}");
    assert_eq!(
        git(&sandbox, &["log", "-1", "--format=%an", "--name-only"]),
        "Ada Test\n\nsemantic-layer/warehouse/orders.yaml\n"
    );
    let left: Value = json_of(&sandbox, "review list --json");
    assert_eq!(left["data"]["items"], json!([]));
    client.close();
}
