//! Tests that long files are read in parts and that other files are not readable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_context_sources::Snapshot;
use ktx_tool_descriptors::{CallContext, ToolError};
use serde_json::{Value, json};

use super::{LONGEST_ANSWER, part, read_raw_file};

#[test]
fn a_long_file_is_read_in_parts_without_a_gap() {
    let line = "x".repeat(99);
    let text = format!("{line}\n").repeat(1_000);
    let mut all = String::new();
    let mut next = Some(1);
    let mut parts = 0;
    while let Some(first) = next {
        let (read, after) = part(&text, first);
        assert!(read.len() <= LONGEST_ANSWER);
        all.push_str(&read);
        next = after;
        parts += 1;
    }
    assert_eq!((all == text, parts), (true, 3));
    let (cut, next) = part(&"y".repeat(LONGEST_ANSWER * 2), 1);
    assert!(cut.ends_with("y [the line continues]\n") && next.is_none());
    assert_eq!(part("a\n", 5), (String::new(), None));
}

#[tokio::test]
async fn only_the_files_of_the_task_are_read() {
    let files = BTreeMap::from([
        (
            "models/a.yml".to_owned(),
            "a: 1\nb: 2\nurl: postgres://u:hunter2@h/d\n".to_owned(),
        ),
        ("models/b.yml".to_owned(), "secret".to_owned()),
    ]);
    let snapshot = Arc::new(Snapshot {
        files,
        ..Snapshot::default()
    });
    let tool = read_raw_file(&snapshot, BTreeSet::from(["models/a.yml".to_owned()]));
    let read = |input: Value| tool.handler.call(input, CallContext::detached("1"));
    let whole = read(json!({ "path": "models/a.yml" })).await.unwrap();
    let shown = "a: 1\nb: 2\nurl: postgres://u:***@h/d\n";
    assert_eq!(whole.markdown, shown);
    let second = read(json!({ "path": "models/a.yml", "startLine": 3 })).await;
    assert_eq!(second.unwrap().markdown, "url: postgres://u:***@h/d\n");
    for path in ["models/b.yml", "/etc/passwd", "../models/a.yml"] {
        let error: ToolError = read(json!({ "path": path })).await.unwrap_err();
        assert!(error.to_string().contains("none of the files"), "{error}");
    }
}
