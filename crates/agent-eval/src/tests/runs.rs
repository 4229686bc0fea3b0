//! Runs with an agent in memory and a journal on disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use insta::assert_snapshot;
use jiff::Timestamp;
use ktx_project_store::Holder;
use ktx_session_log::{SessionId, SessionStore};
use serde_json::json;

use crate::{
    AgentRunner, AskEffect, AskError, Attempt, AttemptRequest, Case, CaseTurn, Cell, Conversation,
    Evaluation, EvaluationPlan, EvaluationPorts, ExpectedCall, Extent, Gold, GoldRows, Limits,
    Metric, Oracle, OracleError, RowOrder, RunJournal, Table, ToolCall, ToolsMode, Truth, TurnEnd,
    TurnRecord, Usage, run,
};

pub(super) fn clock() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

pub(super) fn holder() -> Holder {
    Holder {
        pid: 7,
        command: "ktx agent test".to_owned(),
        since: None,
        begun: None,
    }
}

pub(super) fn id() -> SessionId {
    SessionId::parse("run-1").unwrap()
}

pub(super) fn journal(folder: &Path) -> RunJournal {
    let store = SessionStore::new(folder);
    RunJournal::create(
        &store,
        &id(),
        &holder(),
        json!({ "cases": "digest" }),
        clock,
    )
    .unwrap()
}

fn table(cells: &[f64]) -> Table {
    Table {
        columns: vec!["n".to_owned()],
        rows: cells.iter().map(|cell| vec![Cell::Number(*cell)]).collect(),
        extent: Extent::Whole,
    }
}

/// Answers by case name.
pub(super) struct Agent {
    /// Maximum attempts.
    pub(super) budget: Option<usize>,
    /// Cost of the attempt that the budget cut off.
    pub(super) cut_off: Usage,
    pub(super) asked: Mutex<BTreeMap<String, u32>>,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            budget: None,
            cut_off: Usage::NOTHING,
            asked: Mutex::default(),
        }
    }
}

