//! Killed writers and full disks, in child processes.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests run themselves as children and hand them a folder"
)]

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{holder, id, note, opened};
use crate::{Durability, LogError, SessionStore};

/// Set only in the child process.
const FOLDER: &str = "KTX_TEST_SESSION_FOLDER";

/// Runs `before` in `sh`, then the child.
fn child(test: &str, before: &str, folder: &std::path::Path) -> Child {
    let script = format!("{before} exec \"$0\" --exact --nocapture tests::kills::{test}");
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(script)
        .arg(env::current_exe().unwrap());
    command.env(FOLDER, folder).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn store_of_child() -> Option<SessionStore> {
    env::var_os(FOLDER).map(SessionStore::new)
}

fn write_until_killed(store: &SessionStore) {
    let log = match store.open(&id("one"), &holder(), |_| ()) {
        Ok(log) => log,
        Err(_) => store.create(&id("one"), &holder()).unwrap(),
    };
    if log.last() == 0 {
        log.append(opened(), Durability::Synced).unwrap();
    }
    let text = "x".repeat(3_000);
    loop {
        let seq = log.append(note(&text), Durability::Written).unwrap();
        println!("\nwritten {seq}");
    }
}

/// After each of 100 kills.
#[test]
fn a_killed_writer_loses_nothing_that_it_had_acknowledged() {
    if let Some(store) = store_of_child() {
        return write_until_killed(&store);
    }
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::new(folder.path());
    let mut before = 0;
    for kill in 0..100 {
        let mut writer = child(
            "a_killed_writer_loses_nothing_that_it_had_acknowledged",
            "",
            folder.path(),
        );
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let mut seqs = lines.filter_map(|line| line.ok()?.strip_prefix("written ")?.parse().ok());
        let wanted = 1 + kill % 7;
        let mut acknowledged: u64 = seqs.nth(wanted).unwrap();
        writer.kill().unwrap();
        acknowledged = seqs.last().unwrap_or(acknowledged);
        writer.wait().unwrap();
        let mut reader = store.read(&id("one")).unwrap();
        reader.read_all().unwrap();
        assert!(
            reader.seq() >= acknowledged,
            "{} {acknowledged}",
            reader.seq()
        );
        assert!(acknowledged > before);
        before = acknowledged;
    }
}

fn fill_the_disk(store: &SessionStore) {
    let log = store.create(&id("one"), &holder()).unwrap();
    log.append(opened(), Durability::Synced).unwrap();
    let fails = |seq: &u64| match log.append(note(&format!("record {seq}")), Durability::Synced) {
        Ok(appended) => {
            assert_eq!(appended, *seq);
            false
        }
        Err(LogError::Write { .. }) => true,
        Err(other) => panic!("{other}"),
    };
    let first = (2..100_000).find(fails).unwrap();
    // The file has only whole lines; the rest waits.
    let bytes = std::fs::read(store.path(&id("one"))).unwrap();
    assert_eq!(bytes.last(), Some(&b'\n'));
    let mut reader = store.read(&id("one")).unwrap();
    assert_eq!(reader.read_all().unwrap().len() as u64, first - 1);
    assert_eq!(reader.torn(), None);
    while log.waiting() < crate::MOST_WAITING - 1 {
        log.append(note("waits"), Durability::Synced).unwrap_err();
    }
    let mut taken = Vec::new();
    let pair = [note("waits"), note("refused")];
    let refused = log.append_all(pair, Durability::Synced, &mut taken);
    assert!(matches!(
        refused,
        Err(LogError::Full {
            waiting: crate::MOST_WAITING,
            ..
        })
    ));
    assert_eq!(taken.len(), 1);
    let refused = log.append(note("refused"), Durability::Synced).unwrap_err();
    assert!(matches!(refused, LogError::Full { .. }));
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    setrlimit(Resource::Fsize, unlimited).unwrap();
    let last = log.append(note("after"), Durability::Synced).unwrap();
    assert_eq!(log.waiting(), 0);
    assert_eq!(reader.read_all().unwrap().len() as u64, last + 1 - first);
    println!("\nheld");
}

#[test]
fn a_full_disk_costs_no_record() {
    if let Some(store) = store_of_child() {
        return fill_the_disk(&store);
    }
    let folder = tempfile::tempdir().unwrap();
    let limited = "trap '' XFSZ; ulimit -S -f 16;";
    let writer = child("a_full_disk_costs_no_record", limited, folder.path());
    let output = writer.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.lines().any(|line| line == "held"), "{said}");
}
