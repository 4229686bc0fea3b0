//! Tests who owns a file, decided from the messages of the commits that changed it.

use ktx_project_store::ProjectPath;
use ktx_vocabulary::ConnectionId;

use super::{is_own, mark};

const PAGE: &[u8] = b"---\nsummary: Revenue.\n---\n\nPaid orders.\n";

fn source(id: &str) -> ConnectionId {
    ConnectionId::parse(id).unwrap()
}

fn own(messages: &[&str]) -> bool {
    let path = ProjectPath::parse("wiki/global/revenue.md").unwrap();
    let messages: Vec<String> = messages.iter().map(|text| (*text).to_owned()).collect();
    is_own(&source("shop-dbt"), &path, PAGE, &messages)
}

#[test]
fn a_file_belongs_to_the_source_whose_mark_the_newest_commit_bears() {
    let path = ProjectPath::parse("wiki/global/revenue.md").unwrap();
    let marked = |id: &str, bytes: &[u8]| {
        format!(
            "ktx ingest: {id} dbt-all\n\n{}\nktx-unit: 00ff\n",
            mark(&source(id), &path, bytes)
        )
    };
    let (ours, theirs) = (marked("shop-dbt", PAGE), marked("crm-dbt", PAGE));
    let other_text = marked("shop-dbt", b"other");
    assert!(own(&[&ours]));
    assert!(
        own(&[&ours, "revenue: my page"]),
        "a page that was gone in between"
    );
    for messages in [
        &["revenue: signed off", &ours][..],
        &[&theirs],
        &[&theirs, &ours],
        // A person changed the text but kept the message, as `git commit --amend` does.
        &[&other_text],
        &[],
    ] {
        assert!(!own(messages), "{messages:?}");
    }
}

#[test]
fn a_file_of_older_commits_belongs_to_the_source_that_alone_wrote_it() {
    let unit = "ktx ingest: shop-dbt dbt-all\n\npages: revenue\nktx-unit: 00ff";
    let reconciled = "ktx ingest: shop-dbt reconciled\n\npages: revenue";
    assert!(own(&[unit]));
    assert!(own(&[reconciled, unit]));
    for messages in [
        &["my words", unit][..],
        &[unit, "my page"],
        &["ktx ingest: shop-dbt dbt-all"],
        &["ktx ingest: shop-dbt-2 dbt-all\n\nktx-unit: 00ff"],
        &["ktx ingest: shop-dbt is what this note is about\n\nktx-note: 00ff"],
    ] {
        assert!(!own(messages), "{messages:?}");
    }
}
