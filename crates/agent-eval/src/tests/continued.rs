//! Runs that continue or regrade an earlier run.

use std::io::Write as _;

use insta::assert_snapshot;
use ktx_session_log::SessionStore;
use serde_json::{Value, json};

use super::runs::{Agent, Warehouse, case, cases, clock, holder, id, journal, lines, plan, turn};
use crate::{
    AskEffect, Attempt, Cell, EvaluationPlan, EvaluationPorts, RecordedAnswers, RunJournal, Usage,
    run,
};

#[test]
fn a_case_can_fail_when_something_is_compared() {
    let free: Vec<String> = cases()
        .into_iter()
        .chain([case("free", vec![turn(Vec::new())])])
        .map(|mut case| {
            // Leaves only informing metrics.
            if case.name == "scores" {
                case.turns[0].evaluations.truncate(1);
            }
            case
        })
        .filter(|case| !case.can_fail())
        .map(|case| case.name)
        .collect();
    assert_eq!(free, ["scores", "free"]);
}

#[tokio::test]
async fn a_run_that_was_killed_continues_with_what_is_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let oracle = Warehouse::default();
    let mut agent = Agent {
        budget: Some(3),
        ..Agent::default()
    };
    let first = {
        let journal = journal(folder.path());
        let ports = EvaluationPorts {
            agent: &agent,
            oracle: &oracle,
            judge: None,
            journal: &journal,
            notify: &|_| (),
        };
        run(&plan(1), ports).await.unwrap()
    };
    assert_eq!(
        lines(&first.attempts[3..5]),
        "value bare 2: error · budget · $0\nshaky full 1: error · budget · $0"
    );
    assert_eq!(first.stopped.unwrap().effect, AskEffect::Budget);
    assert_eq!(agent.asked().len(), 3);
    agent.budget = None;

    // Killed during the next record.
    let log = SessionStore::new(folder.path()).path(&id());
    let mut file = std::fs::File::options().append(true).open(log).unwrap();
    file.write_all(b"{\"seq\":9,\"ts\":").unwrap();
    drop(file);

    let store = SessionStore::new(folder.path());
    let (journal, resumed) = RunJournal::resume(&store, &id(), &holder(), clock).unwrap();
    assert_eq!(resumed.plan, json!({ "cases": "digest" }));
    // Three answers and the skipped case in both arms.
    assert_eq!(resumed.entries.len(), 5);
    let finished = resumed.entries.into_iter().map(|entry| entry.attempt);
    let rest = EvaluationPlan {
        finished: finished.collect(),
        ..plan(8)
    };
    let ports = EvaluationPorts {
        agent: &agent,
        oracle: &oracle,
        judge: None,
        journal: &journal,
        notify: &|_| (),
    };
    let continued = run(&rest, ports).await.unwrap().attempts;
    assert_eq!(agent.asked()["value full 1"], 1);
    assert_eq!(agent.asked()["value bare 2"], 1);

    let other = tempfile::tempdir().unwrap();
    let journal = self::journal(other.path());
    let ports = EvaluationPorts {
        agent: &Agent::default(),
        oracle: &Warehouse::default(),
        judge: None,
        journal: &journal,
        notify: &|_| (),
    };
    assert_eq!(continued, run(&plan(1), ports).await.unwrap().attempts);
}

/// However often an attempt was cut off.
#[tokio::test]
async fn what_was_paid_before_a_run_ended_stays_in_its_cost() {
    let folder = tempfile::tempdir().unwrap();
    let oracle = Warehouse::default();
    let mut agent = Agent {
        budget: Some(3),
        cut_off: Usage {
            tokens: 5,
            cost_usd: Some(0.25),
            steps: 1,
        },
        ..Agent::default()
    };
    let store = SessionStore::new(folder.path());
    let mut log = journal(folder.path());
    let mut plan = plan(1);
    let mut lines_of_shaky = Vec::new();
    for budget in [Some(3), Some(3), None] {
        agent.budget = budget;
        let ports = EvaluationPorts {
            agent: &agent,
            oracle: &oracle,
            judge: None,
            journal: &log,
            notify: &|_| (),
        };
        let attempts = run(&plan, ports).await.unwrap().attempts;
        let shaky = attempts.iter().filter(|it| it.case == "shaky").cloned();
        lines_of_shaky.push(lines(&shaky.collect::<Vec<Attempt>>()));
        drop(log);
        let (opened, recorded) = RunJournal::resume(&store, &id(), &holder(), clock).unwrap();
        log = opened;
        plan.lost = recorded.lost;
        plan.finished = recorded.entries.into_iter().map(|it| it.attempt).collect();
    }
    assert_snapshot!(lines_of_shaky.join("\n\n"), @"
    shaky full 1: error · budget · $0
    shaky bare 1: error · budget · $0

    shaky full 1: error · budget · $0
    shaky bare 1: error · budget · $0

    shaky full 1: passed · $1
    shaky bare 1: passed · $1
    ");
    assert_eq!(plan.lost, []);
}

#[test]
fn a_journal_names_the_record_that_is_not_an_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path());
    {
        drop(journal(folder.path()));
        let log = store.open(&id(), &holder(), |_| ()).unwrap();
        let event = |value: Value| value.as_object().cloned().unwrap();
        let entry = ktx_session_log::Entry {
            at: clock(),
            channel: ktx_session_log::Channel::State,
            turn: None,
            step: None,
            event: event(json!({ "type": "attempt", "attempt": { "case": "a" } })),
        };
        log.append(entry, ktx_session_log::Durability::Synced)
            .unwrap();
    }
    let error = RunJournal::resume(&store, &id(), &holder(), clock).unwrap_err();
    assert_eq!(
        error.to_string(),
        "record 2 of the journal is not an attempt"
    );
}

#[tokio::test]
async fn recorded_answers_are_judged_again() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(folder.path());
    let ports = EvaluationPorts {
        agent: &Agent::default(),
        oracle: &Warehouse::default(),
        judge: None,
        journal: &journal,
        notify: &|_| (),
    };
    let first = run(&plan(2), ports).await.unwrap().attempts;
    drop(journal);

    let store = SessionStore::new(folder.path());
    let recorded = RunJournal::read(&store, &id()).unwrap();
    let cells = [
        Cell::Null,
        Cell::Bool(true),
        Cell::Number(0.5),
        Cell::text("2026-01-02"),
        Cell::text("x"),
    ];
    let mut answers = RecordedAnswers::default();
    assert!(answers.is_empty());
    answers.add(recorded);
    let spelled = serde_json::to_string(&cells).unwrap();
    assert_eq!(spelled, r#"[null,true,0.5,"2026-01-02","x"]"#);
    let read: Vec<Cell> = serde_json::from_str(&spelled).unwrap();
    assert_eq!(read, cells);

    let other = tempfile::tempdir().unwrap();
    let again = self::journal(other.path());
    let ports = EvaluationPorts {
        agent: &answers,
        oracle: &Warehouse::default(),
        judge: None,
        journal: &again,
        notify: &|_| (),
    };
    let graded = run(&plan(2), ports).await.unwrap().attempts;
    let unanswered = |attempt: &&Attempt| attempt.case == "down";
    let (down, judged): (Vec<&Attempt>, Vec<&Attempt>) = graded.iter().partition(unanswered);
    assert_eq!(down[0].reason.as_deref(), Some("no answer is recorded"));
    let before: Vec<&Attempt> = first.iter().filter(|it| !unanswered(it)).collect();
    assert_eq!(judged, before);
}
