//! `ktx agent test`: cases, verdicts, reports.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop, streamed};
use crate::probes::configured;
use crate::support::{run, write};

/// Calls, one per step, then the answer.
pub(crate) type Script = fn(&Value) -> (Vec<(&'static str, Value)>, String);

/// Without ktx's additions.
pub(crate) fn question(asked: &Value) -> String {
    let text = asked["messages"][0]["content"][0]["text"].as_str();
    text.expect("a question").to_owned()
}

pub(crate) fn offered(asked: &Value) -> Vec<&str> {
    let tools = asked["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

/// As a judge, rejects answers that report something missing.
pub(crate) fn model(script: Script) -> Loopback {
    model_that(script)
}

pub(crate) fn model_that(
    script: impl Fn(&Value) -> (Vec<(&'static str, Value)>, String) + Send + Sync + 'static,
) -> Loopback {
    Loopback::start(move |request: &Request, number| {
        let asked = request.json();
        if !asked["output_config"]["format"].is_null() {
            let refused = question(&asked).contains("is not in the data");
            let object = json!({ "refused": refused, "reason": "as it says" });
            let block = json!({ "type": "text", "text": object.to_string() });
            return Answer::stream(streamed(number, &block));
        }
        let (calls, says) = script(&asked);
        let done = asked["messages"].as_array().map_or(0, Vec::len) / 2;
        let block = match calls.get(done) {
            Some((name, input)) => {
                json!({ "type": "tool_use", "id": format!("t{done}"), "name": name, "input": input })
            }
            None => json!({ "type": "text", "text": says }),
        };
        Answer::stream(streamed(number, &block))
    })
    .expect("a provider")
}

fn revenue() -> (&'static str, Value) {
    (
        "sl_query",
        json!({ "connectionId": "warehouse", "measures": ["orders.revenue"] }),
    )
}

pub(crate) fn analyst(asked: &Value) -> (Vec<(&'static str, Value)>, String) {
    let question = question(asked);
    let text = |text: &str| (Vec::new(), text.to_owned());
    match question.as_str() {
        "How much revenue?" => (vec![revenue()], "Revenue is 15.".to_owned()),
        "How much with refunds?" => text("Refunded orders count here.\nAnswer: 35"),
        "How many orders?" => text("Answer: 4"),
        "What was the profit?" => text("Cost is not in the data, so there is no profit."),
        "Which orders, largest first?" => {
            let sql = "SELECT id, amount FROM orders ORDER BY amount";
            let call = ("sql_execution", json!({ "sql": sql }));
            (vec![call], "Here they are.".to_owned())
        }
        "Loop." => (vec![revenue(); 9], String::new()),
        other => text(&format!("I was asked `{other}`.")),
    }
}

pub(crate) const ANALYST: &str = "name: analyst
instructions:
  inline: Answer from the layer.
tools: [wiki_search, sl_query, sql_execution]
limits: {max_turns: 3}
";

pub(crate) const CASES: &str = "defaults: {tags: [smoke]}
cases:
  - name: revenue
    input: How much revenue?
    ground_truth: {sql: \"SELECT sum(amount) AS total FROM orders WHERE status = 'paid'\"}
    expected_tools: [{name: sl_query, args: {measures: [orders.revenue]}}]
  - name: refunds
    tags: [money]
    input: How much with refunds?
    ground_truth: {value: 35}
  - name: orders
    input: How many orders?
    ground_truth: {value: 3}
  - name: profit
    input: What was the profit?
    ground_truth: {refusal: true}
  - name: largest
    input: Which orders, largest first?
    ground_truth: {sql: \"SELECT id, amount FROM orders ORDER BY amount DESC\"}
  - name: endless
    input: Loop.
    ground_truth: {value: 1}
  - name: gold-writes
    input: Never asked.
    ground_truth: {sql: DELETE FROM orders}
  - name: gold-wrong
    input: Never asked.
    ground_truth: {sql: SELECT total FROM orders}
  - name: gold-empty
    input: Never asked.
    ground_truth: {sql: SELECT id FROM orders WHERE id > 9}
  - name: later
    skip: no data yet
    input: Never asked.
";

pub(crate) fn tested(provider: &Loopback, cases: &str) -> Sandbox {
    let sandbox = configured(shop(CONFIG), provider, "");
    write(&sandbox, "agents/analyst.yaml", ANALYST);
    write(&sandbox, "cases.yaml", cases);
    sandbox
}

/// Drops times and random ids.
pub(crate) fn steady(mut report: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name.contains("second") {
                        *value = json!(0);
                    } else if name == "digest" || name == "ktx" {
                        *value = json!("…");
                    } else {
                        walk(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut report);
    report
}

/// HOLO-50, HOLO-51, HOLO-52, HOLO-53.
#[test]
fn cases_are_asked_and_judged() {
    let provider = model(analyst);
    let sandbox = tested(&provider, CASES);
    check!(&sandbox, "agent test cases.yaml --agent analyst --parallel 1", @r"
    exit 8
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	passed	1/1	-	[SESSION]
    orders	failed: wrong_value	0/1	numeric: 4 is not 3	[SESSION]
    profit	passed	1/1	-	[SESSION]
    largest	failed: wrong_order	0/1	sql_result: row 1 is in another place	[SESSION]
    endless	failed: max_turns	0/1	max_turns limit reached	[SESSION]
    gold-writes	error	0/0	oracle: the reference failed: only queries are allowed	-
    gold-wrong	error	0/0	oracle: the reference failed: no such column: total	-
    gold-empty	error	0/0	oracle: empty_reference: the reference has no rows	-
    later	skipped	0/0	no data yet	-
    --- stderr
    Project: [SANDBOX]/work
    full: 10 cases: 3 passed, 3 failed, 3 could not be judged, 1 skipped; accuracy 50 % (95 %: 19…81); 1270 tokens for $0.0040
    to see what went wrong: ktx agent sessions show [SESSION]
    ");
    let asked = provider.requests();
    assert!(
        asked
            .iter()
            .all(|it| !String::from_utf8_lossy(&it.body).contains("Never asked."))
    );
    check!(&sandbox, "agent sessions list", @r"
    exit 0
    session	state	turns	tokens	cost	question
    [SESSION]	interrupted	1	381	$0.0012	Loop.
    [SESSION]	ready	1	254	$0.0008	Which orders, largest first?
    [SESSION]	ready	1	127	$0.0004	What was the profit?
    [SESSION]	ready	1	127	$0.0004	How many orders?
    [SESSION]	ready	1	127	$0.0004	How much with refunds?
    [SESSION]	ready	1	254	$0.0008	How much revenue?
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "agent test cases.yaml --agent analyst --case 're*' --parallel 1", @r"
    exit 0
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	passed	1/1	-	[SESSION]
    --- stderr
    Project: [SANDBOX]/work
    full: 2 cases: 2 passed; accuracy 100 % (95 %: 34…100); 381 tokens for $0.0012
    ");
    check!(&sandbox, "agent test cases.yaml --agent analyst --tag money --limit 1 --repeats 2", @r"
    exit 0
    case	verdict	passes	reason	session
    refunds	passed	2/2	-	[SESSION]
    --- stderr
    Project: [SANDBOX]/work
    full: 1 case: 1 passed; accuracy 100 % (95 %: 100…100); 254 tokens for $0.0008
    ");
    check!(&sandbox, "agent test cases.yaml --agent analyst --dry-run", @r"
    exit 0
    case	tags	turns	repeats	skipped
    revenue	smoke	1	1	-
    refunds	money	1	1	-
    orders	smoke	1	1	-
    profit	smoke	1	1	-
    largest	smoke	1	1	-
    endless	smoke	1	1	-
    gold-writes	smoke	1	1	-
    gold-wrong	smoke	1	1	-
    gold-empty	smoke	1	1	-
    later	smoke	1	1	no data yet
    --- stderr
    Project: [SANDBOX]/work
    10 cases in 1 arm would be asked 9 times: full
    ");
}

/// HOLO-50: except times and session names.
#[test]
fn a_parallel_run_reports_the_same() {
    let provider = model(analyst);
    let sandbox = tested(&provider, CASES);
    let report = |parallel: u32| {
        let line = format!("agent test cases.yaml --agent analyst --parallel {parallel} --json");
        let printed = run(&sandbox, &line);
        assert_eq!(printed.code, Some(8), "{printed}");
        steady(serde_json::from_str(&printed.stdout).expect("JSON"))
    };
    let one = report(1);
    assert_eq!(one, report(8));
    insta::assert_snapshot!(format!("{:#}", json!({
        "agent": one["agent"], "layer": one["layer"], "model": one["model"], "arms": one["arms"],
        "totals": one["totals"], "revenue": one["cases"][0], "profit": one["cases"][3],
    })), @r#"
    {
      "agent": {
        "name": "analyst",
        "digest": "…"
      },
      "layer": {
        "commit": "[COMMIT]",
        "dirty": true,
        "digest": "…"
      },
      "model": "sonnet",
      "arms": [
        {
          "name": "full",
          "cases": 10,
          "passed": 3,
          "failed": 3,
          "errors": 3,
          "skipped": 1,
          "flaky": 0,
          "accuracy": 0.5,
          "ci": [
            0.1876163064826506,
            0.8123836935173494
          ],
          "coverage": 0.8,
          "wrong_and_confident": 0.3333333333333333,
          "refusal_quality": 1.0,
          "pass_at": {
            "1": 0.5
          },
          "pass_all": {},
          "steps": 10,
          "tokens": 1270,
          "cost_usd": 0.004014,
          "seconds": 0
        }
      ],
      "totals": {
        "cases": 10,
        "passed": 3,
        "failed": 3,
        "errors": 3,
        "skipped": 1,
        "tokens": 1397,
        "cost_usd": 0.0044154,
        "judging": {
          "tokens": 127,
          "cost_usd": 0.0004014,
          "steps": 1
        },
        "seconds": 0
      },
      "revenue": {
        "name": "revenue",
        "arm": "full",
        "repeats": 1,
        "passes": 1,
        "flaky": false,
        "pass_at": {
          "1": 1.0
        },
        "pass_all": {},
        "verdict": "passed",
        "metrics": [
          {
            "type": "sql_result",
            "name": "sql_result",
            "score": 1.0,
            "passed": true,
            "details": {
              "matched": 1,
              "missing": 0,
              "extra": 0,
              "soft": 1.0
            }
          },
          {
            "type": "tools",
            "name": "expected_tools",
            "score": 1.0,
            "passed": true,
            "details": {
              "matched": 1,
              "called": 1,
              "expected": 1
            }
          }
        ],
        "sessions": [
          "[SESSION]"
        ],
        "usage": {
          "tokens": 254,
          "cost_usd": 0.0008028,
          "steps": 2
        },
        "seconds": 0
      },
      "profit": {
        "name": "profit",
        "arm": "full",
        "repeats": 1,
        "passes": 1,
        "flaky": false,
        "pass_at": {
          "1": 1.0
        },
        "pass_all": {},
        "verdict": "passed",
        "metrics": [
          {
            "type": "refusal",
            "name": "refusal",
            "score": 1.0,
            "passed": true,
            "reason": "as it says"
          }
        ],
        "sessions": [
          "[SESSION]"
        ],
        "usage": {
          "tokens": 127,
          "cost_usd": 0.0004014,
          "steps": 1
        },
        "seconds": 0
      }
    }
    "#);
}

#[test]
fn reports_are_written_in_four_forms_and_compared() {
    let provider = model(analyst);
    let sandbox = tested(&provider, CASES);
    let line = "agent test cases.yaml --agent analyst --case re* --report out/r.json --report out/r.xml --report out/r.md --report out/r.html --format junit --parallel 1";
    let printed = run(&sandbox, line);
    assert_eq!(printed.code, Some(0), "{printed}");
    let junit = sandbox.read("out/r.xml").expect("a report");
    let times = regex::Regex::new(r#"(time|timestamp)="[^"]*""#).expect("a pattern");
    insta::assert_snapshot!(times.replace_all(&junit, "$1=…"), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="analyst" tests="2" failures="0" errors="0" skipped="0" time=…>
      <testsuite name="full" tests="2" failures="0" errors="0" skipped="0" time=… timestamp=…>
        <testcase classname="analyst" name="revenue" time=…/>
        <testcase classname="analyst" name="refunds" time=…/>
      </testsuite>
    </testsuites>
    "#);
    assert_eq!(sandbox.filter(junit.as_bytes()), printed.stdout);
    let page = sandbox.read("out/r.html").expect("a report");
    assert!(
        page.starts_with("<!doctype html>") && !page.contains("<script"),
        "{page}"
    );
    let text = sandbox.read("out/r.md").expect("a report");
    assert!(text.starts_with("# Tests of analyst\n"), "{text}");

    check!(&sandbox, "agent test cases.yaml --agent analyst --case 're*' --compare out/r.json --no-regression --parallel 1", @r"
    exit 0
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	passed	1/1	-	[SESSION]
    nothing has changed since the earlier report
    --- stderr
    Project: [SANDBOX]/work
    full: 2 cases: 2 passed; accuracy 100 % (95 %: 34…100); 381 tokens for $0.0012
    ");
    write(
        &sandbox,
        "cases.yaml",
        &CASES.replace("value: 35", "value: 36"),
    );
    check!(&sandbox, "agent test cases.yaml --agent analyst --case 'r*' --compare out/r.json --no-regression --parallel 1", @r"
    exit 8
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	failed: wrong_value	0/1	numeric: 35 is not 36	[SESSION]
    worse: refunds
    --- stderr
    Project: [SANDBOX]/work
    full: 2 cases: 1 passed, 1 failed; accuracy 50 % (95 %: 9…91); 381 tokens for $0.0012
    to see what went wrong: ktx agent sessions show [SESSION]
    ");
    check!(&sandbox, "agent test cases.yaml --agent analyst --case 'r*' --fail-under 0.5 --parallel 1", @r"
    exit 0
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	failed: wrong_value	0/1	numeric: 35 is not 36	[SESSION]
    --- stderr
    Project: [SANDBOX]/work
    full: 2 cases: 1 passed, 1 failed; accuracy 50 % (95 %: 9…91); 381 tokens for $0.0012
    to see what went wrong: ktx agent sessions show [SESSION]
    ");
    check!(&sandbox, "agent test cases.yaml --agent analyst --case 'r*' --fail-under 0.6 --parallel 1", @r"
    exit 8
    case	verdict	passes	reason	session
    revenue	passed	1/1	-	[SESSION]
    refunds	failed: wrong_value	0/1	numeric: 35 is not 36	[SESSION]
    --- stderr
    Project: [SANDBOX]/work
    full: 2 cases: 1 passed, 1 failed; accuracy 50 % (95 %: 9…91); 381 tokens for $0.0012
    to see what went wrong: ktx agent sessions show [SESSION]
    ");
    check!(&sandbox, "agent test cases.yaml --compare cases.yaml", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: `cases.yaml` is not a report that can be compared
      caused by: expected value at line 1 column 1

    hint: name a report that `ktx agent test --report FILE.json` has written
    ");
    check!(&sandbox, "agent test cases.yaml --report r.txt", @r"
    exit 2
    --- stderr
    error: `--report r.txt` has no ending of a report

    hint: name a file that ends with .json, .xml (JUnit), .md or .html
    ");
    check!(&sandbox, "agent test cases.yaml --fail-under 60", @r"
    exit 2
    --- stderr
    error: invalid value '60' for '--fail-under <X>': give a share from 0 to 1, such as 0.9

    For more information, try '--help'.
    ");
}

#[test]
fn faults_are_reported_together() {
    let provider = model(analyst);
    let sandbox = tested(&provider, CASES);
    write(
        &sandbox,
        "wrong.yaml",
        "cases:\n  - {name: a, input: q, ground_truth: {sql: SELECT 1, connection: warehose}}\n  - {name: a, turns: []}\n  - {input: q, repeats: 0, grund_truth: x}\n",
    );
    write(
        &sandbox,
        "agents/analyst.yaml",
        &ANALYST.replace("wiki_search", "wiki_serach"),
    );
    check!(&sandbox, "agent test wrong.yaml --agent analyst", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: agents/analyst.yaml:4:9: tools.0: there is no tool `wiki_serach`
      caused by: wrong.yaml:3:12: cases: `a` is there twice
      caused by: wrong.yaml:4:25: cases.2.repeats: 0 is not between 1 and 100
      caused by: wrong.yaml:4:28: cases.2.grund_truth: there is no such key
      caused by: wrong.yaml:2:67: cases.0.ground_truth.connection: there is no connection `warehose`
      caused by: wrong.yaml:3:5: cases.1: `turns` has no questions

    hint: did you mean `wiki_search`?
    ");
    write(&sandbox, "agents/analyst.yaml", ANALYST);
    check!(&sandbox, "agent test cases.yaml --agent analyst --case nothing --tag x", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: no test case fits `--case nothing` and `--tag x`

    hint: list the cases with `ktx agent test --dry-run`
    ");
    check!(&sandbox, "agent test cases.yaml --agent analyst --arm no-wikki", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: there is no arm `no-wikki`

    hint: did you mean `no-wiki`?
    ");
    check!(&sandbox, "agent test", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: no agent of the project has test cases

    hint: name a file of cases: `ktx agent test FILE`
    hint: or propose some: `ktx agent cases suggest --to cases.yaml`
    ");
    check!(&sandbox, "agent test analyst", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: there are no test cases

    hint: write some under `test_cases`, or name a file of cases
    hint: or propose some: `ktx agent cases suggest --to cases.yaml`
    ");
    check!(&sandbox, "agent test nowhere.yaml", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: there is no agent or file `nowhere.yaml`

    hint: list the agents with `ktx agent list`
    ");
    check!(&sandbox, "agent test cases.yaml --resume abcdef", @r"
    exit 2
    --- stderr
    error: the argument '[FILE]' cannot be used with '--resume <RUN>'

    Usage: ktx agent test <FILE>

    For more information, try '--help'.
    ");
    check!(&sandbox, "agent test --resume abcdef", @"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: there is no test run `abcdef`

    hint: list the runs with `ls .ktx/state/agents/tests`
    ");
    let many = format!(
        "cases:\n{}\t- x\n",
        "  - {name: c, input: q}\n".repeat(200_000)
    );
    write(&sandbox, "large.yaml", &many);
    check!(&sandbox, "agent test large.yaml --agent analyst", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: large.yaml:200002:1: cannot be read as YAML: found character that cannot start any token
    ");
    assert_eq!(provider.requests().len(), 0);
}
