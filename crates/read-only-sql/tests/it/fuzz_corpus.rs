//! Tests the inputs of the fuzz target `gate` against its property.

use std::path::Path;

use ktx_sql::Dialect;

use crate::properties::holds;

#[test]
fn every_input_of_the_fuzz_corpus_is_judged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/gate");
    let mut judged = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a corpus") {
        let path = entry.expect("an entry").path();
        let input = std::fs::read_to_string(&path).expect("a text");
        let (name, sql) = input.split_once('\n').expect("a dialect and a text");
        let dialect = Dialect::parse(name).expect("a known dialect");
        judged += 1;
        if let Err(reason) = holds(sql, dialect) {
            wrong.push(format!("{}: {reason}", path.display()));
        }
    }
    assert!(judged > 20, "only {judged} inputs");
    assert_eq!(wrong, Vec::<String>::new());
}
