//! The `ktx` program: hands arguments and environment to the library and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ktx::main(std::env::args_os().collect())
}
