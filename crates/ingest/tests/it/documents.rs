//! Triage, light readings and curation of documents.

use ktx_ingest::{Event, Fate, Lane, Stop, Task, Turn};
use ktx_llm_runtime::{LlmError, LlmErrorKind, Reply};
use serde_json::{Value, json};

use crate::world::{World, calls, documents, page, unit_of};

fn lane(lane: &str) -> Reply {
    Reply::Object(json!({ "lane": lane, "reason": "Because." }))
}

fn candidates(keys: &[&str]) -> Reply {
    let candidate = |key: &&str| {
        json!({
            "key": key, "topic": key, "assertion": "It holds.", "rationale": "sums",
            "sections": [1], "page": null, "action": "create",
            "durability": 3, "authority": 3, "reuse": 3, "novelty": 3, "risk": 0,
        })
    };
    let all: Vec<Value> = keys.iter().map(candidate).collect();
    Reply::Object(json!({ "candidates": all }))
}

fn decide(candidate: &str, page: &str) -> (String, Value) {
    let input = json!({
        "candidate": candidate, "decision": "promoted", "page": page, "reason": "Because.",
    });
    ("candidate_decide".to_owned(), input)
}

fn is_curation(prompt: &str) -> bool {
    prompt.contains("\nCandidates of the source shop-dbt:\n")
}

fn reads(prompt: &str) -> Option<Reply> {
    if let Some(unit) = unit_of(prompt) {
        return Some(calls([page(&unit)]));
    }
    if prompt.starts_with("Light reading of") {
        return Some(candidates(&["a", "b"]));
    }
    let (document, _) = prompt.strip_prefix("Triage of ")?.split_once(' ')?;
    Some(lane(document.split_once('-')?.0))
}

#[tokio::test]
async fn documents_are_read_by_their_lane_and_candidates_are_curated() {
    let world = World::new();
    let keys = ["full-a", "light-b", "skip-c"];
    let curates = |prompt: &str| {
        let pass = || {
            calls([
                page("b"),
                decide("light-b#1", "b"),
                decide("light-b#2", "b"),
            ])
        };
        is_curation(prompt).then(pass).or_else(|| reads(prompt))
    };
    let ran = world.run(documents(&keys, 10), curates).await;
    assert_eq!(ran.report.failures().count(), 1);
    let lanes = ran
        .report
        .units
        .iter()
        .map(|unit| unit.judgement.as_ref().map(|it| it.verdict.lane));
    assert_eq!(
        lanes.collect::<Vec<_>>(),
        [Some(Lane::Full), Some(Lane::Light), Some(Lane::Skip)]
    );
    let curation = ran.report.curation.as_ref().expect("a curation");
    let fates: Vec<Fate> = curation
        .decisions
        .values()
        .map(|decision| decision.fate)
        .collect();
    assert_eq!((fates, curation.open), (vec![Fate::Promoted; 2], 0));
    assert!(world.has_page("full-a") && world.has_page("b"));
}

#[tokio::test]
async fn a_used_up_page_quota_ends_reading_and_the_next_run_continues() {
    let world = World::new();
    let keys = ["full-a", "full-b", "light-c"];
    let ran = world.run(documents(&keys, 1), reads).await;
    assert!(ran.report.is_unfinished());
    assert_eq!(ran.report.stop(), None);
    let tried: Vec<bool> = ran
        .report
        .units
        .iter()
        .map(|unit| unit.result.is_some())
        .collect();
    assert_eq!(tried, [true, false, true]);
    let curation = ran.report.curation.as_ref().expect("open candidates");
    assert_eq!((curation.passes.len(), curation.open), (0, 2));
    let next = world.run(documents(&keys, 1), reads).await;
    assert!(world.has_page("full-a") && world.has_page("full-b"));
    let triaged = next
        .prompts
        .iter()
        .filter(|prompt| prompt.starts_with("Triage"));
    assert_eq!(triaged.count(), 0);
}

#[tokio::test]
async fn an_interrupted_curation_keeps_its_pages_and_decisions() {
    let world = World::new();
    let curates = |prompt: &str| {
        let pass = || {
            calls([
                page("b"),
                decide("light-b#1", "b"),
                decide("light-b#2", "b"),
            ])
        };
        is_curation(prompt).then(pass).or_else(|| reads(prompt))
    };
    let second_turn = |event: &Event| {
        let Event::Turn(Turn { task, index: 2, .. }) = event else {
            return false;
        };
        matches!(task, Task::Curation { .. })
    };
    let cut = world
        .run_until(documents(&["light-b"], 10), curates, second_turn)
        .await;
    assert_eq!(cut.report.stop(), Some(Stop::Interrupted));
    assert!(!world.has_page("b"));
    let next = world
        .run(documents(&["light-b"], 10), |prompt| {
            let is_continued = prompt.contains(
                "It had decided about these candidates, and the decisions hold: light-b#1. Decide about the others.",
            );
            is_continued.then(|| calls([decide("light-b#2", "b")]))
        })
        .await;
    assert!(next.report.is_whole(), "{:?}", next.report);
    assert_eq!(
        next.report
            .curation
            .as_ref()
            .map(|done| done.decisions.len()),
        Some(2)
    );
    assert!(world.has_page("b"));
}

#[tokio::test]
async fn a_light_reading_that_fails_is_repeated_without_its_triage() {
    let world = World::new();
    let budget = |prompt: &str| {
        let error = LlmError::new(LlmErrorKind::Budget, "no");
        let is_light = prompt.starts_with("Light reading of");
        is_light
            .then_some(Reply::Error(error))
            .or_else(|| reads(prompt))
    };
    let cut = world.run(documents(&["light-b"], 10), budget).await;
    assert_eq!(cut.report.stop(), Some(Stop::Budget));
    let next = world.run(documents(&["light-b"], 10), reads).await;
    let begins: Vec<&str> = next
        .prompts
        .iter()
        .filter_map(|prompt| prompt.get(..6))
        .collect();
    assert_eq!(begins[0], "Light ", "{begins:?}");
    assert!(!begins.contains(&"Triage"));
}
