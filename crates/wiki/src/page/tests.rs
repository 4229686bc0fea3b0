//! Pages as wholes.

use super::{Page, parse, visible_to};
use crate::path::{PagePath, UserId};

fn page(path: &str, text: &str) -> Page {
    parse(PagePath::parse(path).unwrap(), text).page
}

fn check_body(text: &str, expected: &str) {
    assert_eq!(page("wiki/global/x.md", text).body(), expected);
}

#[test]
fn gives_the_body_behind_the_front_matter() {
    check_body("---\nsummary: a\n---\n\n# T\n\ntext\n", "# T\n\ntext\n");
    check_body(
        "\u{feff}---\r\nsummary: a\r\n---\r\n\r\ntext\r\n",
        "text\r\n",
    );
    check_body("no front matter\n---\nx", "no front matter\n---\nx");
    check_body("---\nsummary: a\n---", "");
    check_body("---\nsummary: open", "---\nsummary: open");
}

#[test]
fn gives_the_title_summary_and_links() {
    let page = page(
        "wiki/global/revenue.md",
        "---\nsummary: Net\n---\nIntro\n## Net revenue\nSee [[policy]] and `orders.revenue`.\n",
    );
    assert_eq!(page.title(), Some("Net revenue"));
    assert_eq!(page.summary(), "Net");
    assert_eq!(page.links().len(), 1);
    assert_eq!(page.code_references().len(), 1);
}

#[test]
fn user_pages_shadow_global_ones() {
    let pages = [
        page("wiki/user/ann/b.md", "---\nsummary: ann\n---\n"),
        page("wiki/global/b.md", "---\nsummary: all\n---\n"),
        page("wiki/user/bob/c.md", "---\nsummary: bob\n---\n"),
        page("wiki/global/a.md", "---\nsummary: all\n---\n"),
    ];
    let seen = visible_to(pages, &UserId::parse("ann").unwrap());
    let shown: Vec<String> = seen
        .iter()
        .map(|page| format!("{} {}", page.path, page.summary()))
        .collect();
    assert_eq!(shown, ["wiki/global/a.md all", "wiki/user/ann/b.md ann"]);
}
