//! Tests of words that are near others.

use rusqlite::Connection;

use super::{add, near, parts, wholes};
use crate::schema;

fn vocabulary() -> Connection {
    let mut db = Connection::open_in_memory().unwrap();
    schema::prepare(&mut db).unwrap();
    let words = [
        "revenue",
        "return",
        "stockout",
        "stockist",
        "kundigungsfrist",
        "kundigung",
        "frist",
        "wareneingang",
    ];
    let words = words.map(|word| (word.to_owned(), format!("{word}+")));
    let tx = db.transaction().unwrap();
    add(&tx, &words).unwrap();
    tx.commit().unwrap();
    db
}

#[test]
fn finds_misspelled_words() {
    let db = vocabulary();
    let check = |word: &str, expected: &[&str]| {
        let found = near(&db, word).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|near| format!("{} {}", near.distance, near.stem))
            .collect();
        assert_eq!(shown, expected, "{word}");
    };
    check("revnue", &["1 revenue+"]);
    check("stockuot", &["1 stockout+", "2 stockist+"]);
    check("tockout", &["1 stockout+"]);
    check("stokcuot", &["2 stockout+"]);
    check("retrun", &["1 return+"]);
    check("ret", &[]);
    check("zzzzzzzz", &[]);
}

#[test]
fn joins_and_splits_compounds() {
    let db = vocabulary();
    assert_eq!(wholes(&db, "kundigung").unwrap(), ["kundigungsfrist+"]);
    assert_eq!(wholes(&db, "eingang").unwrap(), ["wareneingang+"]);
    assert_eq!(wholes(&db, "stock").unwrap(), ["stockist+", "stockout+"]);
    assert_eq!(
        parts(&db, "kundigungsfrist").unwrap(),
        ["kundigung+", "frist+"]
    );
    assert_eq!(parts(&db, "wareneingang").unwrap(), Vec::<String>::new());
}
