//! The program as its users see it: commands in, exit code, stdout and stderr out.
#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

mod generated;

use ktx_test_support::sandbox::Sandbox;

/// A sandbox around the built program.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_ktx")).expect("a sandbox")
}

/// Runs a command line and gives everything it printed.
fn run(sandbox: &Sandbox, words: &str) -> String {
    sandbox.run(words).expect("the program runs").to_string()
}
