//! Tests of page paths.

use super::PagePath;

fn check(path: &str, expected: &str) {
    let shown = match PagePath::parse(path) {
        Ok(place) => format!("{} {} {place}", place.scope.as_str(), place.key),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(shown, expected);
}

#[test]
fn reads_the_scope_and_key_of_a_path() {
    check(
        "wiki/global/revenue.md",
        "GLOBAL revenue wiki/global/revenue.md",
    );
    check(
        "wiki/user/local/notes.md",
        "USER notes wiki/user/local/notes.md",
    );
    check(
        "wiki\\global\\revenue.md",
        "GLOBAL revenue wiki/global/revenue.md",
    );
}

#[test]
fn refuses_what_is_not_a_page() {
    let rule = "pages are `wiki/global/<key>.md` and `wiki/user/<id>/<key>.md`";
    check(
        "wiki/revenue.md",
        &format!("error: `wiki/revenue.md` is not a wiki page: {rule}"),
    );
    check(
        "wiki/global/a/b.md",
        &format!("error: `wiki/global/a/b.md` is not a wiki page: {rule}"),
    );
    check(
        "wiki/global/net revenue.md",
        "error: `wiki/global/net revenue.md` does not have the name of a wiki page",
    );
    for user in ["..", "a..b", "ada..", ".ada", "", "a b", "ä"] {
        check(
            &format!("wiki/user/{user}/x.md"),
            &format!("error: unsafe user id `{user}`: use letters, digits, `_`, `-`, `.` and `@`"),
        );
    }
    check(
        "wiki/user/ada.l_1-2@example.org/x.md",
        "USER x wiki/user/ada.l_1-2@example.org/x.md",
    );
}
