//! Concurrent callers.

use std::sync::Arc;

use ktx_context_tools::{FileContext, FileContextParts, IndexPlace, ProjectContext as _, Reader};
use ktx_search::Query;
use ktx_wiki::UserId;

use crate::project::TestProject;
use crate::warehouse::{Notes, TestWarehouses};

fn context(project: &TestProject, index: IndexPlace) -> Arc<FileContext> {
    Arc::new(FileContext::new(FileContextParts {
        root: project.folder.path().to_owned(),
        user: UserId::parse("local").expect("a user id"),
        reader: Reader::Agent,
        index,
        vectors: None,
        warehouses: Arc::new(TestWarehouses::default()),
        withheld: ktx_context_tools::WithheldParts::default(),
        policy: None,
        audit: Arc::new(Notes::default()),
        now: std::time::SystemTime::now,
    }))
}

async fn found_by_many(context: &Arc<FileContext>, word: &str) -> Vec<Vec<String>> {
    let callers: Vec<_> = (0..64)
        .map(|_| {
            let (context, query) = (Arc::clone(context), Query::new(word, 10));
            tokio::spawn(async move {
                let mut outcomes = context.search(vec![query]).await.expect("an answer");
                let outcome = outcomes.pop().expect("an outcome");
                assert!(outcome.warnings.len() <= 1, "{:?}", outcome.warnings);
                let hits = outcome.hits.into_iter();
                hits.map(|hit| hit.id).collect::<Vec<String>>()
            })
        })
        .collect();
    let mut found = Vec::new();
    for caller in callers {
        found.push(caller.await.expect("a caller"));
    }
    found.sort();
    found.dedup();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_find_the_same_and_every_edit() {
    let project = TestProject::new();
    let file = IndexPlace::File(project.folder.path().join(".ktx/state/search.sqlite"));
    for place in [file, IndexPlace::Memory] {
        let context = context(&project, place);
        let none: &[&[&str]] = &[&[]];
        assert_eq!(found_by_many(&context, "loyalty").await, none);
        project.write("wiki/global/points.md", "---\nsummary: Loyalty\n---\n");
        assert_eq!(found_by_many(&context, "loyalty").await, [["points"]]);
        project.write("wiki/global/points.md", "---\nsummary: Other\n---\n");
        assert_eq!(found_by_many(&context, "loyalty").await, none);
        project.remove("wiki/global/points.md");
        assert_eq!(found_by_many(&context, "other").await, none);
    }
}

#[tokio::test]
async fn a_removed_index_is_made_again() {
    let project = TestProject::new();
    let place = project.folder.path().join(".ktx/state/search.sqlite");
    let context = context(&project, IndexPlace::File(place.clone()));
    for _ in 0..3 {
        let found = found_by_many(&context, "returned").await;
        assert_eq!(found.len(), 1);
        assert!(
            found
                .iter()
                .all(|keys| keys.contains(&"returns".to_owned()))
        );
        for ending in ["", "-wal", "-shm"] {
            let file = format!("{}{ending}", place.display());
            std::fs::remove_file(file).unwrap_or_default();
        }
        project.write("wiki/global/new.md", "---\nsummary: New\n---\n");
        assert_eq!(found_by_many(&context, "new").await, [["new"]]);
        project.remove("wiki/global/new.md");
    }
}
