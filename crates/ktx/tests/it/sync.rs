//! `ktx sync`: single and repeated rounds.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::claude_cut_off::signal;
use crate::support::{SHOP, database, json as json_of, run, unscanned, write};

fn steady() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d\d:\d\d, exit code", "[TIME], exit code");
    settings.add_filter(r"\(process \d+\)", "(process [PID])");
    settings.bind_to_scope()
}

/// Without a model; a second round has nothing to do.
#[test]
fn a_sync_does_what_has_changed_and_status_knows_it() {
    let sandbox = unscanned(SHOP);
    let _bound = steady();
    check!(&sandbox, "sync", @r"
    exit 0
    Source	Database schema	Descriptions
    warehouse	done	skipped
    warehouse: commit [COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 3 tables, 11 columns
    warehouse · profile (3)
    warehouse · relationships
    warehouse · 2 joins, 0 to review
    warehouse · artifacts
    tables were not described, which needs a model (`llm.provider.backend` is `none`)
    ");
    check!(&sandbox, "sync", @r"
    exit 0
    Source	Database schema	Descriptions
    warehouse	done	skipped
    warehouse: nothing changed
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 3 tables, 11 columns
    tables were not described, which needs a model (`llm.provider.backend` is `none`)
    ");
    let status = run(&sandbox, "status --fast").stdout;
    let line = status.lines().find(|line| line.starts_with("Sync"));
    insta::assert_snapshot!(line.unwrap_or_default(), @r"Sync         last [TIME], exit code 0 · no process repeats it (`ktx sync --every 6h`)");
    let status = json_of(&sandbox, "status --fast --json");
    assert_eq!(status["sync"]["last"]["exit"], 0);
    assert_eq!(status["sync"]["next"], json!(null));
    let round = json_of(&sandbox, "sync --json");
    assert_eq!(round["results"][0]["connectionId"], "warehouse");
    let runs = json_of(&sandbox, "runs --json");
    assert_eq!(runs["data"]["items"].as_array().map(Vec::len), Some(3));
}

#[test]
fn an_interval_of_a_sync_has_a_unit_and_some_length() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "sync --every 0s", @r"
    exit 2
    --- stderr
    error: invalid value '0s' for '--every <DURATION>': give at least `1s`

    For more information, try '--help'.
    ");
    check!(&sandbox, "sync --every daily", @r"
    exit 2
    --- stderr
    error: invalid value 'daily' for '--every <DURATION>': give a number with its unit, such as `30s`, `10m` or `1h`

    For more information, try '--help'.
    ");
}

fn read_to(
    words: &str,
    stderr: &mut BufReader<std::process::ChildStderr>,
    sandbox: &Sandbox,
) -> String {
    let mut said = String::new();
    while !said.contains(words) {
        let length = stderr.read_line(&mut said).expect("a line");
        assert!(length > 0, "{}: {said}", sandbox.work().display());
    }
    said
}

/// Only one process repeats; Ctrl-C ends it.
#[test]
fn rounds_repeat_and_survive_a_failure() {
    let sandbox = unscanned(SHOP);
    let _bound = steady();
    std::fs::remove_file(sandbox.work().join("warehouse.db")).expect("a warehouse");
    let mut child = sandbox
        .command(["sync", "--every", "1s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut stderr = BufReader::new(child.stderr.take().expect("its stderr"));
    let said = read_to("the next one begins", &mut stderr, &sandbox);
    assert!(said.contains("sync ended with exit code 4"), "{said}");
    check!(&sandbox, "sync --every 1h", @r"
    exit 1
    --- stderr
    error: `ktx sync --every` runs already
      caused by: the project is in use by `ktx sync --every` (process [PID])

    hint: end the other one with Ctrl-C, or run `ktx sync` for one round
    ");
    let status = json_of(&sandbox, "status --fast --json");
    assert_eq!(status["sync"]["last"]["exit"], 4);
    database(&sandbox, "warehouse.db", SHOP);
    read_to("sync ended with exit code 0", &mut stderr, &sandbox);
    // Invalid settings do not end it either.
    let config = sandbox.read("ktx.yaml").expect("settings");
    write(&sandbox, "ktx.yaml", "connections: [\n");
    read_to("sync ended with exit code 3", &mut stderr, &sandbox);
    write(&sandbox, "ktx.yaml", &config);
    read_to("sync ended with exit code 0", &mut stderr, &sandbox);
    signal(&child, "-INT");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert!(
        sandbox
            .work()
            .join("semantic-layer/warehouse/_schema")
            .is_dir()
    );
}
