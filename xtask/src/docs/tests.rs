//! Page checks with bad and good pages.

use super::*;

#[track_caller]
fn check_pages(extra: &[(&str, &str)], expected: &[&str]) {
    let mut files: Vec<TextFile> = Vec::new();
    let root = ROOT_PAGES.map(|path| (path, "# Page\n"));
    let summary = [("docs-site/src/SUMMARY.md", "# Summary\n")];
    for (path, text) in extra.iter().chain(&root).chain(&summary) {
        if !files.iter().any(|file| file.path == *path) {
            files.push(TextFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            });
        }
    }
    assert_eq!(check(&files, &|path| path == "LICENSE"), expected);
}

#[test]
fn links_to_pages_files_and_fragments_resolve() {
    let text = "[a](STYLE.md) [b](./LICENSE \"title\") [c](#one-two) [d]\n\n# One `two`\n\n\
                [d]: ARCHITECTURE.md#page\n";
    check_pages(&[("README.md", text)], &[]);
}

#[test]
fn dead_links_and_fragments_are_found() {
    check_pages(
        &[(
            "README.md",
            "[a](NONE.md)\n[b](STYLE.md#none)\n[c](/STYLE.md)\n[d]()\n[e](../x.md)\n",
        )],
        &[
            "README.md:1: link: `NONE.md` does not exist; correct the path",
            "README.md:2: link: `STYLE.md#none`: no heading has that fragment; correct it",
            "README.md:3: link: `/STYLE.md` is absolute; make it relative to the page",
            "README.md:4: link: it leads nowhere; give it a target",
            "README.md:5: link: `../x.md` leaves the repository; link to its address on the web",
        ],
    );
}

#[test]
fn repeated_and_explicit_headings_have_their_own_fragments() {
    let text = "[a](#run) [b](#run-1) [c](#here) [d](#run-2)\n# Run!\n# Run\n# Other {#here}\n";
    check_pages(
        &[("README.md", text)],
        &["README.md:1: link: `#run-2`: no heading has that fragment; correct it"],
    );
}

#[test]
fn links_in_code_are_no_links() {
    check_pages(
        &[(
            "README.md",
            "`[a](b)`\n```text\n[a](b)\n# No heading\n```\n",
        )],
        &[],
    );
}

#[test]
fn a_fence_has_a_language_and_an_end() {
    check_pages(
        &[("README.md", "```\na\n```\n````md\n```\n````\n~~~sh\n```\n")],
        &[
            "README.md:1: code fence: it has no language; name it, `text` at least",
            "README.md:7: code fence: it is never closed; close it",
        ],
    );
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = "- [A](a.md)\n- [A](./a.md)\n- [B](b/b.md)\n";
    let pages = ["a.md", "c.md", "b/b.md"].map(|name| format!("docs-site/src/{name}"));
    let [a, c, b] = pages.each_ref().map(|path| (path.as_str(), "# Page\n"));
    check_pages(
        &[("docs-site/src/SUMMARY.md", summary), a, c, b],
        &[
            "docs-site/src/SUMMARY.md:2: summary: `./a.md` is listed twice; keep one",
            "docs-site/src/c.md: summary: no reader finds this page; \
             add `c.md` to `docs-site/src/SUMMARY.md`",
        ],
    );
}

#[test]
fn the_book_links_only_inside_itself() {
    check_pages(
        &[
            ("docs-site/src/SUMMARY.md", "[A](a.md)\n"),
            (
                "docs-site/src/a.md",
                "[a](../../README.md) [b](https://example.com/#x)\n",
            ),
        ],
        &[
            "docs-site/src/a.md:1: link: `../../README.md` leaves the book; \
           link to its address on the web",
        ],
    );
}

#[test]
fn registry_hosts_and_missing_pages_are_found() {
    let problems = check(&[], &|_| false);
    assert_eq!(
        problems.first().map(String::as_str),
        Some("README.md: missing page: every clone has it; write it")
    );
    assert_eq!(problems.len(), ROOT_PAGES.len() + 1);
    let host = ["pypi", "org"].join(".");
    check_pages(
        &[("README.md", &format!("from {host}\n"))],
        &[&format!(
            "README.md:1: registry host: the page names `{host}`; name the package instead"
        )],
    );
}

#[test]
fn every_pattern_compiles() {
    assert!(markdown::patterns_compile());
}
