//! The two output streams of every task.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the one owner of xtask's streams"
)]

pub(crate) fn line(text: &str) {
    println!("{text}");
}

pub(crate) fn problem(text: &str) {
    eprintln!("{text}");
}
