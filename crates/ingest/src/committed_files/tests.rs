//! Tests how commits are found by their marks.

use super::*;

fn commit(id: &str, message: &str) -> LoggedCommit {
    LoggedCommit {
        id: id.to_owned(),
        message: message.to_owned(),
    }
}

#[test]
fn the_newest_commit_with_a_mark_is_found_also_in_a_squashed_one() {
    let mut index = CommitIndex::new(vec![
        commit(
            "c3",
            "Squashed commit\n\n    ktx ingest: a b\n    ktx-unit: 11\n",
        ),
        commit(
            "c2",
            "ktx ingest: shop u\n\npages: one, two\nktx-unit: 22\n",
        ),
        commit(
            "c1",
            "ktx ingest: shop u\n\npages: one\nktx-unit: 22\nktx-note: 33\n",
        ),
    ]);
    let id = |index: &CommitIndex, mark: &str| index.marked(mark).map(|found| found.id.clone());
    assert_eq!(id(&index, "ktx-unit: 11"), Some("c3".to_owned()));
    assert_eq!(id(&index, "ktx-unit: 22"), Some("c2".to_owned()));
    assert_eq!(id(&index, "ktx-note: 33"), Some("c1".to_owned()));
    assert_eq!(id(&index, "ktx-note: 22"), None);
    let written = index
        .marked("ktx-unit: 22")
        .map(|found| &found.written.wiki);
    assert_eq!(written, Some(&vec!["one".to_owned(), "two".to_owned()]));
    assert!(index.contains("c1") && !index.contains("c4"));
    index.add("c4", "ktx ingest: shop u\n\nktx-unit: 22\n");
    assert_eq!(id(&index, "ktx-unit: 22"), Some("c4".to_owned()));
    assert!(index.contains("c4"));
}
