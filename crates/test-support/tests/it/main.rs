//! Tests of the fakes as programs. Cargo builds both with the features of all other tests.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdin, Stdio};

use ktx_test_support::fake_claude::{FAULT, SCENARIO_VARIABLE};
use ktx_test_support::sandbox::Sandbox;

const FAKE_CLAUDE: &str = env!("CARGO_BIN_EXE_fake-claude");
const PROVIDER_FAKE: &str = env!("CARGO_BIN_EXE_provider-fake");

#[test]
fn the_fake_claude_needs_a_scenario() {
    let mut sandbox = Sandbox::new(FAKE_CLAUDE).unwrap();
    let missing = sandbox.run("--version").unwrap();
    assert_eq!(
        missing.to_string(),
        format!(
            "exit: {FAULT}\n--- stdout\n--- stderr\n\
             fake claude: the variable `{SCENARIO_VARIABLE}` is missing\n"
        )
    );
    let scenario = sandbox
        .write("scenario.json", r#"{ "version": "2.1.200" }"#)
        .unwrap();
    sandbox.set(SCENARIO_VARIABLE, scenario.to_string_lossy());
    assert_eq!(
        sandbox.run("--version").unwrap().to_string(),
        "exit: 0\n--- stdout\n2.1.200 (Claude Code)\n--- stderr\n"
    );
}

#[test]
fn the_provider_fake_prints_its_variables_and_ends_with_its_input() {
    let sandbox = Sandbox::new(PROVIDER_FAKE).unwrap();
    let mut child = sandbox
        .command([sandbox.work()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input: Option<ChildStdin> = child.stdin.take();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let variables: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&line).unwrap();
    assert_eq!(
        variables.keys().collect::<Vec<_>>(),
        ["HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]
    );
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(sandbox.work().join("home/.claude.json").is_file());
    assert!(sandbox.work().join("authority.pem").is_file());
}
