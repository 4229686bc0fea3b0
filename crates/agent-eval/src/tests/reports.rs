//! Reports.

use insta::assert_snapshot;
use serde_json::json;

use crate::{
    AgentInfo, Attempt, CaseKey, Expectation, FailureClass, LayerInfo, MetricResult, PlannedCase,
    Report, ReportHeader, Usage, Verdict, changes, html, junit, markdown, report,
};

fn header() -> ReportHeader {
    ReportHeader {
        run: "run-1".to_owned(),
        ktx: "0.13.0".to_owned(),
        agent: AgentInfo {
            name: "analyst".to_owned(),
            digest: "d1".to_owned(),
        },
        layer: LayerInfo {
            commit: Some("abc123".to_owned()),
            dirty: true,
            digest: "d2".to_owned(),
        },
        model: "model-1".to_owned(),
        started: "2026-03-31T00:00:00Z".to_owned(),
    }
}

fn attempt(case: &str, arm: &str, repeat: u32, verdict: Verdict) -> Attempt {
    Attempt {
        case: case.to_owned(),
        arm: arm.to_owned(),
        repeat,
        verdict,
        class: None,
        reason: None,
        metrics: Vec::new(),
        session: Some(format!("{case}-{arm}-{repeat}")),
        usage: Usage {
            tokens: 100,
            cost_usd: Some(0.25),
            steps: 2,
        },
        judging: None,
        seconds: 0.5,
    }
}

fn failed(case: &str, arm: &str, repeat: u32, class: FailureClass, reason: &str) -> Attempt {
    Attempt {
        class: Some(class),
        reason: Some(reason.to_owned()),
        ..attempt(case, arm, repeat, Verdict::Failed)
    }
}

fn metric(score: f64, reason: &str) -> MetricResult {
    let details = json!({ "matched": 1 });
    MetricResult {
        kind: "sql_result".to_owned(),
        name: "sql_result".to_owned(),
        score: Some(score),
        threshold: None,
        passed: Some(score > 0.5),
        error: None,
        reason: Some(reason.to_owned()),
        details: details.as_object().cloned().unwrap(),
    }
}

fn planned() -> Vec<PlannedCase> {
    let case = |name: &str, expectation| PlannedCase {
        name: name.to_owned(),
        expectation,
    };
    vec![
        case("revenue", Expectation::Answer),
        case("orders <by> \"month\"", Expectation::Answer),
        case("churn", Expectation::Refusal),
        case("later", Expectation::Answer),
        case("limits", Expectation::Answer),
    ]
}

fn attempts() -> Vec<Attempt> {
    let orders = "orders <by> \"month\"";
    let hostile = "# |rows| <script>alert(1)</script>\n\u{7}[x](y)";
    let mut wrong = failed(orders, "full", 2, FailureClass::FanOut, hostile);
    wrong.metrics = vec![metric(0.0, hostile)];
    let error = Attempt {
        reason: Some("budget".to_owned()),
        session: None,
        usage: Usage {
            cost_usd: None,
            ..Usage::default()
        },
        ..attempt("limits", "full", 1, Verdict::Error)
    };
    let skipped = |arm: &str| Attempt {
        reason: Some("no model yet".to_owned()),
        session: None,
        usage: Usage {
            cost_usd: Some(0.0),
            ..Usage::default()
        },
        seconds: 0.0,
        ..attempt("later", arm, 1, Verdict::Skipped)
    };
    vec![
        // In the order in which they ended.
        wrong,
        attempt(orders, "full", 1, Verdict::Passed),
        attempt("revenue", "full", 1, Verdict::Passed),
        attempt("revenue", "full", 2, Verdict::Passed),
        attempt("churn", "full", 1, Verdict::Passed),
        attempt("churn", "full", 2, Verdict::Passed),
        skipped("full"),
        error,
        failed(
            "revenue",
            "bare",
            1,
            FailureClass::WrongRows,
            "the rows differ",
        ),
        failed(
            "revenue",
            "bare",
            2,
            FailureClass::NoRows,
            "no query succeeded",
        ),
        failed(
            orders,
            "bare",
            1,
            FailureClass::WrongRows,
            "the rows differ",
        ),
        failed(
            orders,
            "bare",
            2,
            FailureClass::WrongRows,
            "the rows differ",
        ),
        failed(
            "churn",
            "bare",
            1,
            FailureClass::AnsweredInsteadOfRefusing,
            "it says 5 %",
        ),
        attempt("churn", "bare", 2, Verdict::Passed),
        skipped("bare"),
        attempt("limits", "bare", 1, Verdict::Passed),
    ]
}

