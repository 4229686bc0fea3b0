//! Resources, prompts and argument completion.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::{shop, write};

fn answers(asked: &[(&'static str, Value)]) -> String {
    let sandbox = shop();
    let mut client = Client::able_to(&sandbox, &json!({}));
    let answers = asked.iter().map(|(method, params)| {
        let answer = client.ask(method, params.clone());
        format!("# {method} {params}\n{answer:#}\n")
    });
    let text = answers.collect::<String>();
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
    sandbox.filter(text.as_bytes())
}

fn read(uri: &str) -> (&'static str, Value) {
    ("resources/read", json!({ "uri": uri }))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments are written where they are used"
)]
fn prompt(name: &str, arguments: Value) -> (&'static str, Value) {
    (
        "prompts/get",
        json!({ "name": name, "arguments": arguments }),
    )
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments are written where they are used"
)]
fn complete(prompt: Option<&str>, name: &str, value: &str, known: Value) -> (&'static str, Value) {
    let subject = match prompt {
        Some(prompt) => json!({ "type": "ref/prompt", "name": prompt }),
        None => json!({ "type": "ref/resource", "uri": "ktx://schema/{connection}/{table}" }),
    };
    let argument = json!({ "name": name, "value": value });
    let params = json!({ "ref": subject, "argument": argument, "context": { "arguments": known } });
    ("completion/complete", params)
}

