//! Logs in real folders: written, torn, damaged, locked.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests tear and damage logs themselves"
)]

mod index;
mod kills;

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use jiff::Timestamp;
use ktx_project_store::Holder;
use serde_json::{Map, Value, json};

use crate::{
    Channel, Durability, Entry, FORMAT, LogError, OPENED, Record, SessionId, SessionLog,
    SessionStore,
};

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn holder() -> Holder {
    Holder {
        pid: 7,
        command: "ktx agent".to_owned(),
        since: None,
        begun: None,
    }
}

fn event(value: Value) -> Map<String, Value> {
    let Value::Object(event) = value else {
        panic!("events are objects")
    };
    event
}

fn entry(channel: Channel, value: Value) -> Entry {
    Entry {
        at: Timestamp::from_microsecond(1_764_200_000_123_456).unwrap(),
        channel,
        turn: None,
        step: None,
        event: event(value),
    }
}

fn opened() -> Entry {
    entry(Channel::State, json!({ "type": OPENED, "format": FORMAT }))
}

fn note(text: &str) -> Entry {
    let mut entry = entry(Channel::Progress, json!({ "type": "note", "text": text }));
    entry.turn = Some(1);
    entry.step = Some(2);
    entry
}

fn begin(store: &SessionStore, name: &str) -> SessionLog {
    let log = store.create(&id(name), &holder()).unwrap();
    log.append(opened(), Durability::Synced).unwrap();
    log
}

fn three(folder: &Path) -> SessionStore {
    let store = SessionStore::new(folder.join("sessions"));
    let log = begin(&store, "one");
    log.append(note("a\n\"ü\""), Durability::Written).unwrap();
    log.append(note("b"), Durability::Synced).unwrap();
    store
}

fn continue_with(store: &SessionStore, text: &str) -> Result<Vec<Record>, LogError> {
    let mut before = Vec::new();
    let log = store.open(&id("one"), &holder(), |record| before.push(record))?;
    log.append(note(text), Durability::Synced)?;
    Ok(before)
}

fn texts(store: &SessionStore) -> Vec<String> {
    let records = store.read(&id("one")).unwrap().read_all().unwrap();
    let numbered = records.iter().map(|record| {
        let text = record.event.get("text").and_then(Value::as_str);
        format!("{} {}", record.seq, text.unwrap_or(record.kind()))
    });
    numbered.collect()
}

#[test]
fn a_record_is_a_line_with_its_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    let text = fs::read_to_string(store.path(&id("one"))).unwrap();
    assert_snapshot!(checksums_hold(&text), @r#"
    {"seq":1,"ts":"2025-11-26T23:33:20.123Z","channel":"state","event":{"type":"session_opened","format":1},"crc":holds}
    {"seq":2,"ts":"2025-11-26T23:33:20.123Z","channel":"progress","turn":1,"step":2,"event":{"type":"note","text":"a\n\"ü\""},"crc":holds}
    {"seq":3,"ts":"2025-11-26T23:33:20.123Z","channel":"progress","turn":1,"step":2,"event":{"type":"note","text":"b"},"crc":holds}
    "#);
}

/// Replaces valid checksums, computed here bit by bit.
fn checksums_hold(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let (body, checksum) = line.split_once(",\"crc\":\"").unwrap();
        let mut register = u32::MAX;
        for byte in format!("{body}}}").bytes() {
            register ^= u32::from(byte);
            for _ in 0..8 {
                register = (register >> 1) ^ (0xEDB8_8320 * (register & 1));
            }
        }
        let fits = checksum == format!("{:08x}\"}}", !register);
        format!(
            "{body},\"crc\":{}}}\n",
            if fits { "holds" } else { "wrong" }
        )
    });
    lines.collect()
}

#[test]
fn a_log_cut_at_any_byte_is_read_and_continued() {
    let whole = tempfile::tempdir().unwrap();
    let bytes = fs::read(three(whole.path()).path(&id("one"))).unwrap();
    let third = bytes.len()
        - 1
        - bytes[..bytes.len() - 1]
            .iter()
            .rev()
            .position(|b| *b == b'\n')
            .unwrap();
    for length in third..bytes.len() {
        let folder = tempfile::tempdir().unwrap();
        let store = three(folder.path());
        let path = store.path(&id("one"));
        fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(
            texts(&store),
            ["1 session_opened", "2 a\n\"ü\""],
            "cut at {length}"
        );
        assert_eq!(continue_with(&store, "c").unwrap().len(), 2);
        assert_eq!(texts(&store), ["1 session_opened", "2 a\n\"ü\"", "3 c"]);
        let torn = fs::read(path.with_file_name("log.torn")).unwrap_or_default();
        let kept = torn.strip_suffix(b"\n").unwrap_or_default();
        assert_eq!(kept, &bytes[third..length]);
    }
}

