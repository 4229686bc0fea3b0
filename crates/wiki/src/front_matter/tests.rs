//! Tests of valid and invalid front matter.

use super::{UsageMode, read};

fn check_problems(text: &str, expected: &[&str]) {
    let (_, found) = read(text, "wiki/global/x.md");
    let shown: Vec<String> = found
        .iter()
        .map(|one| format!("{} {one}", one.code.as_str()))
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn reads_the_typed_view_and_keeps_the_rest() {
    let text = "---\r\nsummary: Net revenue\r\ntags: [finance, 2024]\r\nrefs: policy\r\nsl_refs:\r\n- orders.revenue\r\n\
                usage_mode: always\r\nsort_order: 3\r\nstale_since: 2024-01-01\r\nowner: no\r\nusage:\r\n  executions: 12\r\n---\r\n\r\nBody\r\n";
    let (front, found) = read(text, "wiki/global/x.md");
    assert_eq!(found, Vec::new());
    assert_eq!(front.summary.as_deref(), Some("Net revenue"));
    assert_eq!(front.tags, ["finance", "2024"]);
    assert_eq!(front.refs, ["policy"]);
    assert_eq!(front.sl_refs, ["orders.revenue"]);
    assert_eq!(front.usage_mode, Some(UsageMode::Always));
    assert_eq!(front.sort_order, Some(3));
    assert_eq!(front.stale_since.as_deref(), Some("2024-01-01"));
    assert_eq!(
        serde_json::Value::Object(front.other).to_string(),
        r#"{"owner":"no","usage":{"executions":12}}"#
    );
}

#[test]
fn reports_each_problem_with_its_place() {
    check_problems(
        "Just text",
        &["front_matter_missing wiki/global/x.md:1:1: the page has no front matter"],
    );
    check_problems(
        "---\nsummary: x\n",
        &["front_matter_open wiki/global/x.md:1:1: the front matter has no end"],
    );
    check_problems(
        "---\nsummary: a\ntags: {a: 1}\nusage_mode: often\nsort_order: many\n---\n",
        &[
            "front_matter_type wiki/global/x.md:3:1: `tags` must be a list of texts",
            "front_matter_type wiki/global/x.md:4:1: `usage_mode` must be `always`, `auto` or `never`",
            "front_matter_type wiki/global/x.md:5:1: `sort_order` must be a whole number",
        ],
    );
    check_problems(
        "---\ntags: []\n---\n",
        &["summary_missing wiki/global/x.md:2:1: the page has no `summary`"],
    );
    check_problems(
        "---\n- a\n---\n",
        &[
            "front_matter_syntax wiki/global/x.md:2:1: the front matter cannot be read as YAML: expected `name: value` lines",
        ],
    );
}

#[test]
fn refuses_duplicate_keys_and_broken_yaml() {
    let (_, found) = read("---\nsummary: a\nsummary: b\n---\n", "p.md");
    let codes: Vec<&str> = found.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["duplicate_key"]);
    let (_, found) = read("---\nsummary: [a\nb: c\n---\n", "p.md");
    let codes: Vec<&str> = found.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["front_matter_syntax"]);
    let mut bomb = "---\na: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (before, name) in ('a'..='l').zip('b'..='m') {
        let items = vec![format!("*{before}"); 9].join(",");
        bomb = format!("{bomb}{name}: &{name} [{items}]\n");
    }
    bomb.push_str("---\n");
    let (_, found) = read(&bomb, "p.md");
    let codes: Vec<&str> = found.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["front_matter_syntax"]);
}
