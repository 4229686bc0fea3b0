//! The two streams that every task prints to.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the one owner of xtask's streams"
)]

/// Prints one line of result to standard output.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Prints one line of progress or trouble to standard error.
pub(crate) fn problem(text: &str) {
    eprintln!("{text}");
}
