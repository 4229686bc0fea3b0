//! `ktx agent test --ablation`: no arm sees a withheld part.

use ktx_test_support::loopback::{Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent_tests::{model, model_that, offered, question, steady, tested};
use crate::support::{commit, database, run, transcript, write};

type Calls = Vec<(&'static str, Value)>;

fn numbered() -> String {
    let cases = (1..=12).map(|number| {
        format!(
            "  - {{name: q{number}, input: Number {number}?, ground_truth: {{value: {number}}}}}\n"
        )
    });
    format!("cases:\n{}", cases.collect::<String>())
}

fn number(asked: &Value) -> String {
    let digits = |sign: &char| sign.is_ascii_digit();
    question(asked).chars().filter(digits).collect()
}

fn reader(asked: &Value) -> (Calls, String) {
    let says = if offered(asked).contains(&"wiki_search") {
        format!("Answer: {}", number(asked))
    } else {
        "Answer: 0".to_owned()
    };
    (Vec::new(), says)
}

fn ablation(sandbox: &Sandbox, arms: &str) -> Value {
    let line = format!("agent test cases.yaml --agent analyst {arms} --json");
    let printed = run(sandbox, &line);
    serde_json::from_str(&printed.stdout).expect("JSON")
}

fn timeless(text: &str) -> String {
    let is_time = |cell: &str| {
        let parts = cell.split_once('.');
        parts.is_some_and(|(whole, tenth)| whole.parse::<u32>().is_ok() && tenth.len() == 1)
    };
    let lines = text.lines().map(|line| match line.rsplit_once('\t') {
        Some((before, cell)) if is_time(cell) => format!("{before}\t[SECONDS]"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[test]
fn a_model_that_needs_the_wiki_shows_that_the_layer_helps() {
    let provider = model(reader);
    let sandbox = tested(&provider, &numbered());
    let line = "agent test cases.yaml --agent analyst --ablation --parallel 1";
    insta::assert_snapshot!(timeless(&transcript(&run(&sandbox, line))), @"
    exit 0
    case	full	bare
    q1	passed	failed: wrong_value
    q2	passed	failed: wrong_value
    q3	passed	failed: wrong_value
    q4	passed	failed: wrong_value
    q5	passed	failed: wrong_value
    q6	passed	failed: wrong_value
    q7	passed	failed: wrong_value
    q8	passed	failed: wrong_value
    q9	passed	failed: wrong_value
    q10	passed	failed: wrong_value
    q11	passed	failed: wrong_value
    q12	passed	failed: wrong_value

    arm	cases	passed	failed	errors	skipped	accuracy (95 %)	coverage	wrong and confident	cost	tokens	seconds
    full	12	12	0	0	0	100 % (76…100)	100 %	0 %	$0.0048	1524	[SECONDS]
    bare	12	0	12	0	0	0 % (0…24)	100 %	100 %	$0.0048	1524	[SECONDS]

    full against bare: the layer helps: +100 points (95 %: +100…+100), 12 cases better, 0 worse, $0.000 more a question (p = 0.0005)
    --- stderr
    Project: [SANDBOX]/work
    to see what went wrong: ktx agent sessions show [SESSION]
    ");
    let report = steady(ablation(&sandbox, "--arm full,no-wiki,no-dictionary"));
    insta::assert_snapshot!(format!("{:#}", report["ablation"]), @r#"
    {
      "base": "full",
      "arms": [
        {
          "name": "no-wiki",
          "gain": 1.0,
          "ci": [
            1.0,
            1.0
          ],
          "p_value": 0.0004882812500000003,
          "better": 12,
          "worse": 0,
          "cases": 12,
          "left_out": 0,
          "verdict": "helps",
          "cost_difference_usd": 0.0,
          "cost_per_gain_usd": 0.0,
          "token_difference": 0.0,
          "second_difference": 0,
          "line": "the layer helps: +100 points (95 %: +100…+100), 12 cases better, 0 worse, $0.000 more a question"
        },
        {
          "name": "no-dictionary",
          "gain": 0.0,
          "ci": [
            0.0,
            0.0
          ],
          "p_value": 1.0,
          "better": 0,
          "worse": 0,
          "cases": 12,
          "left_out": 0,
          "verdict": "cannot_be_told",
          "cost_difference_usd": 0.0,
          "token_difference": 0.0,
          "second_difference": 0,
          "line": "cannot be told with 12 cases: no difference was seen"
        }
      ]
    }
    "#);
    // Only the paragraph about tools differs.
    let system = |request: &Request| request.json()["system"].to_string();
    let first: Vec<String> = provider.requests().iter().take(2).map(system).collect();
    insta::assert_snapshot!(first.join("\n"), @r#"
    [{"type":"text","text":"Answer from the layer.\n\nYour tools: `sl_query`, `sql_execution`, `wiki_search`.\nEnd with a line `Answer: …` that holds nothing but the value.\n\n# Tools\n\n## sl_query\n\n- Prefer a measure of the layer to an aggregate of your own: it knows what to leave out.\n- A condition on a measure applies after aggregation, every other one before it.\n- `truncated` says that there are more rows than you see. Never add up the rows of such an answer: ask again without the dimension, or with `totals`.\n- Pass on what the `notes` of an answer say about its numbers.\n- A refusal offers whole queries that work. Send the one that answers the question, unchanged.\n- A number that no query gave you is a guess. If no measure and no column holds it, say what is missing.\n","cache_control":{"type":"ephemeral","ttl":"1h"}}]
    [{"type":"text","text":"Answer from the layer.\n\nYour tools: `connection_list`, `entity_details`, `sql_execution`.\nEnd with a line `Answer: …` that holds nothing but the value.","cache_control":{"type":"ephemeral","ttl":"1h"}}]
    "#);
}

#[test]
fn a_coin_shows_nothing() {
    let provider = model_that(|asked: &Value| {
        let number: u64 = number(asked).parse().expect("a number");
        // Every second case passes with everything, every third without.
        let lands = if offered(asked).contains(&"wiki_search") {
            number.is_multiple_of(2)
        } else {
            number % 4 < 2
        };
        let says = if lands { number } else { 0 };
        (Vec::new(), format!("Answer: {says}"))
    });
    let sandbox = tested(&provider, &numbered());
    let report = ablation(&sandbox, "--ablation");
    assert_eq!(report["ablation"]["arms"][0]["verdict"], "cannot_be_told");
}

fn curious(asked: &Value) -> (Calls, String) {
    let words =
        "wikicanary measurecanary sourcecanary columncanary joincanary valuecanary commentcanary";
    let all: Calls = vec![
        ("connection_list", json!({})),
        ("discover_data", json!({ "query": words, "limit": 50 })),
        ("discover_data", json!({ "query": "orders items revenue" })),
        ("wiki_search", json!({ "query": words })),
        ("wiki_read", json!({ "key": "secrets" })),
        ("sl_read_source", json!({ "sourceName": "orders" })),
        ("sl_read_source", json!({ "sourceName": "items" })),
        (
            "sl_query",
            json!({ "measures": ["orders.revenue"], "dimensions": ["items.kind"] }),
        ),
        (
            "sl_query",
            json!({ "measures": ["count(items.id)"], "dimensions": ["orders.status"] }),
        ),
        (
            "entity_details",
            json!({ "entities": [{ "table": "orders" }, { "table": "items" }] }),
        ),
        ("dictionary_search", json!({ "values": ["valuecanary"] })),
        (
            "sql_execution",
            json!({ "sql": "SELECT nothing FROM orders JOIN items ON items.ref = orders.id" }),
        ),
        (
            "sql_execution",
            json!({ "sql": "SELECT sum(o.amount) FROM orders o JOIN items i ON i.ref = o.id" }),
        ),
    ];
    let offered = offered(asked);
    let calls = all.into_iter().filter(|(name, _)| offered.contains(name));
    (calls.collect(), "Answer: 1".to_owned())
}

fn planted(provider: &Loopback) -> Sandbox {
    let sandbox = tested(
        provider,
        "cases:\n  - {name: look, input: Look around., ground_truth: {value: 1}}\n",
    );
    database(
        &sandbox,
        "warehouse.db",
        "CREATE TABLE items (id INTEGER PRIMARY KEY, ref INTEGER NOT NULL, kind TEXT NOT NULL);
         INSERT INTO items VALUES (1, 1, 'valuecanary'), (2, 1, 'valuecanary'), (3, 2, 'other'), (4, 3, 'other');",
    );
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    write(
        &sandbox,
        "wiki/global/secrets.md",
        "---\nsummary: The wikicanary of orders\n---\nThe wikicanary sings.\n",
    );
    write(
        &sandbox,
        "semantic-layer/warehouse/orders.yaml",
        "name: orders
descriptions: {user: The sourcecanary of orders.}
column_overrides:
  - {name: status, descriptions: {user: The columncanary.}}
measures:
  - {name: revenue, expr: 'sum(amount) /* commentcanary */', description: The measuretextcanary.}
  - {name: measurecanary, expr: count(id)}
joins:
  - {to: items, 'on': 'orders.id = items.ref', relationship: one_to_many, alias: joincanary}
",
    );
    write(
        &sandbox,
        "agents/analyst.yaml",
        "name: analyst
instructions: {inline: Look around.}
tools: [connection_list, discover_data, wiki_search, wiki_read, sl_read_source, sl_query, entity_details, dictionary_search, sql_execution]
limits: {max_turns: 20}
",
    );
    commit(&sandbox, "canaries");
    sandbox
}

#[test]
fn no_arm_sees_what_it_must_not() {
    let provider = model(curious);
    let sandbox = planted(&provider);
    let texts = [
        "sourcecanary",
        "columncanary",
        "measuretextcanary",
        "commentcanary",
    ];
    let semantic = [&texts[..], &["measurecanary", "joincanary"]].concat();
    let all = [&semantic[..], &["wikicanary", "valuecanary"]].concat();
    let arms: [(&str, &[&str]); 6] = [
        ("no-wiki", &["wikicanary"]),
        ("no-semantic", &semantic),
        ("no-descriptions", &texts),
        ("no-joins", &["joincanary"]),
        ("no-dictionary", &["valuecanary"]),
        ("bare", &all),
    ];
    // The model's own calls repeat the words.
    let sent = |from: usize| {
        let requests = provider.requests();
        let results = requests.iter().skip(from).flat_map(|request| {
            let asked = request.json();
            let messages = asked["messages"].as_array().cloned().unwrap_or_default();
            let answers = messages.into_iter().filter(|it| it["role"] == "user");
            let mut parts: Vec<String> = answers.map(|it| it["content"].to_string()).collect();
            parts.push(asked["system"].to_string());
            parts.push(asked["tools"].to_string());
            parts
        });
        results.collect::<Vec<String>>().join("\n")
    };
    let ask = |arm: &str| {
        let before = provider.requests().len();
        let line = format!("agent test cases.yaml --agent analyst --arm {arm}");
        let printed = run(&sandbox, &line);
        assert_eq!(printed.code, Some(0), "{arm}: {printed}");
        sent(before)
    };
    let whole = ask("full");
    let unseen: Vec<&&str> = all
        .iter()
        .filter(|canary| !whole.contains(**canary))
        .collect();
    assert_eq!(
        unseen,
        Vec::<&&str>::new(),
        "the arm `full` sees everything"
    );
    for (arm, hidden) in arms {
        let seen = ask(arm);
        // A search without hits repeats its words.
        let seen = seen.replace("wikicanary measurecanary sourcecanary columncanary joincanary valuecanary commentcanary", "");
        let hits: Vec<&&str> = hidden
            .iter()
            .filter(|canary| seen.contains(**canary))
            .collect();
        assert_eq!(hits, Vec::<&&str>::new(), "{arm}");
    }
}
