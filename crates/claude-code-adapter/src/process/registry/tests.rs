//! Tests of the records of children.
#![expect(
    clippy::disallowed_methods,
    reason = "tests write the notes of owners that are gone"
)]

use serde_json::json;

use super::{ChildRecord, FOLDER, boot, namespace, start_of, sweep};

#[test]
fn a_note_lives_as_long_as_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let entry = ChildRecord::write(folder.path(), std::process::id(), "token").unwrap();
    assert_eq!(sweep(folder.path()), 0);
    let file = entry.file.clone();
    assert!(file.exists());
    entry.remove();
    assert!(!file.exists());
}

#[test]
fn notes_of_owners_that_are_gone_are_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join(FOLDER);
    std::fs::create_dir_all(&notes).unwrap();
    // Other processes have both ids by now.
    let reused = json!({
        "process": std::process::id(), "started": 1, "token": "no-such-token",
        "owner": std::process::id(), "owner_started": 1,
    });
    std::fs::write(notes.join("1.json"), reused.to_string()).unwrap();
    std::fs::write(notes.join("2.json"), "half a no").unwrap();
    assert_eq!(sweep(folder.path()), 2);
    assert_eq!(std::fs::read_dir(&notes).unwrap().count(), 0);
}

/// A process in a container looks ended from outside, and vice versa.
#[test]
fn notes_of_another_container_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join(FOLDER);
    std::fs::create_dir_all(&notes).unwrap();
    let note = |boot: Option<String>, namespace: Option<String>| {
        json!({
            "process": 4_000_000, "started": 1, "token": "no-such-token",
            "owner": 4_000_000, "owner_started": 1, "boot": boot, "namespace": namespace,
        })
    };
    let elsewhere = Some("pid:[1]".to_owned());
    for (name, note) in [
        ("foreign", note(boot(), elsewhere.clone())),
        (
            "earlier",
            note(Some("an earlier one".to_owned()), elsewhere),
        ),
        ("here", note(boot(), namespace())),
        ("nowhere", note(boot(), None)),
    ] {
        std::fs::write(notes.join(format!("{name}.json")), note.to_string()).unwrap();
    }
    assert_eq!(sweep(folder.path()), 3);
    let left: Vec<_> = std::fs::read_dir(&notes)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["foreign.json"]);
}

#[test]
fn a_process_that_is_not_reaped_counts_as_gone() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let process = child.id();
    let stat = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    while !stat().contains(") Z ") {
        std::thread::yield_now();
    }
    assert_eq!(start_of(process), None);
    child.wait().unwrap();
}

#[test]
fn a_process_has_a_start() {
    assert!(start_of(std::process::id()).is_some());
    assert_eq!(start_of(0), None);
}
