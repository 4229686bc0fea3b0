//! Tests that a command killed at any step completes its work at the next run.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use ktx_config::Environment;
use ktx_project_store::{Change, Failpoints, Force, PublishRequest, Store, init};

use crate::world::{TestRepository, at, environment, noon};

/// Every step of the scenario, in order.
const STEPS: [&str; 9] = [
    "init:begin",
    "init:files",
    "init:git",
    "init:commit",
    "publish:before-import",
    "publish:after-import",
    "publish:after-index",
    "publish:between-files",
    "publish:after-files",
];

fn scenario(folder: &Path, failpoints: &Failpoints) {
    let environment = environment(folder);
    let root = folder.join("shop");
    let unfinished = root.join(".ktx/state/init.json").exists();
    if unfinished || !root.join("ktx.yaml").exists() {
        init(&root, Force::No, noon(), &environment, failpoints).expect("a project");
    }
    let store = Store::open(&root, environment, failpoints.clone()).expect("a project");
    let _lock = store
        .lock(
            "ktx scan",
            jiff::Timestamp::UNIX_EPOCH,
            ktx_project_store::Wait::No,
        )
        .expect("the lock");
    for round in ["1\n", "2\n"] {
        let publisher = store.publisher().expect("git");
        let base = publisher.begin().expect("a branch");
        let changes = [
            Change::write(at("wiki/global/a.md"), round),
            Change::write(at("wiki/global/b.md"), round),
            if round == "1\n" {
                Change::write(at("wiki/global/c.md"), round)
            } else {
                Change::delete(at("wiki/global/c.md"))
            },
        ];
        let request = PublishRequest {
            changes: &changes,
            message: "ktx: a run",
            at: noon(),
        };
        publisher.publish(&base, &request).expect("a commit");
    }
}

#[track_caller]
fn check(world: &TestRepository, step: &str) {
    assert_eq!(world.untidy("shop"), "", "{step}");
    let found = ["a", "b", "c"].map(|name| world.read(&format!("shop/wiki/global/{name}.md")));
    assert_eq!(
        found,
        [Some("2\n".to_owned()), Some("2\n".to_owned()), None],
        "{step}"
    );
    let left = std::fs::read_dir(world.path("shop/.ktx/state/tmp"))
        .expect("a folder")
        .count();
    assert_eq!(left, 0, "{step}");
}

/// The test below starts this as a child with the step to kill at.
#[test]
fn the_scenario_runs_to_its_end() {
    let given = Environment::from_process();
    if let Some(folder) = given.get("KTX_STORE_TEST_FOLDER") {
        scenario(
            Path::new(folder),
            &Failpoints::kill_at(given.test_kill_at()),
        );
        return;
    }
    let world = TestRepository::new();
    scenario(&world.path(""), &Failpoints::none());
    check(&world, "no kill");
}

#[test]
fn after_a_kill_at_any_step_the_next_run_ends_the_work() {
    for step in STEPS {
        let world = TestRepository::new();
        let status = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "kill::the_scenario_runs_to_its_end"])
            .env("KTX_STORE_TEST_FOLDER", world.path(""))
            .env("KTX_TEST_KILL_AT", step)
            .output()
            .expect("it runs")
            .status;
        assert_eq!(status.signal(), Some(9), "{step}");
        // A killed write leaves this file.
        world.write("shop/.ktx/state/tmp/.ktx-tmp-999999999-x", "half");
        scenario(&world.path(""), &Failpoints::none());
        check(&world, step);
    }
}
