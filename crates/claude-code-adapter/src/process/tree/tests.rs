//! Tests that a process is found by its token at any moment of its life.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};

use super::kill_by_token;

/// `KTX-26`: a process has no environment for a moment while its program is loaded.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the processes of this test")]
fn a_process_that_is_just_starting_is_found() {
    for _ in 0..50 {
        let token = uuid::Uuid::new_v4().to_string();
        let mut command = std::process::Command::new("sleep");
        command
            .arg("600")
            .env(crate::environment::CHILD_TOKEN, &token)
            .process_group(0);
        let mut child = command.spawn().expect("it starts");
        kill_by_token(&token);
        let ended = child.try_wait().expect("it is ours");
        if ended.is_none() {
            child.kill().expect("it is ours");
        }
        let signal = ended.and_then(|status| status.signal());
        assert_eq!(signal, Some(9));
    }
}
