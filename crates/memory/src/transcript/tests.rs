//! Tests what a transcript stores and when it is dropped.

use super::*;

#[derive(Default)]
struct Memory(Mutex<Vec<String>>);

impl TranscriptStore for Memory {
    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no poison").clone()
    }

    fn append(&self, line: &str) {
        self.0.lock().expect("no poison").push(line.to_owned());
    }

    fn clear(&self) {
        self.0.lock().expect("no poison").clear();
    }

    fn continued(&self, _turns: usize) {}
}

fn open(store: &Arc<Memory>, input: &str) -> LoopTranscript {
    let store: Arc<dyn TranscriptStore> = Arc::clone(store) as _;
    LoopTranscript::open(store, input.to_owned())
}

fn said(words: &str) -> Message {
    Message::text(MessageRole::Assistant, words)
}

#[test]
fn a_loop_is_continued_with_the_same_input_alone() {
    let store = Arc::new(Memory::default());
    let first = open(&store, "a");
    assert_eq!(store.lines(), Vec::<String>::new());
    first.record(&said("one"));
    first.record(&said("two"));
    let same = open(&store, "a");
    assert_eq!(
        (same.earlier(), same.turns()),
        (vec![said("one"), said("two")], 2)
    );
    same.record(&said("three"));
    assert_eq!(open(&store, "a").turns(), 3);
    assert_eq!(open(&store, "b").turns(), 0);
    assert_eq!(store.lines(), Vec::<String>::new());
}

#[test]
fn a_line_that_cannot_be_read_ends_the_transcript() {
    let store = Arc::new(Memory::default());
    let first = open(&store, "a");
    first.record(&said("one"));
    store.append("{\"message\": {\"role\": \"assist");
    store.append("{\"stuck\": null}");
    assert_eq!(open(&store, "a").earlier(), [said("one")]);
    let other = Arc::new(Memory::default());
    other.append("no line of ours");
    assert_eq!(open(&other, "a").turns(), 0);
    assert_eq!(other.lines(), Vec::<String>::new());
}

#[test]
fn a_loop_that_gets_no_further_is_dropped() {
    let store = Arc::new(Memory::default());
    open(&store, "a").record(&said("one"));
    for _ in 0..2 {
        open(&store, "a").failed(LlmErrorKind::Server);
    }
    let grown = open(&store, "a");
    grown.record(&said("two"));
    grown.failed(LlmErrorKind::Budget);
    for turns in [2, 2, 2, 0] {
        let kept = open(&store, "a");
        assert_eq!(kept.turns(), turns);
        kept.failed(LlmErrorKind::Server);
    }
    open(&store, "a").record(&said("one"));
    open(&store, "a").failed(LlmErrorKind::Refusal);
    assert_eq!(store.lines(), Vec::<String>::new());
}
