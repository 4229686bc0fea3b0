//! Tests of whole pages.

use super::{Page, parse, visible_to};
use crate::edit::{FieldValue, set_field};
use crate::path::{PagePath, UserId};

fn page(path: &str, text: &str) -> Page {
    parse(PagePath::parse(path).unwrap(), text).page
}

fn check_body(text: &str, expected: &str) {
    assert_eq!(page("wiki/global/x.md", text).body(), expected);
}

#[test]
fn returns_the_body_after_the_front_matter() {
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

#[test]
fn no_text_breaks_the_reader_or_is_changed_beyond_an_edit() {
    let seeds = [
        "---\r\nsummary: a # b\r\ntags: [x, 'y']\r\n---\r\n\r\n# T\r\n[[a|b]] `c/source:d` ```\r\n",
        "\u{feff}---\nsummary: |\n  two\n  lines\n# c\nusage: {a: &x 1, b: *x}\n---\nünï [[é]] ``a`b``\n~~~\n[[x]]\n~~~\n",
    ];
    let spice = [
        "---\n", "`", "[[", "]]", ": ", "\"", "\n", "\r", "- ", "&a ", "*a", "\u{0}", "|", "```\n",
        "é",
    ];
    let mut state = 11_usize;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below.max(1)
    };
    for round in 0..400 {
        let mut letters: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..=next(4) {
            let at = next(letters.len());
            if next(2) == 0 {
                letters.drain(at..(at + next(5)).min(letters.len()));
            } else {
                letters.splice(at..at, spice[next(spice.len())].chars());
            }
        }
        let text: String = letters.into_iter().collect();
        let before = page("wiki/global/x.md", &text);
        assert!(text.ends_with(before.body()));
        for link in before.links() {
            assert!(before.body()[link.span].starts_with("[["));
        }
        for reference in before.code_references() {
            assert!(before.body().get(reference.span).is_some());
        }
        // Either the edit is refused, or it reads back and all other fields stay.
        if let Ok(edited) = set_field(&text, "summary", &FieldValue::Text("new: text".to_owned())) {
            let after = page("wiki/global/x.md", &edited);
            assert_eq!(after.summary(), "new: text", "{text:?}");
            assert_eq!(
                after.front_matter.tags, before.front_matter.tags,
                "{text:?}"
            );
            assert_eq!(after.body(), before.body(), "{text:?}");
        }
    }
}

#[test]
fn sections_know_the_headings_above_them() {
    let body = "# Refunds\n\nBefore.\n\n## Cards\n\nThree days.\n\n```sh\n# no heading\n```\n### Abroad ##\n\n#no heading\n## Vouchers\n";
    let page = parse(PagePath::parse("wiki/global/refunds.md").unwrap(), body).page;
    let sections = page.sections();
    let shown: Vec<String> = sections
        .iter()
        .map(|section| format!("{}: {}", section.headings.join(" > "), section.text))
        .collect();
    assert_eq!(
        shown,
        [
            ": Before.",
            "Cards: Three days.\n\n```sh\n# no heading\n```",
            "Cards > Abroad: #no heading",
            "Vouchers: ",
        ]
    );
    let plain = parse(
        PagePath::parse("wiki/global/plain.md").unwrap(),
        "Only text.\n",
    )
    .page;
    assert_eq!(plain.sections().len(), 1);
}
