//! Tests of files about runs and of the state of syncs.

use std::os::unix::fs::PermissionsExt as _;

use jiff::Timestamp;
use ktx_project_store::{KEPT_RUNS, RunFile, SyncRound, SyncState, append_line, list};
use ktx_vocabulary::RunId;

use crate::world::TestRepository;

fn id(number: usize) -> RunId {
    RunId::parse(&format!("run-{number:05}")).expect("an id")
}

#[test]
fn the_files_of_the_latest_runs_are_kept() {
    let (_world, store) = TestRepository::with_project();
    for number in 0..KEPT_RUNS + 5 {
        let path = store.new_run_file(&id(number), RunFile::Transcript);
        append_line(&path.expect("a place"), b"{}").expect("a line");
    }
    let last = id(KEPT_RUNS + 4);
    let notes = store.new_run_file(&last, RunFile::Notes).expect("a place");
    std::fs::write(&notes, "{}").expect("a file");
    let folder = store.layout().run_files();
    let mode = folder.metadata().expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let files = list(&folder).expect("files");
    assert!(files.len() <= KEPT_RUNS + 1, "{}", files.len());
    assert!(files.contains(&notes));
    assert!(files.contains(&store.run_file(&last, RunFile::Transcript)));
    assert!(!files.contains(&store.run_file(&id(0), RunFile::Transcript)));
}

#[test]
fn one_process_repeats_syncs() {
    let (_world, store) = TestRepository::with_project();
    let at = |second| Timestamp::from_second(second).expect("a time");
    assert_eq!(store.sync_state(), SyncState::default());
    assert!(!store.repeats_syncs());
    let lock = store.lock_syncs(at(1)).expect("the lock");
    assert!(store.repeats_syncs());
    let refused = store.lock_syncs(at(2)).expect_err("another one has it");
    assert!(
        refused.to_string().contains("`ktx sync --every`"),
        "{refused}"
    );
    let state = SyncState {
        last: Some(SyncRound {
            started: at(1),
            ended: at(3),
            exit: 7,
            run_id: "one".to_owned(),
        }),
        next: Some(at(100)),
    };
    store.write_sync_state(&state).expect("a file");
    assert_eq!(store.sync_state(), state);
    drop(lock);
    assert!(!store.repeats_syncs());
    // The next sync replaces a broken file.
    std::fs::write(store.layout().state().join("sync.json"), "[").expect("a file");
    assert_eq!(store.sync_state(), SyncState::default());
}
