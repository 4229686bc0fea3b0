//! Agents that ask other agents.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::claude::play;
use crate::probes::configured;
use crate::support::{commit, json as json_of, run, write};

const LEAD: &str = "name: lead
instructions: {inline: Answer after a review.}
tools: [sl_query]
agents: [reviewer]
";

const REVIEWER: &str = "name: reviewer
instructions: {inline: Review what you are given.}
tools: [wiki_search]
permissions: {mode: approval, allow: []}
";

fn write_agents(sandbox: &Sandbox) {
    write(sandbox, "agents/lead.yaml", LEAD);
    write(sandbox, "agents/reviewer.yaml", REVIEWER);
    commit(sandbox, "two agents");
}

fn asks() -> Value {
    json!({ "agent": "reviewer", "message": "Is 15 right?" })
}

fn with_claude() -> Sandbox {
    let mut sandbox = shop(CONFIG);
    write_agents(&sandbox);
    let review = json!([
        { "tools": [{ "name": "wiki_search", "input": { "query": "revenue" } }] },
        { "text": "15 is right." },
    ]);
    let lead = json!([
        { "tools": [{ "name": "ask_agent", "input": asks() }] },
        { "text": "Revenue is 15, reviewed." },
    ]);
    play(
        &mut sandbox,
        json!({
            "steps": [{ "text": "ok" }],
            "when": [
                { "prompt_contains": "[called the tool ask_agent", "steps": [{ "text": "Revenue is 15, reviewed." }] },
                { "prompt_contains": "[called the tool wiki_search", "steps": [{ "text": "15 is right." }] },
                { "prompt_contains": "Is 15 right?", "steps": review },
                { "prompt_contains": "How much revenue?", "steps": lead },
            ],
        }),
    );
    sandbox
}

fn provider() -> Loopback {
    answering(|_| 100)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Lead,
    Other,
}

fn answering(input: impl Fn(Asked) -> u64 + Send + Sync + 'static) -> Loopback {
    Loopback::start(move |request: &Request, number| {
        let asked = request.json();
        let messages = asked["messages"].as_array().map_or(0, Vec::len);
        let is_lead = asked["messages"][0].to_string().contains("How much revenue?");
        let block = match (is_lead, messages) {
            (true, 1) => json!({ "type": "tool_use", "id": "t1", "name": "ask_agent", "input": asks() }),
            (false, 1) => json!({ "type": "tool_use", "id": "t1", "name": "wiki_search", "input": { "query": "revenue" } }),
            (true, _) => json!({ "type": "text", "text": "Revenue is 15, reviewed." }),
            (false, _) => json!({ "type": "text", "text": "15 is right." }),
        };
        let asked = if is_lead { Asked::Lead } else { Asked::Other };
        let tokens = format!("\"input_tokens\":{}", input(asked));
        Answer::stream(streamed(number, &block).replace("\"input_tokens\":100", &tokens))
    })
    .expect("a provider")
}

