//! Verdicts about what units share with files that are gone.

use ktx_ingest::{DecidedBy, EvictionReport, EvictionVerdict, SourceReport};
use ktx_llm_runtime::{LlmError, LlmErrorKind, Reply};
use serde_json::{Value, json};

use crate::world::{World, calls, is_reconciliation, source, unit_of};

fn write(key: &str, content: &str) -> Reply {
    let input = json!({ "key": key, "summary": "What it is.", "content": content });
    calls([("wiki_write".to_owned(), input)])
}

/// Appends to a page.
fn append(key: &str, after: &str, content: &str) -> Reply {
    let edit = json!({ "oldText": after, "newText": format!("{after}\n\n{content}") });
    let input = json!({ "key": key, "replacements": [edit] });
    calls([("wiki_write".to_owned(), input)])
}

fn is_verdicts(prompt: &str) -> bool {
    prompt.starts_with("Verdicts for the source shop-dbt.")
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the JSON here")]
fn verdicts(verdicts: Value) -> Reply {
    Reply::Object(json!({ "verdicts": verdicts }))
}

/// `one` begins a page, `two` continues it.
fn shared_page(prompt: &str) -> Option<Reply> {
    match unit_of(prompt).as_deref() {
        Some("one") => Some(write("shared", "Orders are counted once a day.")),
        Some("two") => Some(append(
            "shared",
            "Orders are counted once a day.",
            "Refunds are not revenue.",
        )),
        _ => is_reconciliation(prompt).then(|| calls([])),
    }
}

async fn shared() -> World {
    let world = World::new();
    let first = world.run(source(&["one", "two", "three"]), |prompt| {
        shared_page(prompt).or_else(|| unit_of(prompt).map(|_| write("three", "Of three.")))
    });
    let first = first.await;
    assert!(first.report.is_whole(), "{:?}", first.report);
    world
}

fn eviction(report: &SourceReport) -> &EvictionReport {
    report.eviction.as_ref().expect("an eviction")
}

fn told(report: &SourceReport) -> Vec<String> {
    let verdicts = eviction(report).verdicts.iter();
    let told = verdicts.map(|one| {
        let by = match one.decided_by {
            DecidedBy::Ledger => "ledger",
            DecidedBy::Model => "model",
        };
        format!(
            "{} {} ({by}): {}",
            one.verdict.name(),
            one.thing(),
            one.reason
        )
    });
    told.collect()
}

fn body(world: &World, key: &str) -> String {
    let page = world.path("shop").join(format!("wiki/global/{key}.md"));
    let text = std::fs::read_to_string(page).expect("a page");
    let (_, body) = text.rsplit_once("---\n").expect("front matter");
    body.trim().to_owned()
}

/// Line 5 is the one that the missing unit has written.
fn number(prompt: &str) -> usize {
    let line = prompt.lines().find(|line| line.contains("| Orders are"));
    let number = line.and_then(|line| line.split('|').next());
    let number = number.and_then(|number| number.trim().parse().ok());
    number.expect("a numbered line")
}

#[tokio::test]
async fn a_shared_page_loses_only_the_lines_of_the_missing_file() {
    let world = shared().await;
    let ran = world.run(source(&["two", "three"]), |prompt| {
        is_verdicts(prompt).then(|| {
            assert!(prompt.contains("Files that are gone: one.yml."), "{prompt}");
            assert!(
                prompt.contains("     | Refunds are not revenue."),
                "{prompt}"
            );
            assert!(
                prompt.contains("The file two.yml, which is there"),
                "{prompt}"
            );
            verdicts(json!([{
                "thing": 1, "verdict": "rewrite", "reason": "Only one.yml said it.",
                "lines": [{ "line": number(prompt) }],
            }]))
        })
    });
    let ran = ran.await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert_eq!(
        told(&ran.report),
        ["rewrite page shared (model): Only one.yml said it."]
    );
    assert_eq!(body(&world, "shared"), "Refunds are not revenue.");
    let title = "ktx ingest: shop-dbt without what is gone".to_owned();
    assert!(world.titles().contains(&title), "{:?}", world.titles());
    let again = world.run(source(&["two", "three"]), |_| None).await;
    assert_eq!(again.prompts, Vec::<String>::new());
    assert!(again.report.eviction.is_none());
}

#[tokio::test]
async fn a_page_of_which_no_line_is_theirs_stays_without_a_model() {
    let world = World::new();
    let first = world.run(source(&["one", "two"]), |prompt| {
        match unit_of(prompt).as_deref() {
            Some("one") => Some(write("shared", "Orders are counted once a day.")),
            Some(_) => Some(write("shared", "Refunds are not revenue.")),
            None => is_reconciliation(prompt).then(|| calls([])),
        }
    });
    assert!(first.await.report.is_whole());
    let ran = world.run(source(&["two"]), |_| None).await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert_eq!(ran.prompts, Vec::<String>::new());
    assert_eq!(
        told(&ran.report),
        ["keep page shared (ledger): no line of it comes from the files that are gone"]
    );
    assert_eq!(body(&world, "shared"), "Refunds are not revenue.");
}

#[tokio::test]
async fn a_page_that_another_file_still_says_stays_without_a_model() {
    let world = World::new();
    let first = world.run(source(&["one", "two"]), |prompt| {
        match unit_of(prompt).as_deref() {
            Some("one") => Some(write("shared", "What *two* means.")),
            Some(_) => Some(append("shared", "What *two* means.", "More of it.")),
            None => is_reconciliation(prompt).then(|| calls([])),
        }
    });
    assert!(first.await.report.is_whole());
    let ran = world.run(source(&["two"]), |_| None).await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert_eq!(
        told(&ran.report),
        ["keep page shared (ledger): two.yml still says it"]
    );
}

#[tokio::test]
async fn a_page_of_which_all_units_are_gone_goes_without_a_model() {
    let world = shared().await;
    let ran = world.run(source(&["three"]), |_| None).await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert_eq!(ran.prompts, Vec::<String>::new());
    assert_eq!(
        told(&ran.report),
        ["remove page shared (ledger): all of its units are gone"]
    );
    assert!(!world.has_page("shared") && world.has_page("three"));
}

/// What a person has changed since waits for them; the rest stays as it is.
#[tokio::test]
async fn a_shared_page_that_a_person_has_edited_becomes_a_proposal() {
    let world = shared().await;
    let path = world.path("shop").join("wiki/global/shared.md");
    let text = std::fs::read_to_string(&path).expect("a page") + "\nMine.\n";
    std::fs::write(&path, &text).expect("a page");
    world.commit_all("mine");
    let answer = |prompt: &str| {
        is_verdicts(prompt).then(|| {
            assert!(prompt.contains("     | Mine."), "{prompt}");
            verdicts(json!([{
                "thing": 1, "verdict": "rewrite", "reason": "Only one.yml said it.",
                "lines": [{ "line": number(prompt) }],
            }]))
        })
    };
    let ran = world.run(source(&["two", "three"]), answer).await;
    assert!(!ran.report.is_unfinished(), "{:?}", ran.report);
    assert_eq!(
        told(&ran.report),
        ["propose page shared (model): Only one.yml said it."]
    );
    assert_eq!(std::fs::read_to_string(&path).expect("a page"), text);
    let [proposal] = ran.report.proposals.as_slice() else {
        panic!("{:?}", ran.report.proposals);
    };
    assert!(
        proposal
            .difference()
            .contains("-Orders are counted once a day.")
    );
    let again = world.run(source(&["two", "three"]), |_| None).await;
    assert_eq!(again.prompts, Vec::<String>::new());
}

/// Changes that are not committed belong to the person: ktx decides after the commit.
#[tokio::test]
async fn a_shared_page_that_a_person_is_editing_waits_without_a_verdict() {
    let world = shared().await;
    let path = world.path("shop").join("wiki/global/shared.md");
    let text = std::fs::read_to_string(&path).expect("a page");
    std::fs::write(&path, format!("{text}\nMine.\n")).expect("a page");
    let ran = world.run(source(&["two", "three"]), |_| None).await;
    assert_eq!(ran.prompts, Vec::<String>::new());
    assert!(ran.report.is_unfinished());
    assert_eq!(eviction(&ran.report).open.len(), 1);
    std::fs::write(&path, &text).expect("a page");
    let keep = |prompt: &str| {
        let keep = json!([{ "thing": 1, "verdict": "keep", "reason": "It holds." }]);
        is_verdicts(prompt).then(|| verdicts(keep))
    };
    let ran = world.run(source(&["two", "three"]), keep).await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert_eq!(std::fs::read_to_string(&path).expect("a page"), text);
}

/// A failure and an unanswered or invalid verdict remove nothing, and the next run asks again.
#[tokio::test]
async fn what_has_no_verdict_stays_and_is_asked_again() {
    let world = shared().await;
    let before = body(&world, "shared");
    let others = "lines that others have written do not change";
    let failing = [
        Reply::Error(LlmError::new(LlmErrorKind::RateLimit, "later")),
        Reply::Error(LlmError::new(LlmErrorKind::Refusal, "no")),
        verdicts(json!([])),
        verdicts(json!([{ "thing": 2, "verdict": "remove", "reason": "No such thing." }])),
        verdicts(json!([{ "thing": 1, "verdict": "rewrite", "reason": "Nothing changes." }])),
        verdicts(json!([{
            "thing": 1, "verdict": "rewrite", "reason": others,
            "lines": (1..20).map(|line| json!({ "line": line })).collect::<Vec<_>>(),
        }])),
    ];
    for reply in failing {
        let shown = format!("{reply:?}");
        let ran = world.run(source(&["two", "three"]), move |prompt| {
            is_verdicts(prompt).then(|| reply.clone())
        });
        let ran = ran.await;
        assert!(ran.report.is_unfinished(), "{shown}");
        assert_eq!(eviction(&ran.report).open.len(), 1, "{shown}");
        assert_eq!(ran.prompts.len(), 1, "{shown}: {:?}", ran.prompts);
        assert_eq!(body(&world, "shared"), before, "{shown}");
        assert!(world.has_page("three"), "{shown}");
    }
    let ran = world.run(source(&["two", "three"]), |prompt| {
        let remove = json!([{ "thing": 1, "verdict": "remove", "reason": "No part of it holds." }]);
        is_verdicts(prompt).then(|| verdicts(remove))
    });
    let ran = ran.await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert!(!world.has_page("shared"));
}

/// An answer for one of two is kept; only the other one is asked again, also in a clone.
#[tokio::test]
async fn a_verdict_is_never_asked_twice() {
    let world = World::new();
    let pages = |prompt: &str| {
        match unit_of(prompt).as_deref() {
        Some("one") => Some(calls(["a", "b"].map(|key| {
            let input = json!({ "key": key, "summary": "What it is.", "content": "Orders are counted." });
            ("wiki_write".to_owned(), input)
        }))),
        Some(_) => Some(calls(["a", "b"].map(|key| {
            let edit = json!({ "oldText": "Orders are counted.", "newText": "Orders are counted.\n\nOnce." });
            let input = json!({ "key": key, "replacements": [edit] });
            ("wiki_write".to_owned(), input)
        }))),
        None => is_reconciliation(prompt).then(|| calls([])),
    }
    };
    assert!(
        world
            .run(source(&["one", "two"]), pages)
            .await
            .report
            .is_whole()
    );
    let ran = world.run(source(&["two"]), |prompt| {
        let keep = json!([{ "thing": 1, "verdict": "keep", "reason": "It holds." }]);
        is_verdicts(prompt).then(|| verdicts(keep))
    });
    let ran = ran.await;
    assert!(ran.report.is_unfinished());
    assert_eq!(told(&ran.report), ["keep page a (model): It holds."]);
    std::fs::remove_dir_all(world.path("shop/.ktx/state")).expect("the state");
    let ran = world.run(source(&["two"]), |prompt| {
        is_verdicts(prompt).then(|| {
            assert!(
                prompt.contains("Thing 1: page b.") && !prompt.contains("page a"),
                "{prompt}"
            );
            verdicts(json!([{ "thing": 1, "verdict": "remove", "reason": "It is gone." }]))
        })
    });
    let ran = ran.await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    let verdicts: Vec<EvictionVerdict> = eviction(&ran.report)
        .verdicts
        .iter()
        .map(|one| one.verdict)
        .collect();
    assert_eq!(verdicts, [EvictionVerdict::Keep, EvictionVerdict::Remove]);
    assert!(world.has_page("a") && !world.has_page("b"));
}