impl Agent {
    pub(super) fn asked(&self) -> BTreeMap<String, u32> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl AgentRunner for Agent {
    async fn ask(&self, attempt: AttemptRequest<'_>) -> Result<Conversation, AskError> {
        let AttemptRequest {
            case,
            arm,
            repeat,
            stop,
        } = attempt;
        let failed = |message: &str, effect| {
            Err(AskError {
                message: message.to_owned(),
                effect,
                usage: if effect == AskEffect::Budget {
                    self.cut_off
                } else {
                    Usage {
                        tokens: 10,
                        cost_usd: Some(0.5),
                        steps: 2,
                    }
                },
            })
        };
        let times = {
            let mut asked = self.asked.lock().unwrap();
            if self.budget == Some(asked.len()) {
                return failed("too much", AskEffect::Budget);
            }
            let times = asked
                .entry(format!("{} {arm} {repeat}", case.name))
                .or_default();
            *times += 1;
            *times
        };
        // Lets parallel attempts end in another order.
        for _ in 0..case.name.len() {
            tokio::task::yield_now().await;
        }
        let usage = Usage {
            tokens: 10,
            cost_usd: Some(0.5),
            steps: 2,
        };
        let text = match case.name.as_str() {
            "shaky" if times == 1 => {
                return failed("overloaded", AskEffect::Retry);
            }
            "down" => {
                return failed("no connection", AskEffect::Retry);
            }
            "slow" => {
                stop.cancelled().await;
                return failed("stopped", AskEffect::Cancelled);
            }
            "value" if arm == "bare" => "Answer: 41",
            "value" | "shaky" => "Answer: 42",
            "either" => "about forty",
            _ => "done",
        };
        let turn = TurnRecord {
            answer: text.to_owned(),
            structured: Some(json!({ "sum": { "net": 7 } })),
            calls: vec![ToolCall {
                name: "sl_query".to_owned(),
                arguments: json!({}),
            }],
            found: Vec::new(),
            rows: Some(table(&[2.0, 1.0])),
        };
        Ok(Conversation {
            session: Some(format!("{}-{arm}-{repeat}", case.name)),
            turns: vec![turn; case.turns.len()],
            usage,
            end: if case.name == "endless" {
                TurnEnd::OutOfSteps
            } else {
                TurnEnd::Answered
            },
            seconds: 2.5,
        })
    }
}

#[derive(Default)]
pub(super) struct Warehouse {
    ran: Mutex<u32>,
}

#[async_trait]
impl Oracle for Warehouse {
    async fn rows(&self, gold: &Gold) -> Result<GoldRows, OracleError> {
        *self.ran.lock().unwrap() += 1;
        tokio::task::yield_now().await;
        match gold {
            Gold::Sql { sql, .. } if sql == "SELECT n FROM t ORDER BY n" => Ok(GoldRows {
                table: table(&[1.0, 2.0]),
                order: RowOrder::SortedBy(vec![0]),
            }),
            other => Err(OracleError(format!("{other:?} is not known"))),
        }
    }
}

pub(super) fn turn(truths: Vec<Truth>) -> CaseTurn {
    CaseTurn {
        input: "How many?".to_owned(),
        truths,
        expected_tools: Vec::new(),
        evaluations: Vec::new(),
        context: Vec::new(),
        retrieved: None,
    }
}

pub(super) fn case(name: &str, turns: Vec<CaseTurn>) -> Case {
    Case {
        name: name.to_owned(),
        skip: None,
        turns,
        tools_mode: ToolsMode::Subset,
        forbidden_tools: Vec::new(),
        limits: Limits::default(),
        repeats: 1,
        timeout: Duration::from_mins(1),
    }
}

fn sql(text: &str) -> Truth {
    Truth::Gold(Gold::Sql {
        sql: text.to_owned(),
        connection: None,
    })
}

fn evaluation(metric: Metric, threshold: Option<f64>) -> Evaluation {
    Evaluation {
        metric,
        name: None,
        threshold,
        response_path: None,
        judge: None,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let value = || vec![turn(vec![Truth::Value(42.0)])];
    let ordered = || vec![turn(vec![sql("SELECT n FROM t ORDER BY n")])];
    let mut repeated = case("value", value());
    repeated.repeats = 2;
    let mut later = case("later", value());
    later.skip = Some("no data yet".to_owned());
    later.repeats = 3;
    let mut costly = case("costly", vec![turn(vec![Truth::Text("Done".to_owned())])]);
    costly.limits.max_usd = Some(0.4);
    let mut calls = case("calls", vec![turn(vec![]), turn(vec![])]);
    calls.turns[1].expected_tools = vec![ExpectedCall {
        name: "wiki_search".to_owned(),
        arguments: Vec::new(),
        count: 1,
    }];
    let mut forbidden = case("forbidden", vec![turn(vec![])]);
    forbidden.forbidden_tools = vec!["sl_*".to_owned()];
    let mut scores = case(
        "scores",
        vec![turn(vec![Truth::Text("done soon".to_owned())])],
    );
    scores.turns[0].evaluations = vec![
        evaluation(Metric::F1Score, None),
        evaluation(Metric::Bleu, Some(0.9)),
    ];
    let mut path = case("path", vec![turn(vec![Truth::Value(7.0)])]);
    path.turns[0].evaluations = vec![Evaluation {
        response_path: Some("sum.net".to_owned()),
        ..evaluation(Metric::Numeric(crate::NumericOptions::WRITTEN), None)
    }];
    let either = turn(vec![
        Truth::Value(40.0),
        Truth::Text("About forty".to_owned()),
    ]);
    vec![
        repeated,
        case("shaky", value()),
        case("down", value()),
        later,
        case("rows", ordered()),
        case("unknown", vec![turn(vec![sql("SELECT 1")])]),
        costly,
        case("endless", value()),
        calls,
        forbidden,
        scores,
        path,
        case("either", vec![either]),
        case("refusal", vec![turn(vec![Truth::Refusal])]),
    ]
}

pub(super) fn plan(parallel: usize) -> EvaluationPlan {
    EvaluationPlan {
        cases: cases(),
        arms: vec!["full".to_owned(), "bare".to_owned()],
        parallel,
        retries: 1,
        finished: Vec::new(),
        lost: Vec::new(),
    }
}

pub(super) fn lines(attempts: &[Attempt]) -> String {
    let line = |it: &Attempt| {
        let mut words = vec![format!(
            "{} {} {}: {}",
            it.case,
            it.arm,
            it.repeat,
            it.verdict.as_str()
        )];
        words.extend(it.class.map(|class| class.as_str().to_owned()));
        words.extend(it.reason.clone());
        words.push(format!("${}", it.usage.cost_usd.unwrap_or(f64::NAN)));
        words.join(" · ")
    };
    attempts
        .iter()
        .map(line)
        .collect::<Vec<String>>()
        .join("\n")
}

/// HOLO-52.
#[tokio::test]
async fn a_run_has_the_same_verdicts_one_by_one_and_in_parallel() {
    let mut results = Vec::new();
    for parallel in [1, 8] {
        let folder = tempfile::tempdir().unwrap();
        let (agent, oracle, journal) = (
            Agent::default(),
            Warehouse::default(),
            journal(folder.path()),
        );
        let ports = EvaluationPorts {
            agent: &agent,
            oracle: &oracle,
            judge: None,
            journal: &journal,
            notify: &|_| (),
        };
        let attempts = run(&plan(parallel), ports).await.unwrap().attempts;
        // `rows` runs its query once for both arms; `unknown` tries twice in each.
        assert_eq!(*oracle.ran.lock().unwrap(), 5);
        let asked = agent.asked();
        assert_eq!(
            [
                asked["value full 1"],
                asked["shaky full 1"],
                asked["down bare 1"]
            ],
            [1, 2, 2]
        );
        assert!(!asked.contains_key("later full 1") && !asked.contains_key("unknown full 1"));
        results.push(attempts);
    }
    assert_eq!(results[0], results[1]);
    let full: Vec<Attempt> = results[0]
        .iter()
        .filter(|it| it.arm == "full" || it.case == "value")
        .cloned()
        .collect();
    assert_snapshot!(lines(&full), @r#"
    value full 1: passed · $0.5
    value bare 1: failed · wrong_value · numeric: 41 is not 42 · $0.5
    value full 2: passed · $0.5
    value bare 2: failed · wrong_value · numeric: 41 is not 42 · $0.5
    shaky full 1: passed · $1
    down full 1: error · no connection · $1
    later full 1: skipped · no data yet · $0
    rows full 1: failed · wrong_order · sql_result: row 1 is in another place · $0.5
    unknown full 1: error · oracle: the reference failed: Sql { sql: "SELECT 1", connection: None } is not known · $0
    costly full 1: failed · over_limit · max_usd: 0.5 dollars, at most 0.4 · $0.5
    endless full 1: failed · max_turns · max_turns limit reached · $0.5
    calls full 1: failed · wrong_tool · turn 2: expected_tools: `wiki_search` was not called · $0.5
    forbidden full 1: failed · forbidden_tool · expected_tools: `sl_query` was called, which the case forbids · $0.5
    scores full 1: failed · bleu: the score 0.368 is below 0.9 · $0.5
    path full 1: passed · $0.5
    either full 1: passed · $0.5
    refusal full 1: error · refusal: missing: the run has no model that judges · $0.5
    "#);
    let scores = full.iter().find(|it| it.case == "scores").unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&scores.metrics).unwrap(), @r#"
    [
      {
        "type": "f1_score",
        "name": "f1_score",
        "score": 0.6666666666666666
      },
      {
        "type": "bleu",
        "name": "bleu",
        "score": 0.36787944117144233,
        "threshold": 0.9,
        "passed": false
      }
    ]
    "#);
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_an_error_with_its_cost() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(folder.path());
    let mut slow = case("slow", vec![turn(vec![Truth::Value(1.0)])]);
    slow.timeout = Duration::from_millis(20);
    let plan = EvaluationPlan {
        cases: vec![slow],
        arms: vec!["full".to_owned()],
        ..EvaluationPlan::default()
    };
    let ports = EvaluationPorts {
        agent: &Agent::default(),
        oracle: &Warehouse::default(),
        judge: None,
        journal: &journal,
        notify: &|_| (),
    };
    let attempts = run(&plan, ports).await.unwrap().attempts;
    assert_eq!(
        lines(&attempts),
        "slow full 1: error · timeout after 0.02 s · $0.5"
    );
}