#[test]
fn resources_are_listed() {
    let text = answers(&[
        ("resources/list", json!({})),
        (
            "resources/list",
            json!({ "cursor": "ktx://source/warehouse/orders" }),
        ),
        ("resources/list", json!({ "cursor": "7" })),
        ("resources/templates/list", json!({})),
    ]);
    insta::assert_snapshot!(text, @r##"
    # resources/list {}
    {
      "resources": [
        {
          "uri": "ktx://schema/warehouse",
          "name": "warehouse",
          "title": "Tables of a warehouse: warehouse",
          "mimeType": "text/plain"
        },
        {
          "uri": "ktx://source/warehouse/customers",
          "name": "customers",
          "title": "Semantic source: customers",
          "mimeType": "application/yaml"
        },
        {
          "uri": "ktx://source/warehouse/orders",
          "name": "orders",
          "title": "Semantic source: orders",
          "description": "One row per order; cancelled orders are not kept.",
          "mimeType": "application/yaml"
        },
        {
          "uri": "ktx://source/warehouse/regions",
          "name": "regions",
          "title": "Semantic source: regions",
          "mimeType": "application/yaml"
        },
        {
          "uri": "ktx://wiki/revenue",
          "name": "revenue",
          "title": "Wiki page: revenue",
          "description": "Revenue counts paid orders only",
          "mimeType": "text/markdown"
        },
        {
          "uri": "ktx://wiki/test-customers",
          "name": "test-customers",
          "title": "Wiki page: test-customers",
          "description": "Which customers are not real",
          "mimeType": "text/markdown"
        }
      ]
    }
    # resources/list {"cursor":"ktx://source/warehouse/orders"}
    {
      "resources": [
        {
          "uri": "ktx://source/warehouse/regions",
          "name": "regions",
          "title": "Semantic source: regions",
          "mimeType": "application/yaml"
        },
        {
          "uri": "ktx://wiki/revenue",
          "name": "revenue",
          "title": "Wiki page: revenue",
          "description": "Revenue counts paid orders only",
          "mimeType": "text/markdown"
        },
        {
          "uri": "ktx://wiki/test-customers",
          "name": "test-customers",
          "title": "Wiki page: test-customers",
          "description": "Which customers are not real",
          "mimeType": "text/markdown"
        }
      ]
    }
    # resources/list {"cursor":"7"}
    {
      "code": -32602,
      "message": "the cursor is not one that `resources/list` gave; begin without one"
    }
    # resources/templates/list {}
    {
      "resourceTemplates": [
        {
          "uriTemplate": "ktx://wiki/{key}",
          "name": "wiki",
          "title": "Wiki page",
          "description": "A page of definitions, rules and caveats.",
          "mimeType": "text/markdown"
        },
        {
          "uriTemplate": "ktx://source/{connection}/{source}",
          "name": "source",
          "title": "Semantic source",
          "description": "The columns, joins, measures and segments that queries take.",
          "mimeType": "application/yaml"
        },
        {
          "uriTemplate": "ktx://schema/{connection}",
          "name": "schema",
          "title": "Tables of a warehouse",
          "description": "The tables that the last scan has found.",
          "mimeType": "text/plain"
        },
        {
          "uriTemplate": "ktx://schema/{connection}/{table}",
          "name": "table",
          "title": "Table",
          "description": "The columns, keys and joins of a table, as the last scan has found them.",
          "mimeType": "application/json"
        }
      ]
    }
    "##);
}

#[test]
fn resources_are_read() {
    let text = answers(&[
        read("ktx://wiki/revenue"),
        read("ktx://source/warehouse/regions"),
        read("ktx://schema/warehouse"),
        read("ktx://schema/warehouse/regions"),
        read("ktx://wiki/nope"),
        read("ktx://source/nope/regions"),
        read("ktx://schema/warehouse/nope"),
        read("file:///etc/passwd"),
    ]);
    insta::assert_snapshot!(text, @r##"
    # resources/read {"uri":"ktx://wiki/revenue"}
    {
      "contents": [
        {
          "uri": "ktx://wiki/revenue",
          "mimeType": "text/markdown",
          "text": "# Revenue\n\nTest customers never count; see [[test-customers]].\n"
        }
      ]
    }
    # resources/read {"uri":"ktx://source/warehouse/regions"}
    {
      "contents": [
        {
          "uri": "ktx://source/warehouse/regions",
          "mimeType": "application/yaml",
          "text": "name: regions\ntable: regions\ngrain:\n- id\ncolumns:\n- name: id\n  type: number\n- name: name\n  type: string\njoins:\n- to: customers\n  on: regions.id = customers.region_id\n  relationship: one_to_many\nmeasures: []\n"
        }
      ]
    }
    # resources/read {"uri":"ktx://schema/warehouse"}
    {
      "contents": [
        {
          "uri": "ktx://schema/warehouse",
          "mimeType": "text/plain",
          "text": "3 tables. Columns, keys and joins of one: `ktx://schema/warehouse/<table>`.\ncustomers · 4 columns\norders · 5 columns\nregions · 2 columns\n"
        }
      ]
    }
    # resources/read {"uri":"ktx://schema/warehouse/regions"}
    {
      "contents": [
        {
          "uri": "ktx://schema/warehouse/regions",
          "mimeType": "application/json",
          "text": "{\"ok\":true,\"connectionId\":\"warehouse\",\"tableRef\":{\"catalog\":null,\"db\":null,\"name\":\"regions\"},\"display\":\"regions\",\"kind\":\"table\",\"comment\":null,\"estimatedRows\":3,\"columns\":[{\"name\":\"id\",\"nativeType\":\"INTEGER\",\"normalizedType\":\"INTEGER\",\"dimensionType\":\"number\",\"nullable\":false,\"primaryKey\":true,\"comment\":null,\"sampleValues\":[\"1\",\"2\",\"3\"]},{\"name\":\"name\",\"nativeType\":\"TEXT\",\"normalizedType\":\"TEXT\",\"dimensionType\":\"string\",\"nullable\":false,\"primaryKey\":false,\"comment\":null,\"sampleValues\":[\"Islands\",\"North\",\"South\"]}],\"foreignKeys\":[],\"snapshot\":{\"syncId\":\"[SYNC]\",\"extractedAt\":\"[TIME]\",\"scanRunId\":\"[UUID]\"},\"sourceName\":\"regions\",\"joins\":[{\"to\":\"customers\",\"on\":\"regions.id = customers.region_id\",\"relationship\":\"one_to_many\"}]}"
        }
      ]
    }
    # resources/read {"uri":"ktx://wiki/nope"}
    {
      "code": -32002,
      "message": "there is no wiki page `nope`; find pages with `wiki_search`"
    }
    # resources/read {"uri":"ktx://source/nope/regions"}
    {
      "code": -32002,
      "message": "there is no connection `nope`; use one of `warehouse`"
    }
    # resources/read {"uri":"ktx://schema/warehouse/nope"}
    {
      "code": -32002,
      "message": "there is no table `nope` in the last scan; find tables with `discover_data`"
    }
    # resources/read {"uri":"file:///etc/passwd"}
    {
      "code": -32002,
      "message": "there is no resource `file:///etc/passwd`; the forms are `ktx://wiki/{key}`, `ktx://source/{connection}/{source}`, `ktx://schema/{connection}`, `ktx://schema/{connection}/{table}`; `resources/list` has all"
    }
    "##);
}

#[test]
fn a_long_page_is_read_in_parts() {
    let sandbox = shop();
    let mut client = Client::able_to(&sandbox, &json!({}));
    // A long page is readable in whole sections.
    let sections = (0..60).map(|at| format!("## Part {at}\n\n{}\n", "A sentence. ".repeat(80)));
    let page = format!("---\nsummary: long\n---\n{}", sections.collect::<String>());
    write(&sandbox, "wiki/global/long.md", &page);
    let mut uri = "ktx://wiki/long".to_owned();
    let mut whole = String::new();
    let mut parts = 0;
    loop {
        let answer = client.ask("resources/read", json!({ "uri": uri }));
        let contents = answer["contents"].as_array().expect("contents");
        let part = contents[0]["text"].as_str().expect("a text");
        assert!(part.len() < 40_000 && part.starts_with("## Part"), "{part}");
        whole.push_str(part.trim_end());
        whole.push_str("\n\n");
        parts += 1;
        let Some(more) = contents.get(1) else { break };
        uri = more["uri"].as_str().expect("a URI").to_owned();
        assert_eq!(more["text"], json!(format!("There is more: read `{uri}`.")));
    }
    assert!(parts > 1);
    assert_eq!(whole.matches("## Part").count(), 60);
    assert_eq!(whole.matches("A sentence.").count(), 60 * 80);
    // The continuation belongs to another version of the page.
    write(
        &sandbox,
        "wiki/global/long.md",
        &page.replace("long", "longer").replace("Part", "Pert"),
    );
    let stale = client.ask("resources/read", json!({ "uri": uri }));
    assert_eq!(stale["code"], json!(-32602), "{stale}");
    assert_eq!(client.close(), (Some(0), String::new(), String::new()));
}

#[test]
fn prompts_are_listed_and_made() {
    let text = answers(&[
        ("prompts/list", json!({})),
        prompt(
            "answer-question",
            json!({ "question": "What was the revenue in May?" }),
        ),
        prompt("explain-measure", json!({ "measure": "orders.revenue" })),
        prompt(
            "check-number",
            json!({ "claim": "Revenue is 7.", "page": "revenue" }),
        ),
    ]);
    insta::assert_snapshot!(text, @r##"
    # prompts/list {}
    {
      "prompts": [
        {
          "name": "answer-question",
          "title": "Answer a question with data",
          "description": "Answers a question with a number, and says on which definitions and filters it rests.",
          "arguments": [
            {
              "name": "question",
              "description": "the question, as you would ask a colleague",
              "required": true
            }
          ]
        },
        {
          "name": "explain-measure",
          "title": "Explain a measure",
          "description": "Says in plain words what a measure counts, what it leaves out, and how it is computed.",
          "arguments": [
            {
              "name": "measure",
              "description": "the measure, such as `orders.revenue`",
              "required": true
            }
          ]
        },
        {
          "name": "check-number",
          "title": "Check a number",
          "description": "Computes a number that someone has stated, and explains a difference.",
          "arguments": [
            {
              "name": "claim",
              "description": "the statement, such as `revenue in May was 1.2 million`",
              "required": true
            },
            {
              "name": "page",
              "description": "the wiki page with the definition that counts",
              "required": false
            }
          ]
        },
        {
          "name": "review-source",
          "title": "Review a semantic source",
          "description": "Looks for what is missing or misleading in a source: descriptions, measures, joins, hidden columns.",
          "arguments": [
            {
              "name": "source",
              "description": "the name of the source",
              "required": true
            }
          ]
        }
      ]
    }
    # prompts/get {"name":"answer-question","arguments":{"question":"What was the revenue in May?"}}
    {
      "messages": [
        {
          "role": "user",
          "content": {
            "type": "text",
            "text": "Answer this question with the tools of ktx:\n\nWhat was the revenue in May?\n\n1. Call `discover_data` with the words of the question, and read the pages that it finds.\n2. Ask with `sl_query`. Take `sql_execution` only for what `sl_query` cannot express.\n3. If a term can mean several things here, ask me which one I mean before you compute.\n4. Give the number with its unit and period, then the definitions and filters that it rests on, and until when the data\n   reach. If the data cannot answer the question, say so."
          }
        }
      ]
    }
    # prompts/get {"name":"explain-measure","arguments":{"measure":"orders.revenue"}}
    {
      "messages": [
        {
          "role": "user",
          "content": {
            "type": "text",
            "text": "Explain the measure `orders.revenue` to someone who has never seen this data. The source that defines it follows.\n\nRead the wiki pages about it first (`discover_data` finds them). Then say what one unit of it is, which rows count and\nwhich do not, how it relates to measures with similar names, and which mistake people make with it most easily. Quote the\nformula last. Where the pages and the formula contradict each other, say so."
          }
        },
        {
          "role": "user",
          "content": {
            "type": "resource",
            "resource": {
              "uri": "ktx://source/warehouse/orders",
              "mimeType": "application/yaml",
              "text": "name: orders\ndescriptions:\n  user: One row per order; cancelled orders are not kept.\ntable: orders\ngrain:\n- id\ncolumns:\n- name: id\n  type: number\n- name: customer_id\n  type: number\n- name: status\n  type: string\n- name: amount\n  type: number\n- name: ordered_at\n  type: time\n  role: time\n  descriptions:\n    user: The day of the order.\njoins:\n- to: customers\n  on: orders.customer_id = customers.id\n  relationship: many_to_one\nmeasures:\n- name: revenue\n  expr: sum(amount)\n  filter: status = 'paid' and customers.test = 0\n  description: Money received from real customers.\n- name: order_count\n  expr: count(id)\nsegments:\n- name: paid\n  expr: status = 'paid'\n"
            }
          }
        }
      ]
    }
    # prompts/get {"name":"check-number","arguments":{"claim":"Revenue is 7.","page":"revenue"}}
    {
      "messages": [
        {
          "role": "user",
          "content": {
            "type": "text",
            "text": "Someone says:\n\nRevenue is 7.\n\nCompute the number with ktx: `discover_data` for the terms, `sl_query` for the number. If it differs, find out why: try\nthe definitions, periods and filters that would lead to the stated number, one at a time. Give both numbers, the difference,\nand the most likely reason; say how sure you are."
          }
        },
        {
          "role": "user",
          "content": {
            "type": "resource",
            "resource": {
              "uri": "ktx://wiki/revenue",
              "mimeType": "text/markdown",
              "text": "# Revenue\n\nTest customers never count; see [[test-customers]].\n"
            }
          }
        }
      ]
    }
    "##);
}

#[test]
fn prompts_refuse_what_they_cannot_use() {
    let text = answers(&[
        prompt("explain-measure", json!({ "measure": "orders.revenu" })),
        prompt("explain-measure", json!({})),
        prompt("explain-measure", json!({ "measure": 7 })),
        prompt("answer-question", json!({ "question": "x", "word": "y" })),
        prompt("nope", json!({})),
    ]);
    insta::assert_snapshot!(text, @r##"
    # prompts/get {"name":"explain-measure","arguments":{"measure":"orders.revenu"}}
    {
      "code": -32602,
      "message": "there is no measure `orders.revenu`; try `orders.revenue`"
    }
    # prompts/get {"name":"explain-measure","arguments":{}}
    {
      "code": -32602,
      "message": "the prompt `explain-measure` needs `measure`: the measure, such as `orders.revenue`"
    }
    # prompts/get {"name":"explain-measure","arguments":{"measure":7}}
    {
      "code": -32602,
      "message": "the argument `measure` of a prompt must be a text"
    }
    # prompts/get {"name":"answer-question","arguments":{"question":"x","word":"y"}}
    {
      "code": -32602,
      "message": "the prompt `answer-question` takes no `word`"
    }
    # prompts/get {"name":"nope","arguments":{}}
    {
      "code": -32602,
      "message": "there is no prompt `nope`; there are `answer-question`, `explain-measure`, `check-number`, `review-source`"
    }
    "##);
}

#[test]
fn names_are_completed() {
    let text = answers(&[
        complete(Some("explain-measure"), "measure", "rev", json!({})),
        complete(Some("check-number"), "page", "", json!({})),
        complete(Some("review-source"), "source", "RE", json!({})),
        complete(None, "connection", "", json!({})),
        complete(None, "table", "ord", json!({ "connection": "warehouse" })),
        complete(None, "table", "ord", json!({})),
        complete(None, "column", "", json!({})),
        complete(Some("nope"), "page", "", json!({})),
    ]);
    insta::assert_snapshot!(text, @r##"
    # completion/complete {"ref":{"type":"ref/prompt","name":"explain-measure"},"argument":{"name":"measure","value":"rev"},"context":{"arguments":{}}}
    {
      "completion": {
        "values": [
          "orders.revenue"
        ],
        "total": 1,
        "hasMore": false
      }
    }
    # completion/complete {"ref":{"type":"ref/prompt","name":"check-number"},"argument":{"name":"page","value":""},"context":{"arguments":{}}}
    {
      "completion": {
        "values": [
          "revenue",
          "test-customers"
        ],
        "total": 2,
        "hasMore": false
      }
    }
    # completion/complete {"ref":{"type":"ref/prompt","name":"review-source"},"argument":{"name":"source","value":"RE"},"context":{"arguments":{}}}
    {
      "completion": {
        "values": [
          "regions"
        ],
        "total": 1,
        "hasMore": false
      }
    }
    # completion/complete {"ref":{"type":"ref/resource","uri":"ktx://schema/{connection}/{table}"},"argument":{"name":"connection","value":""},"context":{"arguments":{}}}
    {
      "completion": {
        "values": [
          "warehouse"
        ],
        "total": 1,
        "hasMore": false
      }
    }
    # completion/complete {"ref":{"type":"ref/resource","uri":"ktx://schema/{connection}/{table}"},"argument":{"name":"table","value":"ord"},"context":{"arguments":{"connection":"warehouse"}}}
    {
      "completion": {
        "values": [
          "orders"
        ],
        "total": 1,
        "hasMore": false
      }
    }
    # completion/complete {"ref":{"type":"ref/resource","uri":"ktx://schema/{connection}/{table}"},"argument":{"name":"table","value":"ord"},"context":{"arguments":{}}}
    {
      "completion": {
        "values": [],
        "total": 0,
        "hasMore": false
      }
    }
    # completion/complete {"ref":{"type":"ref/resource","uri":"ktx://schema/{connection}/{table}"},"argument":{"name":"column","value":""},"context":{"arguments":{}}}
    {
      "code": -32602,
      "message": "there is no argument `column`"
    }
    # completion/complete {"ref":{"type":"ref/prompt","name":"nope"},"argument":{"name":"page","value":""},"context":{"arguments":{}}}
    {
      "code": -32602,
      "message": "there is no prompt `nope`"
    }
    "##);
}