fn whole() -> Report {
    let arms = ["full".to_owned(), "bare".to_owned()];
    report(header(), &planned(), &arms, &attempts())
}

#[test]
fn arms_are_counted_and_compared() {
    let report = whole();
    let shown = json!({ "arms": report.arms, "ablation": report.ablation });
    assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap(), @r#"
    {
      "arms": [
        {
          "name": "full",
          "cases": 5,
          "passed": 2,
          "failed": 1,
          "errors": 1,
          "skipped": 1,
          "flaky": 1,
          "accuracy": 0.8333333333333334,
          "ci": [
            0.5,
            1.0
          ],
          "coverage": 1.0,
          "wrong_and_confident": 0.16666666666666666,
          "refusal_quality": 1.0,
          "pass_at": {
            "1": 0.8333333333333334,
            "2": 1.0
          },
          "pass_all": {
            "2": 0.6666666666666666
          },
          "steps": 12,
          "tokens": 600,
          "cost_usd": null,
          "seconds": 3.5
        },
        {
          "name": "bare",
          "cases": 5,
          "passed": 1,
          "failed": 3,
          "errors": 0,
          "skipped": 1,
          "flaky": 1,
          "accuracy": 0.375,
          "ci": [
            0.0,
            0.75
          ],
          "coverage": 0.8,
          "wrong_and_confident": 0.5714285714285714,
          "refusal_quality": 0.5,
          "pass_at": {
            "1": 0.375,
            "2": 0.3333333333333333
          },
          "pass_all": {
            "2": 0.0
          },
          "steps": 14,
          "tokens": 700,
          "cost_usd": 1.75,
          "seconds": 3.5
        }
      ],
      "ablation": {
        "base": "full",
        "arms": [
          {
            "name": "bare",
            "gain": 0.6666666666666666,
            "ci": [
              0.5,
              1.0
            ],
            "p_value": 0.5,
            "better": 3,
            "worse": 0,
            "cases": 3,
            "left_out": 1,
            "verdict": "cannot_be_told",
            "cases_needed": 9,
            "cost_difference_usd": 0.0,
            "cost_per_gain_usd": 0.0,
            "token_difference": 0.0,
            "second_difference": 0.0,
            "line": "cannot be told with 3 cases: about 9 are needed; 1 case with errors left out"
          }
        ]
      }
    }
    "#);
}

