//! Value tests of the lock.

use super::*;

fn holder(command: &str) -> Holder {
    Holder {
        pid: 4711,
        command: command.to_owned(),
        since: None,
    }
}

#[test]
fn a_held_lock_says_who_holds_it_and_is_free_afterwards() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let first = ProjectLock::acquire(&path, &holder("ktx scan"), Wait::No).expect("the lock");
    let error = ProjectLock::acquire(&path, &holder("ktx ingest"), Wait::No).expect_err("held");
    assert_eq!(
        error.to_string(),
        "the project is in use by `ktx scan` (process 4711)"
    );
    let error = ProjectLock::acquire(&path, &holder("x"), Wait::AtMost(Duration::from_millis(1)));
    assert_eq!(
        error.expect_err("held").to_string(),
        "the project is in use by `ktx scan` (process 4711)"
    );
    drop(first);
    ProjectLock::acquire(
        &path,
        &holder("ktx ingest"),
        Wait::AtMost(Duration::from_mins(1)),
    )
    .expect("the lock");
}

#[test]
fn who_waits_gets_the_lock_when_it_is_let_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let first = ProjectLock::acquire(&path, &holder("ktx scan"), Wait::No).expect("the lock");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            ProjectLock::acquire(
                &path,
                &holder("ktx ingest"),
                Wait::AtMost(Duration::from_mins(1)),
            )
        });
        drop(first);
        waiting.join().expect("no panic").expect("the lock");
    });
}

#[test]
fn a_lock_without_a_name_is_held_by_somebody() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let _first = ProjectLock::acquire_blocking(&path).expect("the lock");
    let error = ProjectLock::acquire(&path, &holder("x"), Wait::No).expect_err("held");
    assert_eq!(error.to_string(), "the project is in use");
}
