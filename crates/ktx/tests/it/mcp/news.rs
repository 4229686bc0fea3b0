//! Notifications, log messages, and questions to the user.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::{CONFIG, database, project, run, shop, write};

fn heard(client: &mut Client, count: usize) -> Vec<Value> {
    let mut all: Vec<Value> = (0..count)
        .map(|_| {
            let message = client.read();
            json!([message["method"], message["params"]])
        })
        .collect();
    all.sort_by_key(Value::to_string);
    all
}

#[test]
fn clients_hear_of_what_has_changed() {
    let sandbox = shop();
    let mut client = Client::able_to(&sandbox, &json!({}));
    client.ask("logging/setLevel", json!({ "level": "notice" }));
    for uri in [
        "ktx://wiki/revenue",
        "ktx://source/warehouse/orders",
        "ktx://wiki/new",
    ] {
        let answer = client.ask("resources/subscribe", json!({ "uri": uri }));
        let is_there = !uri.ends_with("new");
        assert_eq!(answer == json!({}), is_there, "{answer}");
    }
    write(
        &sandbox,
        "wiki/global/revenue.md",
        "---\nsummary: Revenue\n---\nAnother rule.\n",
    );
    let updated = |uri: &str| json!(["notifications/resources/updated", { "uri": uri }]);
    let listed = json!(["notifications/resources/list_changed", null]);
    assert_eq!(heard(&mut client, 1), [updated("ktx://wiki/revenue")]);
    // Only the changed source is announced.
    let orders = sandbox
        .read("semantic-layer/warehouse/orders.yaml")
        .expect("a source");
    let more = orders.replacen(
        "measures:\n",
        "measures:\n  - name: biggest\n    expr: max(amount)\n",
        1,
    );
    assert_ne!(more, orders);
    write(&sandbox, "semantic-layer/warehouse/orders.yaml", &more);
    assert_eq!(
        heard(&mut client, 2),
        [listed.clone(), updated("ktx://source/warehouse/orders")]
    );
    write(
        &sandbox,
        "wiki/global/new.md",
        "---\nsummary: New\n---\nNew.\n",
    );
    assert_eq!(heard(&mut client, 1), std::slice::from_ref(&listed));
    // Unwatched resources are silent.
    client.ask(
        "resources/unsubscribe",
        json!({ "uri": "ktx://wiki/revenue" }),
    );
    write(
        &sandbox,
        "wiki/global/revenue.md",
        "---\nsummary: Revenue\n---\nA third rule.\n",
    );
    write(&sandbox, "ktx.yaml", "connections: 7\n");
    let tools = json!(["notifications/tools/list_changed", null]);
    let broken = heard(&mut client, 3);
    assert_eq!(broken[1..], [listed.clone(), tools.clone()]);
    insta::assert_snapshot!(format!("{:#}\n", broken[0]), @r#"
    [
      "notifications/message",
      {
        "level": "error",
        "logger": "ktx",
        "data": "`ktx.yaml` has changed and cannot be used: ktx.yaml:1:14: `connections` must be an object, not `7`"
      }
    ]
    "#);
    write(&sandbox, "ktx.yaml", CONFIG);
    let whole = heard(&mut client, 3);
    assert_eq!(whole[1..], [listed, tools]);
    insta::assert_snapshot!(format!("{:#}\n", whole[0]), @r#"
    [
      "notifications/message",
      {
        "level": "notice",
        "logger": "ktx",
        "data": "`ktx.yaml` has changed and is used as it is now"
      }
    ]
    "#);
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn the_log_is_as_long_as_the_client_wants() {
    let sandbox = shop();
    let mut client = Client::able_to(&sandbox, &json!({}));
    let call = |client: &mut Client, name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        client
            .send(&json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params }));
        let mut lines = Vec::new();
        loop {
            let mut message = client.read();
            if message["id"] == json!(77) {
                return lines;
            }
            let line = message["params"]["data"].as_object_mut().expect("data");
            assert!(
                line.remove("milliseconds")
                    .is_some_and(|took| took.is_u64())
            );
            lines.push(message["params"].take());
        }
    };
    let line = |level: &str, tool: &str, end: &str| json!({ "level": level, "logger": "ktx", "data": { "tool": tool, "end": end } });
    let page = json!({ "key": "revenue" });
    assert_eq!(
        call(&mut client, "wiki_read", page.clone()),
        Vec::<Value>::new()
    );
    client.ask("logging/setLevel", json!({ "level": "debug" }));
    assert_eq!(
        call(&mut client, "wiki_read", page.clone()),
        [line("debug", "wiki_read", "answered")]
    );
    client.ask("logging/setLevel", json!({ "level": "info" }));
    assert_eq!(call(&mut client, "wiki_read", page), Vec::<Value>::new());
    assert_eq!(
        call(&mut client, "wiki_read", json!({ "key": "nope" })),
        [line("info", "wiki_read", "refused")]
    );
    let wrong = client.ask("logging/setLevel", json!({ "level": "loud" }));
    assert_eq!(wrong["code"], json!(-32602), "{wrong}");
    assert_eq!(client.close().0, Some(0));
}

