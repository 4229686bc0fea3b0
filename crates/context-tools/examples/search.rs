//! Measures search over ten thousand pages: processor time of a bare full-text insert, the first
//! index, and a query without changes.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measuring program ends where something fails, writes its own folder, and prints its figures"
)]

#[expect(dead_code, reason = "shared with the tests, which use all of it")]
#[path = "../tests/it/warehouse.rs"]
mod warehouse;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ktx_context_tools::{
    FileContext, FileContextParts, IndexPlace, ProjectContext as _, Reader, WithheldParts,
};
use ktx_search::{Kind, Query};
use ktx_wiki::UserId;
use serde_json::json;

use crate::warehouse::{Notes, TestWarehouses};

const ROUNDS: u32 = 4;

const FUNCTION_WORDS: &[&str] = &[
    "the", "of", "and", "to", "in", "is", "for", "that", "are", "with", "by", "from", "on", "not",
];

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % u64::try_from(bound).expect("a number")).expect("a number")
    }

    fn word(&mut self) -> String {
        let rank = (0..3)
            .map(|_| self.below(27))
            .fold(1, |rank, next| rank * (next + 1));
        spelled(rank)
    }
}

fn spelled(rank: usize) -> String {
    const HEADS: &[&str] = &[
        "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "ch",
    ];
    const CORES: &[&str] = &["a", "e", "i", "o", "u", "ai", "ou", "or", "an"];
    let mut word = String::new();
    let mut rest = rank * 7 + 11;
    while rest > 0 || word.len() < 4 {
        word.push_str(HEADS[rest % HEADS.len()]);
        word.push_str(CORES[(rest / HEADS.len()) % CORES.len()]);
        rest /= HEADS.len() * CORES.len();
    }
    word
}

fn text(numbers: &mut Numbers, words: usize) -> String {
    let mut text = String::new();
    for number in 0..words {
        let function = numbers.below(5) < 2;
        let word = if function {
            FUNCTION_WORDS[numbers.below(FUNCTION_WORDS.len())].to_owned()
        } else {
            numbers.word()
        };
        let end = if number % 14 == 13 { ". " } else { " " };
        write!(text, "{word}{end}").expect("a word");
    }
    text
}

fn page(numbers: &mut Numbers) -> String {
    let mut page = format!(
        "---\nsummary: {}\ntags: [{}, {}]\n---\n\n# {}\n",
        text(numbers, 9).replace(['.', '\n'], "").trim(),
        numbers.word(),
        numbers.word(),
        text(numbers, 3).trim()
    );
    for _ in 0..3 {
        let (title, body) = (text(numbers, 2), text(numbers, 60));
        write!(page, "\n## {}\n\n{}\n", title.trim(), body.trim()).expect("a section");
    }
    page
}

fn question(numbers: &mut Numbers) -> String {
    let mut words = vec!["how".to_owned(), "do".to_owned(), "we".to_owned()];
    for _ in 0..4 {
        words.push(numbers.word());
        words.push(FUNCTION_WORDS[numbers.below(FUNCTION_WORDS.len())].to_owned());
    }
    words.join(" ")
}

/// All threads together, in milliseconds; the kernel counts hundredths of a second.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after = text.rsplit(')').next().expect("a name in brackets");
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) * 10.0
}

fn insert_bare(pages: &Path, place: &Path) {
    let mut db = rusqlite::Connection::open(place).expect("a database");
    db.pragma_update(None, "journal_mode", "wal")
        .expect("a log");
    db.execute_batch(
        "CREATE VIRTUAL TABLE pages USING fts5(key, text, tokenize = 'porter unicode61')",
    )
    .expect("a table");
    let tx = db.transaction().expect("a transaction");
    for file in std::fs::read_dir(pages).expect("the pages") {
        let path = file.expect("a file").path();
        let key = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        let text = std::fs::read_to_string(&path).expect("a page");
        tx.prepare_cached("INSERT INTO pages VALUES (?1, ?2)")
            .expect("a statement")
            .execute([key, &text])
            .expect("a row");
    }
    tx.commit().expect("a commit");
}

fn context(root: &Path) -> FileContext {
    FileContext::new(FileContextParts {
        root: root.to_owned(),
        user: UserId::parse("local").expect("a user id"),
        reader: Reader::Agent,
        index: IndexPlace::File(root.join(".ktx/state/search.sqlite")),
        vectors: None,
        warehouses: Arc::new(TestWarehouses::default()),
        withheld: WithheldParts::default(),
        policy: None,
        audit: Arc::new(Notes::default()),
        // Makes the pages old.
        now: || std::time::SystemTime::now() + Duration::from_mins(1),
    })
}

async fn ask(context: &FileContext, questions: &[String]) {
    for question in questions {
        let query = Query::new(question, 10).of_kinds(&[Kind::Wiki]);
        let found = context.search(vec![query]).await.expect("an answer");
        assert!(!found.is_empty(), "an answer to each question");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count: usize = arguments
        .first()
        .map_or(10_000, |count| count.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("wiki/global");
    std::fs::create_dir_all(&pages).expect("a folder");
    std::fs::write(folder.path().join("ktx.yaml"), "connections: {}\n").expect("a file");
    let mut numbers = Numbers(1);
    for number in 0..count {
        std::fs::write(
            pages.join(format!("page-{number:05}.md")),
            page(&mut numbers),
        )
        .expect("a page");
    }
    let questions: Vec<String> = (0..25).map(|_| question(&mut numbers)).collect();

    let start = processor_time();
    insert_bare(&pages, &folder.path().join("bare.sqlite"));
    let bare = processor_time() - start;

    let first = context(folder.path());
    let start = processor_time();
    ask(&first, questions.get(..1).expect("a question")).await;
    let index = processor_time() - start;

    let start = processor_time();
    for _ in 0..ROUNDS {
        ask(&first, &questions).await;
    }
    let asked = f64::from(ROUNDS) * f64::from(u32::try_from(questions.len()).expect("few"));
    let query = (processor_time() - start) / asked;

    let start = processor_time();
    for question in &questions {
        let again = context(folder.path());
        ask(&again, std::slice::from_ref(question)).await;
    }
    let reopened =
        (processor_time() - start) / f64::from(u32::try_from(questions.len()).expect("few"));
    println!(
        "{}",
        json!({
            "pages": count,
            "bareInsertMs": bare,
            "firstIndexMs": index,
            "queryMs": query,
            "reopenedQueryMs": reopened,
        })
    );
}
