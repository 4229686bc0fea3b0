//! Notes, one commit each.

use std::sync::{Arc, Mutex};

use ktx_ingest::{
    AfterFailure, Committed, Failed, Note, NoteEvent, NoteProgress, NotesRequest, Origin, Stop,
    capture_notes,
};
use ktx_llm_runtime::{LlmError, LlmErrorKind, NoEvents, Reply, ScriptedRuntime};
use ktx_vocabulary::RunId;
use tokio_util::sync::CancellationToken;

use crate::world::{World, calls, page};

struct Ran {
    results: Vec<Result<Committed, Failed>>,
    prompts: Vec<String>,
    events: Vec<NoteEvent>,
}

async fn run(
    world: &World,
    notes: &[Note],
    after_failure: AfterFailure,
    answer: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static,
) -> Ran {
    let runtime = Arc::new(ScriptedRuntime::answering(answer, Arc::new(NoEvents)));
    let events: Arc<Mutex<Vec<NoteEvent>>> = Arc::default();
    let seen = Arc::clone(&events);
    let run_store = world.run_store();
    let request = NotesRequest {
        run_store: &run_store,
        context: Arc::new(world.context()),
        runtime: Arc::clone(&runtime) as _,
        model_name: "scripted".to_owned(),
        connection: None,
        author: "ada\nlovelace".to_owned(),
        run_id: RunId::parse("run-1").expect("an id"),
        events: Arc::new(move |event| seen.lock().expect("no poison").push(event)),
        after_failure,
        cancel: CancellationToken::new(),
    };
    let results = capture_notes(&request, notes).await.expect("results");
    Ran {
        results,
        prompts: runtime.prompts(),
        events: events.lock().expect("no poison").clone(),
    }
}

fn note(label: &str, text: &str) -> Note {
    Note {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}

fn a_page_about(words: &'static [&str]) -> impl Fn(&str) -> Option<Reply> {
    move |prompt| {
        let is_subject = |word: &&&str| prompt.contains(&format!("About {word}."));
        let word = words.iter().find(is_subject)?;
        Some(calls([page(word)]))
    }
}

fn stops(ran: &Ran) -> Vec<Option<Stop>> {
    let failures = ran
        .results
        .iter()
        .filter_map(|result| result.as_ref().err());
    failures.map(|failed| failed.stop).collect()
}

#[tokio::test]
async fn each_note_is_a_commit_and_is_not_repeated() {
    let world = World::new();
    let notes = [
        note("one\ntwo", "About refunds."),
        note("three", "About taxes."),
    ];
    let model = || a_page_about(&["refunds", "taxes"]);
    let first = run(&world, &notes, AfterFailure::Continue, model()).await;
    assert_eq!(stops(&first), []);
    assert_eq!(world.titles(), ["ktx ingest: three", "ktx ingest: one two"]);
    let event = |position, label: &str, progress| NoteEvent {
        position,
        count: 2,
        label: label.to_owned(),
        progress,
    };
    let turn = |index| NoteProgress::Turn { index, budget: 30 };
    assert_eq!(
        first.events,
        [
            event(1, "one\ntwo", NoteProgress::Started),
            event(1, "one\ntwo", turn(1)),
            event(1, "one\ntwo", turn(2)),
            event(2, "three", NoteProgress::Started),
            event(2, "three", turn(1)),
            event(2, "three", turn(2)),
        ]
    );
    let again = run(&world, &notes, AfterFailure::Continue, model()).await;
    let committed = again.results.iter().map(|result| result.as_ref());
    let origins = committed.map(|committed| committed.expect("a result").origin);
    assert_eq!(origins.collect::<Vec<_>>(), [Origin::EarlierRun; 2]);
    assert_eq!((again.prompts.len(), again.events.len()), (0, 0));
}

#[tokio::test]
async fn an_empty_note_stops_the_others_only_if_the_user_wants_that() {
    for (after_failure, pages) in [(AfterFailure::Continue, 1), (AfterFailure::Stop, 0)] {
        let world = World::new();
        let notes = [note("empty", " "), note("three", "About taxes.")];
        let ran = run(&world, &notes, after_failure, a_page_about(&["taxes"])).await;
        assert_eq!(stops(&ran), [None], "{after_failure:?}");
        assert_eq!(ran.results.len(), 1 + pages, "{after_failure:?}");
        assert_eq!(world.titles().len(), pages, "{after_failure:?}");
    }
}

/// Thanks teach nothing; a note of one meaningful word can.
#[tokio::test]
async fn a_note_that_says_nothing_asks_no_model() {
    let world = World::new();
    let notes = [
        note("thanks", "Thank you!"),
        note("symbols", "👍 --- 123"),
        note("german", "ok, danke"),
        note("three", "About taxes."),
    ];
    let ran = run(&world, &notes, AfterFailure::Stop, a_page_about(&["taxes"])).await;
    let commits = ran.results.iter().map(|result| {
        let committed = result.as_ref().expect("a result");
        (committed.commit.is_some(), committed.written.wiki.len())
    });
    assert_eq!(
        commits.collect::<Vec<_>>(),
        [(false, 0), (false, 0), (false, 0), (true, 1)]
    );
    assert!(
        ran.prompts
            .iter()
            .all(|prompt| prompt.contains("About taxes."))
    );
}

#[tokio::test]
async fn a_failure_of_the_model_stops_all_notes() {
    let kinds = [
        (LlmErrorKind::Refusal, Stop::Model),
        (LlmErrorKind::Budget, Stop::Budget),
        (LlmErrorKind::Cancelled, Stop::Interrupted),
    ];
    for (kind, stop) in kinds {
        let world = World::new();
        let notes = [note("one", "About refunds."), note("three", "About taxes.")];
        let fails = move |_: &str| Some(Reply::Error(LlmError::new(kind, "no")));
        let ran = run(&world, &notes, AfterFailure::Continue, fails).await;
        assert_eq!(stops(&ran), [Some(stop)], "{kind:?}");
        assert_eq!(ran.results.len(), 1, "{kind:?}");
        assert_eq!(world.titles(), Vec::<String>::new(), "{kind:?}");
    }
}
