//! Tests of parsing git's messages.

use super::lock_in_the_way;

#[test]
fn a_lock_in_the_way_is_known_by_its_file() {
    let lock = |message: &str| {
        let file = lock_in_the_way(message)?;
        Some(file.to_string_lossy().into_owned())
    };
    let table = [
        (
            "fatal: Unable to create '/p/.git/index.lock': File exists.; Another git process",
            Some("/p/.git/index.lock"),
        ),
        (
            "error: cannot lock ref 'refs/heads/it's': Unable to create '/it's/.git/refs/heads/it's.lock': File exists.",
            Some("/it's/.git/refs/heads/it's.lock"),
        ),
        (
            "error: cannot lock ref 'HEAD': Unable to create '/p/.git/HEAD.lock': File exists.",
            Some("/p/.git/HEAD.lock"),
        ),
        (
            "fatal: Unable to create '/p/.git/packed-refs.lock': File exists.",
            Some("/p/.git/packed-refs.lock"),
        ),
        (
            "fatal: Unable to create '/p/.git/index.lock': Read-only file system",
            None,
        ),
        (
            "error: cannot lock ref 'refs/heads/main': is at 1 but expected 2",
            None,
        ),
    ];
    for (message, wanted) in table {
        assert_eq!(lock(message).as_deref(), wanted, "{message}");
    }
}
