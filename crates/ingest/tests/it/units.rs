//! Units and their reconciliation.

use ktx_ingest::{Event, EvictionVerdict, Origin, Stop, Task, Turn};
use ktx_llm_runtime::{LlmError, LlmErrorKind, Reply};

use crate::world::{World, a_page_each, calls, is_reconciliation, page, source, unit_of};

fn fails(kind: LlmErrorKind) -> Reply {
    Reply::Error(LlmError::new(kind, "no"))
}

fn asked(prompts: &[String]) -> Vec<String> {
    prompts
        .iter()
        .filter_map(|prompt| unit_of(prompt))
        .collect()
}

#[tokio::test]
async fn each_unit_is_a_commit_and_is_not_repeated() {
    let world = World::new();
    let first = world.run(source(&["one", "two"]), a_page_each).await;
    assert!(first.report.is_whole());
    assert_eq!(asked(&first.prompts), ["one", "two"]);
    assert!(
        first
            .prompts
            .last()
            .is_some_and(|prompt| is_reconciliation(prompt))
    );
    assert_eq!(
        world.titles(),
        ["ktx ingest: shop-dbt two", "ktx ingest: shop-dbt one"]
    );
    let again = world.run(source(&["one", "two"]), a_page_each).await;
    assert_eq!(again.prompts, Vec::<String>::new());
    let origins = again
        .report
        .loops()
        .map(|done| done.result.as_ref().expect("a result").origin);
    assert_eq!(origins.collect::<Vec<_>>(), [Origin::EarlierRun; 2]);
    // A clone knows them by their commits.
    std::fs::remove_dir_all(world.path("shop/.ktx/state")).expect("the state");
    let cloned = world.run(source(&["one", "two"]), a_page_each).await;
    assert_eq!(cloned.prompts, Vec::<String>::new());
}

#[tokio::test]
async fn a_unit_sees_what_earlier_ones_wrote() {
    let world = World::new();
    let ran = world
        .run(source(&["one", "two", "three"]), a_page_each)
        .await;
    let listed = |unit: &str| {
        let prompt = ran
            .prompts
            .iter()
            .find(|prompt| unit_of(prompt).as_deref() == Some(unit));
        let known = prompt
            .expect("a prompt")
            .lines()
            .filter_map(|line| line.strip_prefix("- "));
        known.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed("one"), ["none"]);
    assert_eq!(listed("two"), ["one: one"]);
    assert_eq!(listed("three"), ["one: one", "two: two"]);
}

#[tokio::test]
async fn loops_at_the_same_time_land_all() {
    let mut world = World::new();
    world.concurrency = 3;
    let units = ["one", "two", "three", "four"];
    let ran = world.run(source(&units), a_page_each).await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    for unit in units {
        assert!(world.has_page(unit), "{unit}");
    }
    assert_eq!(world.titles().len(), 4);
    // The first three began before anything was written.
    let known = |unit: &str| {
        let mut prompts = ran.prompts.iter();
        let prompt = prompts.find(|prompt| unit_of(prompt).as_deref() == Some(unit));
        prompt.expect("a prompt").contains("- none")
    };
    assert_eq!(units.map(known), [true, true, true, false]);
    let again = world.run(source(&units), a_page_each).await;
    assert_eq!(again.prompts, Vec::<String>::new());
}

#[tokio::test]
async fn loops_that_write_one_page_run_again() {
    let mut world = World::new();
    world.concurrency = 2;
    let ran = world
        .run(source(&["one", "two"]), |prompt| match unit_of(prompt) {
            Some(_) if prompt.contains("- shared") => Some(calls([])),
            Some(_) => Some(calls([page("shared")])),
            None => is_reconciliation(prompt).then(|| calls([])),
        })
        .await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    // The second one runs again, unless it began after the first page.
    let tries = asked(&ran.prompts).len();
    assert!((2..=3).contains(&tries), "{tries}");
    assert!(world.has_page("shared"));
}

#[tokio::test]
async fn loops_that_always_write_one_page_run_alone_in_the_end() {
    let mut world = World::new();
    world.concurrency = 3;
    let ran = world
        .run(source(&["one", "two", "three"]), |prompt| {
            match unit_of(prompt) {
                Some(_) => Some(calls([page("shared")])),
                None => is_reconciliation(prompt).then(|| calls([])),
            }
        })
        .await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert!(world.has_page("shared"));
    // One lands at once; the others run again, at most once concurrently and once alone.
    let tries = asked(&ran.prompts);
    for unit in ["one", "two", "three"] {
        let count = tries.iter().filter(|asked| *asked == unit).count();
        assert!((1..=3).contains(&count), "{tries:?}");
    }
    let again = world
        .run(source(&["one", "two", "three"]), a_page_each)
        .await;
    assert_eq!(again.prompts, Vec::<String>::new());
}

