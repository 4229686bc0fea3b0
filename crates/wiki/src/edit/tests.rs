//! Tests of edits, compared byte for byte.

use super::{EditError, FieldValue, remove_field, render_page, replace_body, set_field};

fn text(value: &str) -> FieldValue {
    FieldValue::Text(value.to_owned())
}

fn list(items: &[&str]) -> FieldValue {
    FieldValue::List(items.iter().map(|item| (*item).to_owned()).collect())
}

fn check_set(before: &str, name: &str, value: &FieldValue, expected: &str) {
    assert_eq!(set_field(before, name, value).unwrap(), expected);
}

#[test]
fn changes_one_field_and_no_other_byte() {
    check_set(
        "\u{feff}---\r\n# head\r\nsummary: old   # keep me\r\n\r\n# about tags\r\ntags: [a]\r\nx: {y: 1}\r\n---\r\nBody [[a]]\r\n",
        "summary",
        &text("new: one"),
        "\u{feff}---\r\n# head\r\nsummary: \"new: one\"   # keep me\r\n\r\n# about tags\r\ntags: [a]\r\nx: {y: 1}\r\n---\r\nBody [[a]]\r\n",
    );
    check_set(
        "---\nsummary: a\ntags: [a, b]  # flow\n---\n",
        "tags",
        &list(&["x", "a, b", "no"]),
        "---\nsummary: a\ntags: [x, \"a, b\", \"no\"]  # flow\n---\n",
    );
    check_set(
        "---\ntags:\n- a\n- b\n\n# tail\nsummary: s\n---\n",
        "tags",
        &list(&["c"]),
        "---\ntags:\n- c\n\n# tail\nsummary: s\n---\n",
    );
    check_set(
        "---\nsummary: >\n  folded\n  text\nz: 1\n---\nbody",
        "summary",
        &text("2024-01-01"),
        "---\nsummary: \"2024-01-01\"\nz: 1\n---\nbody",
    );
    check_set(
        "---\n\"summary\": a\n---\n",
        "summary",
        &text("b"),
        "---\n\"summary\": b\n---\n",
    );
}

#[test]
fn adds_fields_and_front_matter() {
    check_set(
        "---\nsummary: a\n---\nx",
        "tags",
        &list(&["t"]),
        "---\nsummary: a\ntags:\n  - t\n---\nx",
    );
    check_set(
        "# Title\n",
        "summary",
        &text("a"),
        "---\nsummary: a\n---\n\n# Title\n",
    );
    check_set(
        "---\nsummary: a\n---\n",
        "representative_sql",
        &text("select 1\n\nfrom t\n"),
        "---\nsummary: a\nrepresentative_sql: |\n  select 1\n\n  from t\n---\n",
    );
}

#[test]
fn removes_fields_and_replaces_bodies() {
    let before = "---\nsummary: a\ntags:\n  - x\n# kept\nz: 1\n---\nold";
    assert_eq!(
        remove_field(before, "tags").unwrap(),
        "---\nsummary: a\n# kept\nz: 1\n---\nold"
    );
    assert_eq!(remove_field(before, "none").unwrap(), before);
    assert_eq!(
        replace_body(before, "new\n").unwrap(),
        "---\nsummary: a\ntags:\n  - x\n# kept\nz: 1\n---\n\nnew\n"
    );
}

#[test]
fn refuses_what_it_could_not_check() {
    let refused = |before: &str| set_field(before, "a", &text("x"));
    assert_eq!(refused("---\na: 1\n"), Err(EditError::Unterminated));
    assert_eq!(
        refused("---\na: 1\na: 2\n---\n"),
        Err(EditError::NotInPlace {
            field: "a".to_owned()
        })
    );
    assert_eq!(
        refused("---\na: &x 1\nb: *x\n---\n"),
        Err(EditError::NotInPlace {
            field: "a".to_owned()
        })
    );
}

#[test]
fn refuses_an_edit_that_changes_another_field() {
    let before = "---\na: &x 1\nb: &x 2\nc: *x\n---\n";
    let refused = Err(EditError::NotInPlace {
        field: "b".to_owned(),
    });
    assert_eq!(set_field(before, "b", &text("y")), refused);
    assert_eq!(remove_field(before, "b"), refused);
}

#[test]
fn every_written_text_reads_back() {
    let samples = [
        "plain",
        "",
        " lead",
        "trail ",
        "a: b",
        "a #b",
        "no",
        "1_000",
        "12:30",
        "~",
        "- x",
        "é: ü",
        "line\nline",
        "line\n",
        "tab\there",
        "\"q\" \\",
        "\u{2028}",
        "a\r\nb",
        "\n\nx",
        "@x",
        "x:",
        "  indented\nblock",
        "trailing \nline",
    ];
    for sample in samples {
        let page = render_page(
            &[("summary", text(sample)), ("tags", list(&[sample]))],
            "body",
        );
        let edited = set_field(&page, "summary", &text("other")).unwrap();
        let back = set_field(&edited, "summary", &text(sample)).unwrap();
        assert_eq!(back, page, "sample {sample:?}");
    }
}
