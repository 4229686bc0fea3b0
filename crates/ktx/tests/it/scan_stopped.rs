//! A stopped scan of several connections reports finished work.

use std::net::TcpListener;
use std::process::Stdio;

use ktx_test_support::sandbox::RunOutput;
use serde_json::Value;

use crate::support::{CONFIG, SHOP, git, unscanned, write};

/// The second server is silent until Ctrl-C.
fn interrupted(line: &[&str]) -> (RunOutput, String) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let sandbox = unscanned(SHOP);
    let yard = format!(
        "{CONFIG}  yard:\n    driver: postgres\n    url: postgres://ada@127.0.0.1:{port}/yard\n    sslmode: disable\n"
    );
    write(&sandbox, "ktx.yaml", &yard);
    let child = sandbox
        .command(line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let held = silent.accept().expect("a connection");
    let signalled = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signalled.expect("kill starts").success());
    let output = child.wait_with_output().expect("an end");
    drop(held);
    let printed = RunOutput {
        code: output.status.code(),
        stdout: sandbox.filter(&output.stdout),
        stderr: sandbox.filter(&output.stderr),
    };
    (printed, git(&sandbox, &["log", "-1", "--format=%s"]))
}

#[test]
fn what_was_done_before_an_interrupt_is_told() {
    let (printed, last) = interrupted(&["scan"]);
    assert_eq!(last, "ktx scan: warehouse\n");
    assert_eq!(printed.code, Some(130), "{printed}");
    assert_eq!(
        printed.stdout,
        "warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables\n  joins: 2 accepted, 0 to review\n  commit: [COMMIT]\nyard: failed\n"
    );
    assert!(printed.stderr.ends_with("error: cancelled\n"), "{printed}");
}

#[test]
fn what_was_done_before_an_interrupt_is_told_as_json() {
    let (printed, _) = interrupted(&["scan", "--json"]);
    assert_eq!(printed.code, Some(130), "{printed}");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("one JSON value");
    let items = &answer["data"]["items"];
    assert_eq!(items[0]["status"], "done");
    assert_eq!(items[0]["commit"], "[COMMIT]");
    assert_eq!(items[1]["status"], "failed");
    assert_eq!(items[1]["error"]["code"], "cancelled");
}
