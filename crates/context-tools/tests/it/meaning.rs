//! Semantic searches, with a provider that checks and counts its requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ktx_context_tools::{
    FileContext, FileContextParts, IndexPlace, ProjectContext as _, Reader, Reindexing,
    WithheldParts,
};
use ktx_search::{Kind, Lane, Query, SearchOutcome, Vectors, VectorsError};
use ktx_wiki::UserId;

use crate::project::TestProject;

/// A text has the sum of its words' vectors.
const WORDS: [(&str, [f32; 3]); 6] = [
    ("revenue", [1.0, 0.0, 0.0]),
    ("moolah", [1.0, 0.1, 0.0]),
    ("returned", [0.0, 1.0, 0.0]),
    ("return", [0.0, 1.0, 0.0]),
    ("refunds", [0.0, 0.9, 0.2]),
    ("loyalty", [0.0, 0.0, 1.0]),
];

#[derive(Debug, Default)]
struct WordVectors {
    texts: Mutex<Vec<String>>,
    failure: Mutex<Option<String>>,
    refused: Mutex<Option<String>>,
    requests_left: Mutex<Option<usize>>,
    padding: Mutex<usize>,
    batch: usize,
}

fn value<T: Clone>(of: &Mutex<T>) -> T {
    of.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn set<T>(of: &Mutex<T>, value: T) {
    *of.lock().unwrap_or_else(PoisonError::into_inner) = value;
}

impl WordVectors {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.texts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn fail(&self, reason: &str) {
        set(&self.failure, Some(reason.to_owned()));
    }

    fn objection(&self, texts: &[String]) -> Option<VectorsError> {
        if let Some(left) = value(&self.requests_left) {
            set(&self.requests_left, Some(left.saturating_sub(1)));
            if left == 0 {
                return Some(VectorsError::new("the server is down"));
            }
        }
        if let Some(reason) = value(&self.failure) {
            return Some(VectorsError::new(reason));
        }
        let refused = value(&self.refused)?;
        let is_refused = texts.iter().any(|text| text.contains(&refused));
        is_refused.then(|| VectorsError::refusing_texts("the server answered 400"))
    }
}

#[async_trait]
impl Vectors for WordVectors {
    fn model(&self) -> &'static str {
        "words"
    }

    fn batch(&self) -> usize {
        self.batch.max(1)
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, VectorsError> {
        assert!(texts.len() <= self.batch(), "{texts:?}");
        if let Some(error) = self.objection(texts) {
            return Err(error);
        }
        assert!(
            texts.iter().all(|text| !text.trim().is_empty()),
            "{texts:?}"
        );
        let words: BTreeMap<&str, [f32; 3]> = WORDS.into_iter().collect();
        let vector = |text: &String| {
            let mut sum = vec![0.0; 3 + value(&self.padding)];
            for word in text
                .to_lowercase()
                .split(|letter: char| !letter.is_alphabetic())
            {
                let known = words.get(word).copied().unwrap_or_default();
                for (total, part) in sum.iter_mut().zip(known) {
                    *total += part;
                }
            }
            sum
        };
        let vectors = texts.iter().map(vector).collect();
        let mut asked = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        asked.extend(texts.iter().cloned());
        Ok(vectors)
    }
}

fn provider() -> Arc<WordVectors> {
    Arc::new(WordVectors {
        batch: 64,
        ..WordVectors::default()
    })
}

fn context(project: &TestProject, vectors: &Arc<WordVectors>) -> FileContext {
    FileContext::new(parts(project, vectors))
}

fn parts(project: &TestProject, vectors: &Arc<WordVectors>) -> FileContextParts {
    let root = project.folder.path();
    FileContextParts {
        root: root.to_owned(),
        user: UserId::parse("local").expect("a user id"),
        reader: Reader::Agent,
        index: IndexPlace::File(root.join(".ktx/state/search.sqlite")),
        vectors: Some(Arc::clone(vectors) as Arc<dyn Vectors>),
        warehouses: project.warehouses.clone(),
        withheld: WithheldParts::default(),
        policy: None,
        audit: project.notes.clone(),
        now: std::time::SystemTime::now,
    }
}

async fn search(context: &FileContext, text: &str) -> SearchOutcome {
    let query = Query::new(text, 3).of_kinds(&[Kind::Wiki]);
    let mut found = context.search(vec![query]).await.expect("an answer");
    found.pop().expect("an outcome")
}

fn keys(outcome: &SearchOutcome) -> Vec<&str> {
    outcome.hits.iter().map(|hit| hit.id.as_str()).collect()
}

#[tokio::test]
async fn finds_pages_that_share_no_word_with_the_query() {
    let project = TestProject::new();
    let vectors = provider();
    let context = context(&project, &vectors);
    assert_eq!(keys(&search(&context, "moolah").await), ["revenue-policy"]);
}

/// Also by another process, and after the index was rebuilt.
#[tokio::test]
async fn embeds_no_text_twice() {
    let project = TestProject::new();
    let vectors = provider();
    let first = context(&project, &vectors);
    search(&first, "moolah").await;
    let embedded = vectors.asked();
    assert_eq!(
        embedded
            .iter()
            .filter(|text| text.as_str() != "moolah")
            .count(),
        embedded.len() - 1
    );
    search(&first, "refunds").await;
    assert_eq!(vectors.asked(), ["refunds"]);

    let other = context(&project, &vectors);
    other
        .reindex(Reindexing::Everything)
        .await
        .expect("an index");
    assert_eq!(vectors.asked(), Vec::<String>::new());

    project.write(
        "wiki/global/loyalty.md",
        "---\nsummary: Loyalty points\n---\n\nLoyalty ends after a year.\n",
    );
    search(&other, "refunds").await;
    insta::assert_debug_snapshot!(vectors.asked(), @r#"
    [
        "refunds",
        "loyalty\nLoyalty points",
        "Loyalty ends after a year.",
    ]
    "#);
}

#[tokio::test]
async fn a_failing_provider_leaves_full_text() {
    let project = TestProject::new();
    let vectors = provider();
    let context = context(&project, &vectors);
    vectors.fail("the embeddings server at 127.0.0.1 answered 401");
    let found = search(&context, "revenue counted").await;
    assert_eq!(keys(&found), ["revenue-policy"]);
    insta::assert_snapshot!(found.warnings.join("\n"), @"meanings were not compared, only words: the embeddings server at 127.0.0.1 answered 401");
    assert_eq!(keys(&search(&context, "moolah").await), Vec::<&str>::new());
}

fn vectors_file(project: &TestProject) -> std::path::PathBuf {
    project.folder.path().join(".ktx/state/vectors.sqlite")
}

#[tokio::test]
async fn damaged_vectors_are_made_anew() {
    let project = TestProject::new();
    let vectors = provider();
    search(&context(&project, &vectors), "moolah").await;
    std::fs::write(vectors_file(&project), "no database".repeat(1000)).expect("a file");
    let found = search(&context(&project, &vectors), "moolah").await;
    assert_eq!(keys(&found), ["revenue-policy"]);
    insta::assert_snapshot!(found.warnings.join("\n"), @"the vectors of passages were damaged; ktx asks for them again");
    vectors.asked();
    let found = search(&context(&project, &vectors), "moolah").await;
    assert_eq!(keys(&found), ["revenue-policy"]);
    assert_eq!(found.warnings, Vec::<String>::new());
    assert_eq!(vectors.asked(), ["moolah"]);
}

#[tokio::test]
async fn vectors_that_cannot_be_opened_leave_full_text() {
    let project = TestProject::new();
    let vectors = provider();
    std::fs::create_dir_all(vectors_file(&project)).expect("a folder");
    let context = context(&project, &vectors);
    let first = search(&context, "revenue counted").await;
    let again = search(&context, "revenue counted").await;
    assert_eq!(keys(&first), ["revenue-policy"]);
    assert_eq!(keys(&again), ["revenue-policy"]);
    assert_eq!(first.warnings, again.warnings);
    let root = project.folder.path().display().to_string();
    insta::assert_snapshot!(first.warnings.join("\n").replace(&root, "PROJECT"), @"meanings were not compared, only words: could not use the vectors of passages: unable to open database: PROJECT/.ktx/state/vectors.sqlite: Error code 14: unable to open database file");
}

#[tokio::test]
async fn a_damaged_index_is_told_with_vectors_too() {
    let project = TestProject::new();
    let vectors = provider();
    search(&context(&project, &vectors), "moolah").await;
    let index = project.folder.path().join(".ktx/state/search.sqlite");
    std::fs::write(index, "no database".repeat(1000)).expect("a file");
    vectors.asked();
    let found = search(&context(&project, &vectors), "moolah").await;
    assert_eq!(keys(&found), ["revenue-policy"]);
    insta::assert_snapshot!(found.warnings.join("\n"), @"the search index was damaged; ktx rebuilt it");
    assert_eq!(vectors.asked(), ["moolah"]);
}

#[tokio::test]
async fn a_refused_passage_is_left_out_and_not_sent_again() {
    let project = TestProject::new();
    project.write(
        "wiki/global/poison.md",
        "---\nsummary: poison\n---\n\nA refund of loyalty\n",
    );
    let vectors = provider();
    set(&vectors.refused, Some("poison".to_owned()));
    let found = search(&context(&project, &vectors), "moolah").await;
    assert_eq!(keys(&found), ["revenue-policy"]);
    insta::assert_snapshot!(found.warnings.join("\n"), @"the meanings of 1 passage were not compared: the server answered 400");
    vectors.asked();
    let found = search(&context(&project, &vectors), "loyalty").await;
    assert_eq!(keys(&found), ["poison"]);
    assert_eq!(found.warnings, Vec::<String>::new());
    assert_eq!(vectors.asked(), ["loyalty"]);
    set(&vectors.refused, None);
    let everything = context(&project, &vectors);
    everything
        .reindex(Reindexing::Everything)
        .await
        .expect("an index");
    assert_eq!(vectors.asked(), ["poison\npoison"]);
}

#[tokio::test]
async fn a_model_that_refuses_everything_is_told() {
    let project = TestProject::new();
    let vectors = provider();
    set(&vectors.refused, Some(String::new()));
    let context = context(&project, &vectors);
    let done = context
        .reindex(Reindexing::Changed)
        .await
        .expect("an index");
    insta::assert_snapshot!(done.warnings.join("\n"), @"12 passages have no vectors yet and are found by their words only: the server answered 400");
    set(&vectors.refused, None);
    let done = context
        .reindex(Reindexing::Changed)
        .await
        .expect("an index");
    assert_eq!((done.embedded, done.warnings.len()), (Some(12), 0));
}

#[tokio::test]
async fn an_interrupted_reindexing_pays_for_no_text_twice() {
    let project = TestProject::new();
    let vectors = Arc::new(WordVectors {
        batch: 2,
        ..WordVectors::default()
    });
    let context = context(&project, &vectors);
    set(&vectors.requests_left, Some(2));
    let done = context
        .reindex(Reindexing::Changed)
        .await
        .expect("an index");
    assert_eq!(done.embedded, Some(4));
    insta::assert_snapshot!(done.warnings.last().expect("a warning"), @"8 passages have no vectors yet and are found by their words only: the server is down");
    let mut asked = vectors.asked();
    set(&vectors.requests_left, None);
    let done = context
        .reindex(Reindexing::Changed)
        .await
        .expect("an index");
    assert_eq!(done.embedded, Some(8));
    asked.extend(vectors.asked());
    asked.sort();
    let all = asked.len();
    asked.dedup();
    assert_eq!((all, asked.len()), (12, 12));
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_at_once_pay_for_no_text_twice() {
    let project = TestProject::new();
    let vectors = provider();
    let context = context(&project, &vectors);
    let searches = (0..8).map(|_| {
        let context = context.clone();
        tokio::spawn(async move { keys(&search(&context, "moolah").await).len() })
    });
    for search in searches.collect::<Vec<_>>() {
        assert_eq!(search.await.expect("an answer"), 1);
    }
    let mut asked = vectors.asked();
    asked.retain(|text| text != "moolah");
    asked.sort();
    let all = asked.len();
    asked.dedup();
    assert_eq!((all, asked.len()), (12, 12));
}

#[tokio::test]
async fn vectors_of_another_length_are_made_anew() {
    let project = TestProject::new();
    let vectors = provider();
    search(&context(&project, &vectors), "moolah").await;
    set(&vectors.padding, 2);
    let found = search(&context(&project, &vectors), "moolah").await;
    assert_eq!(keys(&found), ["revenue-policy"]);
    assert_eq!(found.warnings, Vec::<String>::new());
    vectors.asked();
    let again = context(&project, &vectors);
    let done = again.reindex(Reindexing::Changed).await.expect("an index");
    assert_eq!((done.embedded, vectors.asked()), (Some(0), vec![]));
}

#[tokio::test]
async fn sees_vectors_of_other_processes() {
    let project = TestProject::new();
    let vectors = provider();
    let server = context(&project, &vectors);
    search(&server, "moolah").await;
    set(&vectors.requests_left, Some(1));
    project.write(
        "wiki/global/loyalty.md",
        "---\nsummary: Points\n---\n\nloyalty\n",
    );
    let found = search(&server, "loyalty").await;
    let is_near = |found: &SearchOutcome| {
        found
            .hits
            .iter()
            .any(|hit| hit.lanes.contains(&Lane::Semantic))
    };
    assert!(!is_near(&found), "{found:?}");
    set(&vectors.requests_left, None);
    let other = context(&project, &vectors);
    other.reindex(Reindexing::Changed).await.expect("an index");
    let found = search(&server, "loyalty").await;
    assert!(is_near(&found), "{found:?}");
}

#[tokio::test]
async fn an_index_in_memory_pays_for_nothing_again() {
    let project = TestProject::new();
    let vectors = provider();
    search(&context(&project, &vectors), "moolah").await;
    vectors.asked();
    let parts = parts(&project, &vectors);
    let arm = FileContext::new(FileContextParts {
        index: IndexPlace::Memory,
        ..parts
    });
    assert_eq!(keys(&search(&arm, "moolah").await), ["revenue-policy"]);
    assert_eq!(vectors.asked(), ["moolah"]);
}

#[tokio::test]
async fn a_failed_provider_is_not_an_unconfigured_one() {
    let project = TestProject::new();
    let vectors = provider();
    vectors.fail("no");
    let found = search(&context(&project, &vectors), "moolah").await;
    let lane = found.lanes.iter().find(|lane| lane.lane == Lane::Semantic);
    insta::assert_debug_snapshot!(lane.map(|lane| lane.status), @r#"
    Some(
        Skipped {
            reason: "embedding_failed",
        },
    )
    "#);
}