/// KODE-70.
#[test]
fn an_agent_asks_another_one() {
    let sandbox = with_claude();
    check!(&sandbox, "agent run --agent lead --session talk --create -m 'How much revenue?'", @r#"
    exit 0
    Revenue is 15, reviewed.
    --- stderr
    Project: [SANDBOX]/work
    ask_agent {"agent":"reviewer","message":"Is 15 right?"}
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    4 model messages, 548 tokens in, 80 out, list price unknown
    to continue: ktx agent run --session talk -m …
    "#);
    check!(&sandbox, "agent sessions show talk-call-1", @r#"
    exit 0
    talk-call-1 · reviewer · 1 turn · ready
    asked by talk in call-1

    > Is 15 right?
      wiki_search {"query":"revenue"}
      ✗ denied: nobody can be asked
    15 is right.
    --- stderr
    Project: [SANDBOX]/work
    "#);
    check!(&sandbox, "usage --session talk", @"
    exit 0
    	messages	input	cache written	cache read	output	cost
    talk (lead)	2	200	60	14	40	unknown
    talk-call-1 (reviewer)	2	200	60	14	40	unknown
    total	4	400	120	28	80	unknown
    --- stderr
    Project: [SANDBOX]/work
    4 messages have no known price; the cost covers the others
    ");
    check!(&sandbox, "usage --session nope", @"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: there is no session `nope`

    hint: run `ktx agent sessions list` to see all
    ");
    let events = run(
        &sandbox,
        "agent sessions events talk --channels control,monitor",
    );
    let told: Vec<String> = events
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|event| {
            let kind = event["event"]["type"].as_str().unwrap_or_default();
            ["permission_required", "permission_decided", "subagent"].contains(&kind)
        })
        .map(|event| event["event"].to_string())
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    {"type":"subagent","session":"talk-call-1","agent":"reviewer","call":"call-1","state":"working"}
    {"type":"permission_required","call":{"id":"call-1","name":"wiki_search","state":"APPROVAL_REQUIRED","input_preview":"{\"query\":\"revenue\"}"},"session":"talk-call-1"}
    {"type":"permission_decided","call_id":"call-1","decision":"deny","decided_by":"ktx","note":"nobody can be asked","session":"talk-call-1"}
    {"type":"subagent","session":"talk-call-1","agent":"reviewer","call":"call-1","state":"answered"}
    "#);
}

/// KODE-62, KODE-70.
#[test]
fn a_waiting_call_of_the_other_agent_parks_both() {
    let provider = provider();
    let sandbox = configured(shop(CONFIG), &provider, "");
    write_agents(&sandbox);
    for sandbox in [with_claude(), sandbox] {
        let parked = run(
            &sandbox,
            "agent run --agent lead --session talk --create --on-ask park -m 'How much revenue?'",
        );
        assert_eq!(parked.code, Some(7), "{parked}");
        let error = parked.stderr.split_once("error: ").expect("an error").1;
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @"
            `call-1` (wiki_search) of the session `talk-call-1` waits for a decision

            hint: run `ktx agent decide talk-call-1 call-1 allow`
            hint: then run `ktx agent sessions resume talk`
            ");
        }
        let listed = json_of(&sandbox, "agent sessions list --json");
        let items = listed["data"]["items"].as_array().expect("sessions");
        let states: Vec<String> = items
            .iter()
            .map(|it| format!("{} {}", it["session"], it["state"]))
            .collect();
        assert_eq!(states.len(), 2);
        assert!(
            states.iter().all(|it| it.ends_with("\"parked\"")),
            "{states:?}"
        );
        assert_eq!(
            run(&sandbox, "agent decide talk-call-1 call-1 allow").code,
            Some(0)
        );
        let done = run(&sandbox, "agent sessions resume talk");
        assert_eq!(done.code, Some(0), "{done}");
        assert_eq!(done.stdout, "Revenue is 15, reviewed.\n");
        let shown = json_of(&sandbox, "agent sessions show talk-call-1 --json");
        assert_eq!(shown["calls"].as_array().map(Vec::len), Some(1));
        assert_eq!(shown["calls"][0]["state"], "COMPLETED");
    }
    assert_eq!(provider.requests().len(), 4);
}

/// KODE-70.
#[test]
fn the_other_agent_has_the_rest_of_the_budget() {
    let provider = answering(|asked| if asked == Asked::Other { 50_000 } else { 100 });
    let sandbox = configured(shop(CONFIG), &provider, "");
    write_agents(&sandbox);
    check!(&sandbox, "agent run --agent lead --session talk --create --max-tokens 20000 -m 'How much revenue?'", @r#"
    exit 7
    --- stderr
    Project: [SANDBOX]/work
    asking claude-sonnet-5-5
    ask_agent {"agent":"reviewer","message":"Is 15 right?"}
    2 model messages, 50114 tokens in, 40 out, list price $0.1006
    error: the next model call would exceed the budget: 50154 of 20000 tokens are used

    hint: run the same command again with a larger budget
    hint: run `ktx agent sessions resume talk` to continue where it ended
    "#);
    check!(&sandbox, "usage --session talk", @"
    exit 0
    	messages	input	cache written	cache read	output	cost
    talk (lead)	1	100	0	7	20	$0.0004
    talk-call-1 (reviewer)	1	50000	0	7	20	$0.1002
    total	2	50100	0	14	40	$0.1006
    --- stderr
    Project: [SANDBOX]/work
    ");
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn a_run_without_a_session_leaves_none() {
    let sandbox = with_claude();
    assert_eq!(
        run(
            &sandbox,
            "agent run --agent lead --no-session -m 'How much revenue?'"
        )
        .code,
        Some(0)
    );
    let once = sandbox.work().join(".ktx/state/agents/once");
    let left = std::fs::read_dir(once).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}

/// KODE-70: an arm without the wiki has none for asked agents either.
#[test]
fn a_tested_agent_asks_another_one() {
    let provider = Loopback::start(|request: &Request, number| {
        let asked = request.json();
        let messages = asked["messages"].as_array().cloned().unwrap_or_default();
        let is_lead = messages[0].to_string().contains("How much revenue?");
        let has_wiki = asked["tools"].to_string().contains("wiki_search");
        let reviewed = messages.last().map(Value::to_string).unwrap_or_default();
        let block = match (is_lead, messages.len()) {
            (true, 1) => {
                json!({ "type": "tool_use", "id": "t1", "name": "ask_agent", "input": asks() })
            }
            (true, _) if reviewed.contains("15 is right.") => {
                json!({ "type": "text", "text": "Answer: 15" })
            }
            (true, _) => json!({ "type": "text", "text": "Answer: 0" }),
            (false, _) if has_wiki => json!({ "type": "text", "text": "15 is right." }),
            (false, _) => json!({ "type": "text", "text": "There is no wiki." }),
        };
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider");
    let sandbox = configured(shop(CONFIG), &provider, "");
    write_agents(&sandbox);
    let cases = "cases: [{name: revenue, input: How much revenue?, ground_truth: {value: 15}, expected_tools: [ask_agent]}]\n";
    write(&sandbox, "cases.yaml", cases);
    let told = run(
        &sandbox,
        "agent test cases.yaml --agent lead --arm full,no-wiki,bare --format json",
    );
    let report: Value = serde_json::from_str(&told.stdout).expect("a report");
    let verdicts: Vec<String> = report["cases"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|case| format!("{}: {}", case["arm"], case["verdict"]))
        .collect();
    insta::assert_snapshot!(verdicts.join("\n"), @r#"
    "full": "passed"
    "no-wiki": "failed"
    "bare": "failed"
    "#);
}

/// Each reviewer reads 50,000 tokens and waits until both have begun.
fn two_at_once() -> Loopback {
    let begun = AtomicUsize::new(0);
    Loopback::start(move |request: &Request, number| {
        let asked = request.json();
        let messages = asked["messages"].as_array().cloned().unwrap_or_default();
        let is_lead = messages[0].to_string().contains("How much revenue?");
        let search = json!({ "type": "tool_use", "id": "t1", "name": "wiki_search", "input": { "query": "revenue" } });
        let ask = |id: &str| json!({ "type": "tool_use", "id": id, "name": "ask_agent", "input": asks() });
        let text = |text: &str| json!({ "type": "text", "text": text });
        if is_lead && messages.len() == 1 {
            let one = streamed(number, &ask("t1"));
            let other = streamed(number, &ask("t2")).replace("\"index\":0", "\"index\":1");
            let block = |events: &str| {
                let from = events.find("event: content_block_start").expect("a block");
                let until = events.find("event: message_delta").expect("an end");
                from..until
            };
            let (first, second) = (block(&one), block(&other));
            let (head, tail) = one.split_at(first.end);
            return Answer::stream(format!("{head}{}{tail}", &other[second]));
        }
        let block = match (is_lead, messages.len()) {
            (true, _) => text("Revenue is 15, reviewed."),
            (false, 1) => search,
            (false, _) => text("15 is right."),
        };
        if !is_lead && messages.len() == 1 {
            begun.fetch_add(1, Ordering::SeqCst);
            while begun.load(Ordering::SeqCst) % 2 == 1 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let tokens = if is_lead { 100 } else { 50_000 };
        let told = format!("\"input_tokens\":{tokens}");
        Answer::stream(streamed(number, &block).replace("\"input_tokens\":100", &told))
    })
    .expect("a provider")
}

/// KODE-70: the usage of a concurrently asked agent does not count.
#[test]
fn each_asked_agent_has_its_own_limit() {
    let provider = two_at_once();
    let sandbox = configured(shop(CONFIG), &provider, "");
    let reviewer = REVIEWER.replace("allow: []", "allow: [wiki_search]");
    let limited = |tokens: u32| format!("{reviewer}limits: {{max_tokens: {tokens}}}\n");
    write(&sandbox, "agents/lead.yaml", LEAD);
    write(&sandbox, "agents/reviewer.yaml", &limited(150_000));
    commit(&sandbox, "two agents");
    let answered = run(
        &sandbox,
        "agent run --agent lead --session talk --create -m 'How much revenue?'",
    );
    assert_eq!(answered.stdout, "Revenue is 15, reviewed.\n", "{answered}");
    for id in ["talk-call-1", "talk-call-2"] {
        let shown = run(&sandbox, &format!("agent sessions show {id}"));
        assert!(shown.stdout.ends_with("15 is right.\n"), "{shown}");
    }
    let metrics = "[{metric: contains, values: [reviewed]}, {metric: tools, threshold: 0}]";
    let cases =
        format!("cases: [{{name: revenue, input: How much revenue?, evaluations: {metrics}}}]\n");
    write(&sandbox, "cases.yaml", &cases);
    let tested = run(&sandbox, "agent test cases.yaml --agent lead --json");
    assert_eq!(tested.code, Some(0), "{tested}");

    write(&sandbox, "agents/reviewer.yaml", &limited(90_000));
    run(
        &sandbox,
        "agent run --agent lead --session more --create -m 'How much revenue?'",
    );
    let shown = run(&sandbox, "agent sessions show more").stdout;
    let refused: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("budget"))
        .collect();
    let told = refused.join("\n");
    insta::assert_snapshot!(told, @r"
    ✗ `reviewer` has no answer: the next model call would exceed the budget of the agent `reviewer`: 50027 …
    ✗ `reviewer` has no answer: the next model call would exceed the budget of the agent `reviewer`: 50027 …
    ");
}
