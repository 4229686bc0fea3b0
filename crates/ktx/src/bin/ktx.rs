//! The `ktx` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ktx::main(std::env::args_os().collect())
}
