//! The index of sessions.

use std::cell::RefCell;
use std::fs;

use crate::{Durability, LogError, SessionStore};

use super::{begin, holder, id, note};

/// Returns record counts, and the sessions that were read.
fn list(store: &SessionStore, version: u32) -> (Vec<String>, Vec<String>) {
    let read = RefCell::new(Vec::new());
    let listed = store.indexed(version, |id| {
        read.borrow_mut().push(id.to_string());
        let records = store.read(id)?.read_all()?;
        Ok::<usize, LogError>(records.len())
    });
    let rows = listed.unwrap().into_iter().map(|it| {
        let row = it
            .row
            .map_or_else(|error| error.to_string(), |row| row.to_string());
        format!("{} {row}", it.id)
    });
    (rows.collect(), read.into_inner())
}

#[test]
fn an_index_costs_time_and_never_truth() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path().join("sessions"));
    let index = folder.path().join("index.jsonl");
    let none: Vec<String> = Vec::new();
    assert_eq!(list(&store, 1), (none.clone(), none.clone()));
    for name in ["a", "b", "c"] {
        drop(begin(&store, name));
    }
    let all = ["a 1", "b 1", "c 1"].map(str::to_owned).to_vec();
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert_eq!(list(&store, 1), (all.clone(), names));
    assert_eq!(list(&store, 1), (all, none.clone()));
    let log = store.open(&id("b"), &holder(), |_| ()).unwrap();
    log.append(note("b"), Durability::Written).unwrap();
    drop(log);
    let more = ["a 1", "b 2", "c 1"].map(str::to_owned).to_vec();
    assert_eq!(list(&store, 1), (more, vec!["b".to_owned()]));
    store.delete(&id("c"), &holder()).unwrap();
    let fewer = ["a 1", "b 2"].map(str::to_owned).to_vec();
    assert_eq!(list(&store, 1), (fewer.clone(), none));
    let kept = fs::read_to_string(&index).unwrap();
    assert_eq!(kept.lines().count(), 2);
    // Torn within its second line.
    fs::write(&index, &kept[..kept.len() - 10]).unwrap();
    assert_eq!(list(&store, 1), (fewer.clone(), vec!["b".to_owned()]));
    assert_eq!(fs::read_to_string(&index).unwrap(), kept);
    let both = ["a", "b"].map(str::to_owned).to_vec();
    fs::write(&index, [0xff, 0xfe, b'\n']).unwrap();
    assert_eq!(list(&store, 1), (fewer.clone(), both.clone()));
    fs::remove_file(&index).unwrap();
    assert_eq!(list(&store, 1), (fewer.clone(), both.clone()));
    assert_eq!(list(&store, 2), (fewer.clone(), both.clone()));
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(list(&store, 2), (fewer, both));
}

#[test]
fn a_damaged_log_has_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path().join("sessions"));
    for name in ["a", "b"] {
        drop(begin(&store, name));
    }
    let path = store.path(&id("a"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("broken\n{text}")).unwrap();
    for read in ["a b", "a"] {
        let (rows, seen) = list(&store, 1);
        assert!(rows[0].contains(":1: the record is damaged"), "{rows:?}");
        assert_eq!((rows[1].as_str(), seen.join(" ").as_str()), ("b 1", read));
    }
}
