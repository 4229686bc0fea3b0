//! A fake of the `claude` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(ktx_test_support::fake_claude::main())
}
