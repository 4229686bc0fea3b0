//! Notes about children, and who may clear them.
#![expect(
    clippy::disallowed_methods,
    reason = "tests write the notes of owners that are gone"
)]

use serde_json::json;

use super::{Entry, FOLDER, start_of, sweep};

#[test]
fn a_note_lives_as_long_as_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let entry = Entry::write(folder.path(), std::process::id(), "token").unwrap();
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
    // The owner's id is taken by another process meanwhile, and so is the child's.
    let reused = json!({
        "process": std::process::id(), "started": 1, "token": "no-such-token",
        "owner": std::process::id(), "owner_started": 1,
    });
    std::fs::write(notes.join("1.json"), reused.to_string()).unwrap();
    std::fs::write(notes.join("2.json"), "half a no").unwrap();
    assert_eq!(sweep(folder.path()), 2);
    assert_eq!(std::fs::read_dir(&notes).unwrap().count(), 0);
}

#[test]
fn a_process_has_a_start() {
    assert!(start_of(std::process::id()).is_some());
    assert_eq!(start_of(0), None);
}