#[tokio::test]
async fn loops_beside_a_used_up_budget_end_and_count() {
    let mut world = World::new();
    world.concurrency = 2;
    let units = ["one", "two", "three", "four"];
    let stopped = world
        .run(source(&units), |prompt| match unit_of(prompt).as_deref() {
            Some("one") => Some(fails(LlmErrorKind::Budget)),
            _ => a_page_each(prompt),
        })
        .await;
    assert_eq!(stopped.report.stop(), Some(Stop::Budget));
    let begun = asked(&stopped.prompts);
    assert!(
        begun.contains(&"one".to_owned()) && begun.contains(&"two".to_owned()),
        "{begun:?}"
    );
    let is_left = |unit: &&str| *unit == "one" || !begun.iter().any(|begun| begun == unit);
    let mut left: Vec<&str> = units.into_iter().filter(is_left).collect();
    for unit in units {
        assert_eq!(world.has_page(unit), !left.contains(&unit), "{unit}");
    }
    let rest = world.run(source(&units), a_page_each).await;
    assert!(rest.report.is_whole(), "{:?}", rest.report);
    let mut tried = asked(&rest.prompts);
    tried.sort();
    left.sort_unstable();
    assert_eq!(tried, left);
}

#[tokio::test]
async fn a_poison_unit_fails_alone() {
    let mut world = World::new();
    world.concurrency = 3;
    let units = ["one", "two", "three", "four"];
    let ran = world
        .run(source(&units), |prompt| match unit_of(prompt).as_deref() {
            Some("two") => Some(fails(LlmErrorKind::Refusal)),
            _ => a_page_each(prompt),
        })
        .await;
    assert!(ran.report.is_unfinished());
    let mut tried = asked(&ran.prompts);
    tried.sort();
    assert_eq!(tried, ["four", "one", "three", "two"]);
    let again = world.run(source(&units), a_page_each).await;
    assert!(again.report.is_whole(), "{:?}", again.report);
    assert_eq!(asked(&again.prompts), ["two"]);
}

#[tokio::test]
async fn a_used_up_budget_stops_the_run_and_the_next_one_continues() {
    let world = World::new();
    let units = ["one", "two", "three"];
    let stopped = world
        .run(source(&units), |prompt| match unit_of(prompt).as_deref() {
            Some("two") => Some(fails(LlmErrorKind::Budget)),
            _ => a_page_each(prompt),
        })
        .await;
    assert_eq!(stopped.report.stop(), Some(Stop::Budget));
    assert!(stopped.report.is_unfinished() && stopped.report.has_something());
    let tried: Vec<bool> = stopped
        .report
        .units
        .iter()
        .map(|unit| unit.result.is_some())
        .collect();
    assert_eq!(tried, [true, true, false]);
    let next = world.run(source(&units), a_page_each).await;
    assert_eq!(asked(&next.prompts), ["two", "three"]);
    assert!(next.report.is_whole());
}

#[tokio::test]
async fn a_refused_unit_fails_alone() {
    let world = World::new();
    let ran = world
        .run(source(&["one", "two"]), |prompt| {
            match unit_of(prompt).as_deref() {
                Some("one") => Some(fails(LlmErrorKind::Refusal)),
                _ => a_page_each(prompt),
            }
        })
        .await;
    assert_eq!(ran.report.stop(), None);
    assert_eq!(ran.report.failures().count(), 1);
    assert!(world.has_page("two") && !world.has_page("one"));
}

#[tokio::test]
async fn an_interrupted_loop_continues_with_what_it_had_written() {
    let world = World::new();
    let two_pages = |prompt: &str| unit_of(prompt).map(|_| calls([page("one"), page("two")]));
    let first_turn = |event: &Event| matches!(event, Event::Turn(Turn { index: 1, .. }));
    let cut = world
        .run_until(source(&["all"]), two_pages, first_turn)
        .await;
    assert_eq!(cut.report.stop(), Some(Stop::Interrupted));
    assert!(!world.has_page("one"));
    let next = world
        .run(source(&["all"]), |prompt| {
            unit_of(prompt).map(|_| calls([page("two")]))
        })
        .await;
    let [prompt] = next.prompts.as_slice() else {
        panic!("{:?}", next.prompts);
    };
    assert!(
        prompt.contains("What it wrote is in the files already: pages one; sources none."),
        "{prompt}"
    );
    let task = Task::Unit {
        position: 1,
        count: 1,
        key: "all".to_owned(),
        name: "all".to_owned(),
    };
    assert_eq!(
        next.events[..2],
        [
            Event::Started(task.clone()),
            Event::Continued { task, turns: 1 }
        ]
    );
    assert!(world.has_page("one") && world.has_page("two"));
    assert_eq!(world.titles(), ["ktx ingest: shop-dbt all"]);
}

