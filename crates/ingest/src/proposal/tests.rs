//! Tests the messages, the names and the differences of proposals.

use std::collections::BTreeMap;

use ktx_project_store::{Change, ProjectPath};
use ktx_vocabulary::ConnectionId;

use super::{ProposalMessage, difference, proposal_id, proposal_name, reasons};
use crate::policy::WhyHeld;

fn path(text: &str) -> ProjectPath {
    ProjectPath::parse(text).unwrap()
}

fn source() -> ConnectionId {
    ConnectionId::parse("shop-dbt").unwrap()
}

#[test]
fn a_proposal_is_read_back_from_its_message() {
    let page = path("wiki/global/a.md");
    let changes = [
        Change::write(page.clone(), "three"),
        Change::delete(path("wiki/global/b.md")),
    ];
    let message = ProposalMessage {
        source: source(),
        work: "dbt-all".to_owned(),
        held: reasons(&changes, &BTreeMap::from([(page, WhyHeld::Foreign)])),
        evidence: vec!["models/schema.yml:3: description: It: is so.".to_owned()],
    };
    let text = message.render();
    assert_eq!(
        text,
        "ktx review: shop-dbt dbt-all\n\nSource: shop-dbt\nWork: dbt-all\n\
         Held: wiki/global/a.md: a person or another source wrote it\n\
         Held: wiki/global/b.md: it needs one of the other changes\n\
         Evidence: models/schema.yml:3: description: It: is so.\n"
    );
    let read = ProposalMessage::parse(&text).unwrap();
    assert_eq!((read.held, read.work), (message.held, message.work));
}

#[test]
fn a_difference_is_a_patch() {
    let shown = |path: &str, old: Option<&str>, new: Option<&str>| {
        difference(path, old.map(str::as_bytes), new.map(str::as_bytes))
    };
    insta::assert_snapshot!(shown("wiki/a.md", Some("one\ntwo\n"), Some("one\nthree\n")), @r"
    diff --git a/wiki/a.md b/wiki/a.md
    --- a/wiki/a.md
    +++ b/wiki/a.md
    @@ -1,2 +1,2 @@
     one
    -two
    +three
    ");
    insta::assert_snapshot!(shown("my b.md", None, Some("name: x\n")), @r#"
    diff --git "a/my b.md" "b/my b.md"
    new file mode 100644
    --- /dev/null
    +++ "b/my b.md"
    @@ -0,0 +1 @@
    +name: x
    "#);
}

#[test]
fn names_of_proposals_are_names_of_branches_and_differ() {
    let named = |work: &str| proposal_name(&source(), work);
    assert_eq!(named("dbt-models-orders"), "shop-dbt/dbt-models-orders.");
    for key in [
        "a/b",
        "../x",
        "",
        ".hidden",
        "x y",
        "a.lock",
        "-x",
        &"long".repeat(40),
    ] {
        let name = named(key);
        let inner = name
            .strip_prefix("shop-dbt/")
            .unwrap()
            .strip_suffix('.')
            .unwrap();
        assert!(
            !inner.starts_with(['.', '-']) && !inner.contains(['/', ' ', '.']),
            "{name}"
        );
        assert!(name.len() < 100, "{name}");
    }
    assert_ne!(named("a/b"), named("a-b"));
    assert_ne!(named("a/b"), named("a b"));
    let id = |before: &str, text: &str| {
        let files = BTreeMap::from([(path("wiki/a.md"), before.as_bytes().to_vec())]);
        let changes = [Change::write(path("wiki/a.md"), text)];
        proposal_id(&source(), "a", &changes, &files)
    };
    assert_eq!(id("zero", "one"), id("zero", "one"));
    assert_ne!(id("zero", "one"), id("zero", "two"));
    // The same result over other files is another decision.
    assert_ne!(id("zero", "one"), id("other", "one"));
    assert_eq!(id("zero", "one").len(), 8);
}
