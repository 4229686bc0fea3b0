//! Agent file keys that change model calls.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::claude::play;
use crate::probes::configured;
use crate::support::{commit, json as json_of, run, write};

const BASE: &str = "name: analyst
instructions: {inline: Answer from the layer.}
tools: [wiki_search]
";

pub(crate) fn remote(provider: &Loopback, keys: &str) -> Sandbox {
    with_agent(configured(shop(CONFIG), provider, ""), keys)
}

pub(crate) fn local(scenario: Value, keys: &str) -> Sandbox {
    let mut sandbox = shop(CONFIG);
    play(&mut sandbox, scenario);
    with_agent(sandbox, keys)
}

fn with_agent(sandbox: Sandbox, keys: &str) -> Sandbox {
    write(&sandbox, "agents/analyst.yaml", &format!("{BASE}{keys}"));
    commit(&sandbox, "an agent");
    sandbox
}

fn shape(asked: &Value) -> String {
    let keys = ["model", "temperature", "top_p", "max_tokens", "thinking"];
    let shown = keys.iter().map(|key| format!("{key}: {}", asked[*key]));
    shown.collect::<Vec<String>>().join("\n")
}

/// HOLO-10, HOLO-03, C-14: an unsupported setting is named once.
#[test]
fn settings_are_sent_where_the_model_takes_them() {
    let provider = Loopback::start(|_, number| {
        Answer::stream(streamed(number, &json!({ "type": "text", "text": "15." })))
    })
    .expect("a provider");
    let haiku = "model: {name: claude-haiku-4-5, temperature: 0.5, max_tokens: 900}\n";
    let sandbox = remote(&provider, haiku);
    check!(&sandbox, "agent run --agent analyst -m 'How much?'", @r"
    exit 0
    15.
    --- stderr
    Project: [SANDBOX]/work
    asking claude-haiku-4-5
    1 model messages, 107 tokens in, 20 out, list price $0.0004
    to continue: ktx agent run --session [SESSION] -m …
    ");
    insta::assert_snapshot!(shape(&provider.requests()[0].json()), @r#"
    model: "claude-haiku-4-5"
    temperature: 0.5
    top_p: null
    max_tokens: 900
    thinking: null
    "#);
    let sonnet = "model: {name: claude-sonnet-5, temperature: 0.5, top_p: 0.9, max_tokens: 900}
claude: {extended_thinking: {enabled: true, budget_tokens: 2000}}\n";
    write(&sandbox, "agents/analyst.yaml", &format!("{BASE}{sonnet}"));
    check!(&sandbox, "agent run --agent analyst -m 'How much?'", @r"
    exit 0
    15.
    --- stderr
    Project: [SANDBOX]/work
    warning: agents/analyst.yaml: model.temperature is not sent: `claude-sonnet-5` does not take it
    warning: agents/analyst.yaml: model.top_p is not sent: `claude-sonnet-5` does not take it
    asking claude-sonnet-5
    1 model messages, 107 tokens in, 20 out, list price $0.0004
    to continue: ktx agent run --session [SESSION] -m …
    ");
    insta::assert_snapshot!(shape(&provider.requests()[1].json()), @r#"
    model: "claude-sonnet-5"
    temperature: null
    top_p: null
    max_tokens: 2900
    thinking: {"type":"enabled","budget_tokens":2000}
    "#);
    let thinking = "model: {name: claude-haiku-4-5, max_tokens: 9000}
claude: {extended_thinking: {enabled: true, budget_tokens: 2000}}\n";
    write(
        &sandbox,
        "agents/analyst.yaml",
        &format!("{BASE}{thinking}"),
    );
    check!(&sandbox, "agent run --agent analyst -m 'How much?'", @r"
    exit 0
    15.
    --- stderr
    Project: [SANDBOX]/work
    asking claude-haiku-4-5
    1 model messages, 107 tokens in, 20 out, list price $0.0004
    to continue: ktx agent run --session [SESSION] -m …
    ");
    insta::assert_snapshot!(shape(&provider.requests()[2].json()), @r#"
    model: "claude-haiku-4-5"
    temperature: null
    top_p: null
    max_tokens: 9000
    thinking: {"type":"enabled","budget_tokens":2000}
    "#);
}

/// HOLO-03, C-14.
#[test]
fn settings_that_no_model_of_a_backend_takes_are_named() {
    let keys = "model: {temperature: 0.5, top_p: 0.9, max_tokens: 900}
claude: {extended_thinking: {enabled: true}}\n";
    let sandbox = local(json!({ "steps": [{ "text": "15." }] }), keys);
    check!(&sandbox, "agent run --agent analyst -m 'How much?'", @r"
    exit 0
    15.
    --- stderr
    Project: [SANDBOX]/work
    warning: agents/analyst.yaml:4:9: not on this backend: `model.temperature`
    warning: agents/analyst.yaml:4:27: not on this backend: `model.top_p`
    warning: agents/analyst.yaml:4:39: not on this backend: `model.max_tokens`
    warning: agents/analyst.yaml:5:10: not on this backend: `claude.extended_thinking`
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    1 model messages, 137 tokens in, 20 out, list price unknown
    to continue: ktx agent run --session [SESSION] -m …
    ");
}

const FORM: &str = "response_format:
  type: object
  properties: {total: {type: integer}}
  required: [total]
  additionalProperties: false
";

pub(crate) fn object(number: usize, asked: &Value, value: &Value) -> String {
    let forced = asked["tool_choice"]["name"].as_str();
    let block = match forced {
        Some(name) => json!({ "type": "tool_use", "id": "o1", "name": name, "input": value }),
        None => json!({ "type": "text", "text": value.to_string() }),
    };
    streamed(number, &block)
}

/// HOLO-31, HOLO-30.
#[test]
fn an_answer_has_the_form_that_the_agent_asks_for() {
    let provider = Loopback::start(|request: &Request, number| {
        let asked = request.json();
        let prompt = asked["messages"].to_string();
        if prompt.contains("Answer:\\nIt is 15.") {
            return Answer::stream(object(number, &asked, &json!({ "total": 15 })));
        }
        Answer::stream(streamed(
            number,
            &json!({ "type": "text", "text": "It is 15." }),
        ))
    })
    .expect("a provider");
    let over_http = remote(&provider, FORM);
    let at_home = local(
        json!({
            "steps": [{ "text": "ok" }],
            "when": [
                { "prompt_contains": "Answer:\nIt is 15.", "steps": [{ "object": { "total": 15 } }] },
                { "prompt_contains": "How much?", "steps": [{ "text": "It is 15." }] },
            ],
        }),
        FORM,
    );
    let results = [&over_http, &at_home].map(|sandbox| {
        let mut shown = json_of(sandbox, "agent run --agent analyst -m 'How much?' --json");
        for key in ["trace_id", "token_usage", "cost_usd"] {
            shown.as_object_mut().expect("an object").remove(key);
        }
        shown
    });
    assert_eq!(results[0], results[1]);
    insta::assert_snapshot!(format!("{:#}", results[0]), @r#"
    {
      "run_id": "[UUID]",
      "session": "[SESSION]",
      "response": "{\"total\":15}",
      "structured_output": {
        "total": 15
      },
      "tool_calls": [],
      "tool_results": [],
      "turn": 1,
      "num_turns": 1,
      "is_error": false
    }
    "#);
    check!(&over_http, "agent run --agent analyst -m 'How much?' --output pretty", @r#"
    exit 0
    It is 15.
    {"total":15}
    --- stderr
    Project: [SANDBOX]/work
    asking claude-sonnet-5-5
    2 model messages, 214 tokens in, 40 out, list price $0.0008
    to continue: ktx agent run --session [SESSION] -m …
    "#);
    check!(&at_home, "agent run --agent analyst -m 'How much?' --session talk --create", @r#"
    exit 0
    {"total":15}
    --- stderr
    Project: [SANDBOX]/work
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    2 model messages, 274 tokens in, 40 out, list price unknown
    to continue: ktx agent run --session talk -m …
    "#);
    check!(&at_home, "agent sessions show talk", @r"
    exit 0
    talk · analyst · 1 turn · ready

    > How much?
    It is 15.
    --- stderr
    Project: [SANDBOX]/work
    ");
}

/// HOLO-31: two corrections, then an error; the next try asks only for the object.
#[test]
fn an_answer_that_does_not_fit_is_an_error_that_loses_nothing() {
    let provider = Loopback::start(|request: &Request, number| {
        let asked = request.json();
        if asked["messages"]
            .to_string()
            .contains("Answer:\\nIt is 15.")
        {
            return Answer::stream(object(number, &asked, &json!({ "total": "many" })));
        }
        Answer::stream(streamed(
            number,
            &json!({ "type": "text", "text": "It is 15." }),
        ))
    })
    .expect("a provider");
    let sandbox = remote(&provider, FORM);
    check!(&sandbox, "agent run --agent analyst -m 'How much?' --session talk --create", @r"
    exit 5
    --- stderr
    Project: [SANDBOX]/work
    asking claude-sonnet-5-5
    4 model messages, 428 tokens in, 80 out, list price $0.0016
    error: the answer does not fit `response_format`

    hint: run the command again; if the error stays, set `llm.models` to a more capable model
    hint: run `ktx agent sessions resume talk` to continue where it ended
    ");
    assert_eq!(provider.requests().len(), 4);
    assert_eq!(run(&sandbox, "agent sessions resume talk").code, Some(5));
    assert_eq!(provider.requests().len(), 7);
    let wrong = FORM.replace("integer", "amount");
    write(&sandbox, "agents/analyst.yaml", &format!("{BASE}{wrong}"));
    check!(&sandbox, "agent run --agent analyst -m 'How much?'", @r#"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: agents/analyst.yaml:5:3: response_format: the schema is not valid: "amount" is not valid under any of the schemas listed in the 'anyOf' keyword
    "#);
    assert_eq!(provider.requests().len(), 7);
}
