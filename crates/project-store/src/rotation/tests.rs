//! Tests of log rotation.
#![expect(
    clippy::disallowed_methods,
    reason = "the test writes the logs that are put aside"
)]

use std::fs;

use super::{KEPT, LONG, rotate};

#[test]
fn the_last_logs_are_kept_and_no_line_is_lost_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("calls.jsonl");
    let long = usize::try_from(LONG).expect("a length") + 1;
    for round in 0..KEPT + 2 {
        let mut text = vec![b'x'; long];
        text.extend(round.to_string().bytes());
        fs::write(&path, text).expect("the log");
        rotate(&path).expect("it is put aside");
        assert!(!path.exists());
        rotate(&path).expect("there is nothing to do");
    }
    let mut rounds: Vec<(String, char)> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending != "lock"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a log");
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, text.chars().last().expect("a letter"))
        })
        .collect();
    rounds.sort();
    let expected = [
        ("calls.jsonl.1", '4'),
        ("calls.jsonl.2", '3'),
        ("calls.jsonl.3", '2'),
    ];
    assert_eq!(
        rounds,
        expected.map(|(name, round)| (name.to_owned(), round))
    );
}