#[test]
fn a_wrong_last_line_is_torn_and_an_earlier_one_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    let path = store.path(&id("one"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"b\"", "\"x\"")).unwrap();
    assert_eq!(texts(&store), ["1 session_opened", "2 a\n\"ü\""]);

    let told = |text: String| {
        fs::write(&path, text).unwrap();
        let read = store.read(&id("one")).unwrap().read_all().unwrap_err();
        let opened = continue_with(&store, "c").unwrap_err();
        assert_eq!(read.to_string(), opened.to_string());
        let place = folder.path().to_string_lossy().into_owned();
        read.to_string().replace(&place, "[FOLDER]")
    };
    assert_snapshot!(told(text.replace("ü", "u")), @"[FOLDER]/sessions/one/log.jsonl:2: the record is damaged: its checksum does not fit");
    assert_snapshot!(told(text.replacen("\"}", "", 1)), @"[FOLDER]/sessions/one/log.jsonl:1: the record is damaged: it has no checksum");
    let lines: Vec<&str> = text.lines().step_by(2).collect();
    let without_second = format!("{}\n", lines.join("\n"));
    assert_snapshot!(told(without_second), @"[FOLDER]/sessions/one/log.jsonl:2: the record is damaged: its sequence number does not follow the one before");
}

#[test]
fn a_log_of_another_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path());
    let log = store.create(&id("one"), &holder()).unwrap();
    let newer = json!({ "type": OPENED, "format": 2 });
    log.append(entry(Channel::State, newer), Durability::Written)
        .unwrap();
    drop(log);
    let error = continue_with(&store, "c").unwrap_err().to_string();
    let place = folder.path().to_string_lossy().into_owned();
    assert_snapshot!(error.replace(&place, "[FOLDER]"), @"[FOLDER]/one/log.jsonl:1: the log has format 2, and this ktx reads format 1");
}

#[test]
fn one_writer_at_a_time_and_readers_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path());
    let log = begin(&store, "one");
    let refused = continue_with(&store, "c").unwrap_err();
    assert_snapshot!(refused, @"the session `one` is in use by `ktx agent` (process 7)");
    assert_snapshot!(store.delete(&id("one"), &holder()).unwrap_err(), @"the session `one` is in use by `ktx agent` (process 7)");

    let mut reader = store.read(&id("one")).unwrap();
    assert_eq!(reader.read_all().unwrap().len(), 1);
    log.append(note("a"), Durability::Written).unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().seq, 2);
    assert!(reader.next_record().unwrap().is_none());
    drop(log);
    store.delete(&id("one"), &holder()).unwrap();
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn threads_share_writes_and_each_gets_its_own_number() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path());
    let log = begin(&store, "one");
    let mut seqs: Vec<u64> = std::thread::scope(|scope| {
        let writers = (0..8).map(|_| {
            scope.spawn(|| {
                let append = |_| log.append(note("x"), Durability::Synced).unwrap();
                (0..20).map(append).collect::<Vec<u64>>()
            })
        });
        let writers: Vec<_> = writers.collect();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    });
    seqs.sort_unstable();
    assert_eq!(seqs, (2..=161).collect::<Vec<u64>>());
    assert_eq!(texts(&store).len(), 161);
}

#[test]
fn records_are_appended_together() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path());
    let log = begin(&store, "one");
    let mut tail = log.tail().unwrap();
    let mut taken = Vec::new();
    let notes = ["a", "b", "c"].map(note);
    log.append_all(notes, Durability::Written, &mut taken)
        .unwrap();
    assert_eq!(tail.read_all().unwrap(), taken);
    let seqs: Vec<u64> = taken.iter().map(|record| record.seq).collect();
    assert_eq!(seqs, [2, 3, 4]);
    log.append_all([], Durability::Synced, &mut taken).unwrap();
    assert_eq!(log.last(), 4);
}

#[test]
fn sessions_are_found_by_the_beginning_of_their_id() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path());
    let missing = |text: &str| store.find(text).unwrap_err().to_string();
    assert_eq!(missing("revenue"), "there is no session `revenue`");
    for name in ["revenue-2024", "revenue-2025", "returns"] {
        drop(begin(&store, name));
    }
    assert_eq!(store.find("return").unwrap(), id("returns"));
    assert_eq!(store.find("returns").unwrap(), id("returns"));
    assert_eq!(
        missing("retur"),
        "there is no session `retur`; did you mean `returns`?"
    );
    assert_eq!(
        missing("revenue"),
        "`revenue` is the beginning of 2 session ids"
    );
}

#[test]
fn an_id_is_the_name_of_a_folder_and_nothing_else() {
    for wrong in [
        "",
        "-a",
        "A",
        "a/b",
        "../a",
        ".",
        "a.b",
        "a b",
        "é",
        &"a".repeat(65),
    ] {
        assert!(SessionId::parse(wrong).is_err(), "{wrong}");
    }
    assert!(SessionId::parse(&"a".repeat(64)).is_ok());
    let error = SessionId::parse("../a").unwrap_err();
    assert_snapshot!(error, @"`../a` is not a session id: use at most 64 lower-case letters, digits and `-`; the first is not `-`");
}
