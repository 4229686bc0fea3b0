//! Tests of the lock.

use super::*;

fn holder(command: &str) -> Holder {
    Holder {
        pid: 4711,
        command: command.to_owned(),
        since: None,
        begun: None,
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test needs a process that a signal may end"
)]
fn only_the_process_that_took_the_lock_is_interrupted() {
    let mut child = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .expect("a process");
    let mine = Holder {
        pid: child.id(),
        begun: begun(child.id()),
        ..holder("ktx scan")
    };
    let older = Holder {
        begun: mine.begun.map(|second| second - 1),
        ..mine.clone()
    };
    let unsigned = Holder {
        begun: None,
        ..mine.clone()
    };
    for holder in [older, unsigned] {
        let asked = holder.clone().interrupt().expect("an answer");
        assert_eq!(asked, Interruption::NotReached(holder));
        assert_eq!(child.try_wait().expect("a state"), None);
    }
    let asked = mine.clone().interrupt().expect("an answer");
    assert_eq!(asked, Interruption::Sent(mine.clone()));
    assert!(!child.wait().expect("an end").success());
    let asked = mine.clone().interrupt().expect("an answer");
    assert_eq!(asked, Interruption::NotReached(mine));
}

#[test]
fn a_held_lock_names_its_holder_and_is_free_afterwards() {
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
fn a_waiter_gets_the_lock_when_it_is_released() {
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
fn a_lock_without_a_name_has_an_unknown_holder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let _first = ProjectLock::acquire_blocking(&path).expect("the lock");
    let error = ProjectLock::acquire(&path, &holder("x"), Wait::No).expect_err("held");
    assert_eq!(error.to_string(), "the project is in use");
}
