//! Tests rendering and parsing of proposals.

use std::collections::BTreeMap;

use ktx_project_store::{Change, ProjectPath};
use ktx_vocabulary::ConnectionId;

use super::{Proposal, proposal_file, proposal_name, render_proposal};

fn path(text: &str) -> ProjectPath {
    ProjectPath::parse(text).unwrap()
}

#[test]
fn a_proposal_is_read_back_from_its_text() {
    let files = BTreeMap::from([
        (path("wiki/global/a.md"), b"one\ntwo\n".to_vec()),
        (path("wiki/global/b.md"), b"gone".to_vec()),
    ]);
    let changes = [
        Change::write(path("wiki/global/a.md"), "one\nthree\n"),
        Change::delete(path("wiki/global/b.md")),
        Change::write(path("semantic-layer/w/my orders.yaml"), "name: x"),
    ];
    let source = ConnectionId::parse("shop-dbt").unwrap();
    let text = render_proposal(&source, "dbt-all", &changes, &files, "analytics/");
    let (_, patch) = text.split_once("\n\ndiff ").unwrap();
    assert_eq!(
        format!("diff {patch}"),
        r#"diff --git a/analytics/wiki/global/a.md b/analytics/wiki/global/a.md
--- a/analytics/wiki/global/a.md
+++ b/analytics/wiki/global/a.md
@@ -1,2 +1,2 @@
 one
-two
+three
diff --git a/analytics/wiki/global/b.md b/analytics/wiki/global/b.md
deleted file mode 100644
--- a/analytics/wiki/global/b.md
+++ /dev/null
@@ -1 +0,0 @@
-gone
\ No newline at end of file
diff --git "a/analytics/semantic-layer/w/my orders.yaml" "b/analytics/semantic-layer/w/my orders.yaml"
new file mode 100644
--- /dev/null
+++ "b/analytics/semantic-layer/w/my orders.yaml"
@@ -0,0 +1 @@
+name: x
\ No newline at end of file
"#
    );
    let proposal = Proposal::parse(&text).unwrap();
    assert_eq!(
        (&proposal.source, proposal.work.as_str()),
        (&source, "dbt-all")
    );
    let paths: Vec<&str> = proposal.files.keys().map(ProjectPath::as_str).collect();
    assert_eq!(
        paths,
        [
            "semantic-layer/w/my orders.yaml",
            "wiki/global/a.md",
            "wiki/global/b.md"
        ]
    );
    let (a, b) = (path("wiki/global/a.md"), path("wiki/global/b.md"));
    assert!(proposal.is_taken(&a, Some(b"one\nthree\n")));
    assert!(!proposal.is_taken(&a, Some(b"one\ntwo\n")));
    assert!(!proposal.is_taken(&a, None));
    assert!(proposal.is_taken(&b, None));
    assert!(!proposal.is_taken(&b, Some(b"gone")));
}

#[test]
fn names_of_proposals_are_file_names_and_differ() {
    assert_eq!(proposal_name("dbt-models-orders"), "dbt-models-orders");
    for key in ["a/b", "../x", "", ".hidden", "x y", &"long".repeat(40)] {
        let file = proposal_file(key, "text");
        assert!(
            !file.starts_with('.') && !file.contains(['/', ' ']),
            "{file}"
        );
        assert!(file.len() < 120, "{file}");
    }
    assert_ne!(proposal_name("a/b"), proposal_name("a-b"));
    assert_ne!(proposal_name("a/b"), proposal_name("a b"));
}