const TWO_ROADS: &str = "
create table regions (id integer primary key, name text not null);
create table orders (id integer primary key, seller_id integer references regions (id),
  buyer_id integer references regions (id), amount numeric);
insert into regions values (1, 'North'), (2, 'South');
insert into orders values (1, 1, 2, 5), (2, 2, 2, 7);
";

/// Other clients get the refusal.
#[test]
fn a_user_decides_which_of_two_roads_is_meant() {
    let sandbox = project();
    write(&sandbox, "ktx.yaml", CONFIG);
    database(&sandbox, "warehouse.db", TWO_ROADS);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let question = json!({ "name": "sl_query", "arguments": {
        "measures": ["sum(orders.amount)"], "dimensions": ["regions.name"],
        "order_by": ["sum(orders.amount):desc"], "format": "json",
    }});
    let mut mute = Client::able_to(&sandbox, &json!({}));
    let refused = mute.ask("tools/call", question.clone());
    assert_eq!(refused["isError"], json!(true), "{refused}");
    assert_eq!(
        refused["structuredContent"]["error"]["code"],
        json!("ambiguous_join_path"),
        "{refused}"
    );
    assert_eq!(mute.close().0, Some(0));
    let mut client = Client::able_to(&sandbox, &json!({ "elicitation": {} }));
    let ask = |client: &mut Client, answer: Value| {
        client.send(
            &json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": question }),
        );
        let asked = client.read();
        assert_eq!(asked["method"], json!("elicitation/create"), "{asked}");
        client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }));
        (asked["params"].clone(), client.read())
    };
    let (asked, answer) = ask(&mut client, json!({ "action": "decline" }));
    insta::assert_snapshot!(format!("{asked:#}\n"), @r#"
    {
      "_meta": {
        "progressToken": 0
      },
      "mode": "form",
      "message": "ktx: two equally short joins lead from `orders` to `regions`: orders -[buyer_id]-> regions and orders -[seller_id]-> regions; name the one that is meant",
      "requestedSchema": {
        "type": "object",
        "properties": {
          "choice": {
            "type": "string",
            "enum": [
              "orders.buyer.name",
              "orders.seller.name"
            ]
          }
        },
        "required": [
          "choice"
        ]
      }
    }
    "#);
    assert_eq!(answer["result"]["content"], refused["content"], "{answer}");
    let choice = asked
        .pointer("/requestedSchema/properties/choice/enum/0")
        .expect("a way");
    let accepted = json!({ "action": "accept", "content": { "choice": choice } });
    let (_, answer) = ask(&mut client, accepted);
    let rows = answer.pointer("/result/structuredContent/rows");
    assert_eq!(
        rows,
        Some(&json!([["South", 12], ["North", null]])),
        "{choice} {answer}"
    );
    let strange = json!({ "action": "accept", "content": { "choice": "another" } });
    let (_, answer) = ask(&mut client, strange);
    assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
    assert_eq!(client.close().0, Some(0));
}