#[tokio::test]
async fn files_that_disappear_are_reconciled() {
    let world = World::new();
    assert!(
        world
            .run(source(&["one", "two"]), a_page_each)
            .await
            .report
            .is_whole()
    );
    let ran = world
        .run(source(&["two"]), |prompt| {
            let removal = (
                "wiki_remove".to_owned(),
                serde_json::json!({ "key": "one" }),
            );
            let is_listed =
                prompt.contains("one: pages one; sources none; files that are gone: one.yml");
            is_listed.then(|| calls([removal]))
        })
        .await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert!(!world.has_page("one") && world.has_page("two"));
    let again = world.run(source(&["two"]), a_page_each).await;
    assert_eq!(again.prompts, Vec::<String>::new());
}

#[tokio::test]
async fn a_stopped_run_evicts_nothing() {
    let world = World::new();
    let first = world.run(source(&["one", "two"]), a_page_each).await;
    assert!(first.report.is_whole(), "{:?}", first.report);
    let stopped = world
        .run(source(&["two", "three"]), |prompt| {
            match unit_of(prompt).as_deref() {
                Some("three") => Some(fails(LlmErrorKind::Budget)),
                _ => a_page_each(prompt),
            }
        })
        .await;
    assert_eq!(stopped.report.stop(), Some(Stop::Budget));
    assert!(stopped.report.eviction.is_none());
    assert!(world.has_page("one"));
    let next = world.run(source(&["two", "three"]), a_page_each).await;
    assert!(next.report.is_whole(), "{:?}", next.report);
    assert!(!world.has_page("one") && world.has_page("three"));
}

#[tokio::test]
async fn a_page_that_a_new_unit_goes_on_with_stays() {
    let world = World::new();
    world.run(source(&["one", "two"]), a_page_each).await;
    let ran = world
        .run(source(&["two", "new"]), |prompt| match unit_of(prompt) {
            Some(_) if prompt.contains("- one: one") => {
                let input =
                    serde_json::json!({ "key": "one", "summary": "one", "content": "Now of new." });
                Some(calls([("wiki_write".to_owned(), input)]))
            }
            Some(_) => Some(calls([page("one")])),
            None => is_reconciliation(prompt).then(|| calls([])),
        })
        .await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
    assert!(world.has_page("one"));
    let evicted = ran.report.eviction.as_ref().expect("a verdict");
    let verdicts: Vec<EvictionVerdict> = evicted.verdicts.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [EvictionVerdict::Keep]);
}

#[tokio::test]
async fn a_cut_off_loop_goes_on_whatever_others_have_committed() {
    let mut world = World::new();
    world.concurrency = 2;
    let three_pages = |prompt: &str| match unit_of(prompt).as_deref() {
        Some("two") => Some(calls([page("two"), page("more"), page("most")])),
        _ => a_page_each(prompt),
    };
    let second_turn = |event: &Event| {
        let Event::Turn(Turn { index: 2, task, .. }) = event else {
            return false;
        };
        matches!(task, Task::Unit { key, .. } if key == "two")
    };
    let cut = world
        .run_until(source(&["one", "two"]), three_pages, second_turn)
        .await;
    assert_eq!(cut.report.stop(), Some(Stop::Interrupted));
    let others = world.run(source(&["one", "other"]), a_page_each).await;
    assert!(others.report.is_whole(), "{:?}", others.report);
    assert!(world.has_page("other") && !world.has_page("two"));
    let next = world
        .run(source(&["one", "two", "other"]), |prompt| {
            let what = "What it wrote is in the files already: pages more, two; sources none.";
            match unit_of(prompt) {
                Some(_) => prompt.contains(what).then(|| calls([page("most")])),
                None => is_reconciliation(prompt).then(|| calls([])),
            }
        })
        .await;
    assert!(next.report.is_whole(), "{:?}", next.report);
    assert_eq!(asked(&next.prompts), ["two"]);
    let is_continued = |event: &&Event| matches!(event, Event::Continued { turns: 2, .. });
    assert_eq!(next.events.iter().filter(is_continued).count(), 1);
    for page in ["one", "two", "more", "most", "other"] {
        assert!(world.has_page(page), "{page}");
    }
}
