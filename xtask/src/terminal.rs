//! The two output streams of every task.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the one owner of xtask's streams"
)]

/// Prints one line of result to standard output.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Prints one line of progress or an error to standard error.
pub(crate) fn problem(text: &str) {
    eprintln!("{text}");
}