#[test]
fn a_report_reads_back_and_shows_the_repeat_that_decides() {
    let report = whole();
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    assert_eq!(
        serde_json::to_string(&report.totals).unwrap(),
        r#"{"cases":10,"passed":3,"failed":4,"errors":1,"skipped":2,"tokens":1300,"cost_usd":null,"seconds":7.0}"#
    );
    let case = &report.cases[1];
    assert_snapshot!(serde_json::to_string_pretty(case).unwrap(), @r##"
    {
      "name": "orders <by> \"month\"",
      "arm": "full",
      "repeats": 2,
      "passes": 1,
      "flaky": true,
      "pass_at": {
        "1": 0.5,
        "2": 1.0
      },
      "pass_all": {
        "2": 0.0
      },
      "verdict": "failed",
      "class": "fan_out",
      "reason": "# |rows| <script>alert(1)</script>\n\u0007[x](y)",
      "metrics": [
        {
          "type": "sql_result",
          "name": "sql_result",
          "score": 0.0,
          "passed": false,
          "reason": "# |rows| <script>alert(1)</script>\n\u0007[x](y)",
          "details": {
            "matched": 1
          }
        }
      ],
      "sessions": [
        "orders <by> \"month\"-full-1",
        "orders <by> \"month\"-full-2"
      ],
      "usage": {
        "tokens": 200,
        "cost_usd": 0.5,
        "steps": 4
      },
      "seconds": 1.0
    }
    "##);
}

#[test]
fn junit_has_a_suite_for_each_arm() {
    assert_snapshot!(junit(&whole()), @r##"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="analyst" tests="10" failures="4" errors="1" skipped="2" time="7.000">
      <testsuite name="full" tests="5" failures="1" errors="1" skipped="1" time="3.500" timestamp="2026-03-31T00:00:00Z">
        <testcase classname="analyst" name="revenue" time="1.000"/>
        <testcase classname="analyst" name="orders &lt;by&gt; &quot;month&quot;" time="1.000"><failure type="fan_out" message="# |rows| &lt;script&gt;alert(1)&lt;/script&gt;&#10;�[x](y)"/></testcase>
        <testcase classname="analyst" name="churn" time="1.000"/>
        <testcase classname="analyst" name="later" time="0.000"><skipped message="no model yet"/></testcase>
        <testcase classname="analyst" name="limits" time="0.500"><error message="budget"/></testcase>
      </testsuite>
      <testsuite name="bare" tests="5" failures="3" errors="0" skipped="1" time="3.500" timestamp="2026-03-31T00:00:00Z">
        <testcase classname="analyst" name="revenue" time="1.000"><failure type="wrong_rows" message="the rows differ"/></testcase>
        <testcase classname="analyst" name="orders &lt;by&gt; &quot;month&quot;" time="1.000"><failure type="wrong_rows" message="the rows differ"/></testcase>
        <testcase classname="analyst" name="churn" time="1.000"><failure type="answered_instead_of_refusing" message="it says 5 %"/></testcase>
        <testcase classname="analyst" name="later" time="0.000"><skipped message="no model yet"/></testcase>
        <testcase classname="analyst" name="limits" time="0.500"/>
      </testsuite>
    </testsuites>
    "##);
}

#[test]
fn markdown_shows_texts_as_they_are() {
    assert_snapshot!(markdown(&whole()), @r#"
    # Tests of analyst

    - Run: run-1
    - Started: 2026-03-31T00:00:00Z
    - Model: model-1
    - Layer: abc123, with changes
    - ktx: 0.13.0

    | arm | cases | passed | failed | errors | skipped | accuracy (95 %) | coverage | wrong and confident | cost | tokens | seconds |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | full | 5 | 2 | 1 | 1 | 1 | 83 % (50…100) | 100 % | 17 % | – | 600 | 3.5 |
    | bare | 5 | 1 | 3 | 0 | 1 | 38 % (0…75) | 80 % | 57 % | $1.7500 | 700 | 3.5 |

    ## Does the layer help?

    - full against bare: cannot be told with 3 cases: about 9 are needed; 1 case with errors left out (p = 0.5000)

    ## Cases

    | case | arm | verdict | passes | reason | cost | seconds |
    | --- | --- | --- | --- | --- | --- | --- |
    | revenue | full | passed | 2/2 |  | $0.5000 | 1.0 |
    | orders &lt;by> "month" | full | failed: fan\_out, flaky | 1/2 | \# \|rows\| &lt;script>alert(1)&lt;/script>  \[x\](y) | $0.5000 | 1.0 |
    | churn | full | passed | 2/2 |  | $0.5000 | 1.0 |
    | later | full | skipped | 0/0 | no model yet | $0.0000 | 0.0 |
    | limits | full | error | 0/0 | budget | – | 0.5 |
    | revenue | bare | failed: wrong\_rows | 0/2 | the rows differ | $0.5000 | 1.0 |
    | orders &lt;by> "month" | bare | failed: wrong\_rows | 0/2 | the rows differ | $0.5000 | 1.0 |
    | churn | bare | failed: answered\_instead\_of\_refusing, flaky | 1/2 | it says 5 % | $0.5000 | 1.0 |
    | later | bare | skipped | 0/0 | no model yet | $0.0000 | 0.0 |
    | limits | bare | passed | 1/1 |  | $0.2500 | 0.5 |

    ### orders &lt;by> "month" (full)

    | metric | score | threshold | verdict | reason |
    | --- | --- | --- | --- | --- |
    | sql\_result | 0.000 | – | failed | \# \|rows\| &lt;script>alert(1)&lt;/script>  \[x\](y) |
    "#);
}

#[test]
fn html_runs_nothing() {
    let page = html(&whole());
    let body = page.split_once("<body>").unwrap().1;
    assert_snapshot!(body, @r#"
    <h1>Tests of analyst</h1>
    <dl>
    <dt>Run</dt><dd>run-1</dd>
    <dt>Started</dt><dd>2026-03-31T00:00:00Z</dd>
    <dt>Model</dt><dd>model-1</dd>
    <dt>Layer</dt><dd>abc123, with changes</dd>
    <dt>ktx</dt><dd>0.13.0</dd>
    </dl>
    <table>
    <tr><th>arm</th><th>cases</th><th>passed</th><th>failed</th><th>errors</th><th>skipped</th><th>accuracy (95 %)</th><th>coverage</th><th>wrong and confident</th><th>cost</th><th>tokens</th><th>seconds</th></tr>
    <tr><td>full</td><td>5</td><td>2</td><td>1</td><td>1</td><td>1</td><td>83 % (50…100)</td><td>100 %</td><td>17 %</td><td>–</td><td>600</td><td>3.5</td></tr>
    <tr><td>bare</td><td>5</td><td>1</td><td>3</td><td>0</td><td>1</td><td>38 % (0…75)</td><td>80 %</td><td>57 %</td><td>$1.7500</td><td>700</td><td>3.5</td></tr>
    </table>
    <h2>Does the layer help?</h2>
    <ul>
    <li>full against bare: cannot be told with 3 cases: about 9 are needed; 1 case with errors left out (p = 0.5000)</li>
    </ul>
    <h2>Cases</h2>
    <table>
    <tr><th>case</th><th>arm</th><th>verdict</th><th>passes</th><th>reason</th><th>cost</th><th>seconds</th></tr>
    <tr class="passed"><td>revenue</td><td>full</td><td>passed</td><td>2/2</td><td></td><td>$0.5000</td><td>1.0</td></tr>
    <tr class="failed"><td>orders &lt;by&gt; &quot;month&quot;</td><td>full</td><td>failed: fan_out, flaky</td><td>1/2</td><td># |rows| &lt;script&gt;alert(1)&lt;/script&gt;  [x](y)</td><td>$0.5000</td><td>1.0</td></tr>
    <tr class="passed"><td>churn</td><td>full</td><td>passed</td><td>2/2</td><td></td><td>$0.5000</td><td>1.0</td></tr>
    <tr class="skipped"><td>later</td><td>full</td><td>skipped</td><td>0/0</td><td>no model yet</td><td>$0.0000</td><td>0.0</td></tr>
    <tr class="error"><td>limits</td><td>full</td><td>error</td><td>0/0</td><td>budget</td><td>–</td><td>0.5</td></tr>
    <tr class="failed"><td>revenue</td><td>bare</td><td>failed: wrong_rows</td><td>0/2</td><td>the rows differ</td><td>$0.5000</td><td>1.0</td></tr>
    <tr class="failed"><td>orders &lt;by&gt; &quot;month&quot;</td><td>bare</td><td>failed: wrong_rows</td><td>0/2</td><td>the rows differ</td><td>$0.5000</td><td>1.0</td></tr>
    <tr class="failed"><td>churn</td><td>bare</td><td>failed: answered_instead_of_refusing, flaky</td><td>1/2</td><td>it says 5 %</td><td>$0.5000</td><td>1.0</td></tr>
    <tr class="skipped"><td>later</td><td>bare</td><td>skipped</td><td>0/0</td><td>no model yet</td><td>$0.0000</td><td>0.0</td></tr>
    <tr class="passed"><td>limits</td><td>bare</td><td>passed</td><td>1/1</td><td></td><td>$0.2500</td><td>0.5</td></tr>
    </table>
    <details><summary>orders &lt;by&gt; &quot;month&quot; (full)</summary>
    <table>
    <tr><th>metric</th><th>score</th><th>threshold</th><th>verdict</th><th>reason</th></tr>
    <tr><td>sql_result</td><td>0.000</td><td>–</td><td>failed</td><td># |rows| &lt;script&gt;alert(1)&lt;/script&gt;  [x](y)</td></tr>
    </table>
    </details>
    </body>
    </html>
    "#);
    assert!(!page.contains("<script"));
}

#[test]
fn a_report_does_not_depend_on_the_order_in_which_cases_end() {
    let mut turned = attempts();
    turned.reverse();
    let arms = ["full".to_owned(), "bare".to_owned()];
    assert_eq!(report(header(), &planned(), &arms, &turned), whole());
    let none = report(header(), &planned(), &arms[..1], &[]);
    assert_eq!(none.ablation, None);
    assert_eq!(none.arms[0].skipped, 5);
    assert_eq!(none.arms[0].accuracy, None);
}

#[test]
fn two_reports_differ_in_what_got_better_or_worse() {
    use Verdict::{Error, Failed, Passed};
    let arms = ["full".to_owned()];
    let case = |name: &str| PlannedCase {
        name: name.to_owned(),
        expectation: Expectation::Answer,
    };
    let run = |cases: &[(&str, &[Verdict])]| {
        let planned: Vec<PlannedCase> = cases.iter().map(|(name, _)| case(name)).collect();
        let attempts: Vec<Attempt> = cases
            .iter()
            .flat_map(|(name, verdicts)| {
                let repeats = (1..).zip(verdicts.iter());
                repeats.map(|(repeat, verdict)| attempt(name, "full", repeat, *verdict))
            })
            .collect();
        report(header(), &planned, &arms, &attempts)
    };
    let before = run(&[
        ("gone", &[Passed]),
        ("same", &[Passed]),
        ("fixed", &[Failed]),
        ("broken", &[Passed]),
        ("flaky", &[Passed, Passed]),
        ("shaky", &[Passed, Failed]),
        ("unclear", &[Passed]),
    ]);
    let now = run(&[
        ("same", &[Passed]),
        ("new", &[Failed]),
        ("fixed", &[Passed]),
        ("broken", &[Failed]),
        ("flaky", &[Passed, Failed]),
        ("shaky", &[Failed, Failed]),
        ("unclear", &[Error]),
    ]);
    let names =
        |keys: &[CaseKey]| -> Vec<String> { keys.iter().map(|key| key.name.clone()).collect() };
    let changes = changes(&before, &now);
    assert_eq!(names(&changes.better), ["fixed"]);
    assert_eq!(names(&changes.worse), ["broken", "flaky", "shaky"]);
    assert_eq!(names(&changes.regressions), ["broken", "flaky"]);
    assert_eq!(names(&changes.new), ["new"]);
    assert_eq!(names(&changes.gone), ["gone"]);
    assert_eq!(
        serde_json::to_value(&changes.gone).unwrap(),
        json!([{ "name": "gone", "arm": "full" }])
    );
}
