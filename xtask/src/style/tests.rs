//! Each figure, over a text that shows it.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn file(path: &str, text: &str) -> TextFile {
    TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

const CODE: &str = "//! A part.

/// Two words.
struct State;
mod inner {
    enum State {}
    trait State {}
}
#[expect(dead_code, reason = \"shown\")]
fn plain((name, value): (&str, u8), is_first: bool, list: (u8, u8)) {
    // Five words are in here.
}
impl State {
    fn quiet(&self, loud: bool) {}
}
#[cfg(test)]
mod tests {
    struct State;
    fn helper(flag: bool) {}
}
";

#[test]
fn code_is_counted_outside_of_tests() {
    let files = [
        file("crates/scan/src/lib.rs", CODE),
        file("crates/scan/tests/it/main.rs", "//! Tests.\n\nfn t() {}\n"),
        file("crates/scan/src/broken.rs", "//! Broken.\nfn (\n"),
        file("xtask/src/main.rs", "//! Chores.\nfn f(a: bool) {}\n"),
    ];
    let code = Code::read(&files);
    let figures: Vec<String> = code
        .figures()
        .iter()
        .map(|figure| format!("{}: {}", figure.name, figure.ours))
        .collect();
    assert_eq!(
        figures,
        [
            "source lines: 17",
            "test lines per 100 source lines: 41",
            "file length p50 / p90 / max: 2 / 2 / 15",
            "files over 500 / 800 lines, %: 0.00 / 0.00",
            "function length p50 / p99 / max: 1 / 1 / 3",
            "functions over 100 lines, %: 0.00",
            "tuples as parameters: 1",
            "`bool` as parameters: 2",
            "type names with three meanings or more: 1",
            "words of comments: 9",
            "doc lines of four words or fewer: 2",
            "`#[allow]` / `#[expect]`: 0 / 1",
        ]
    );
    assert_eq!(code.unreadable(), ["crates/scan/src/broken.rs"]);
    assert_eq!(
        code.details(1),
        [
            "\nlongest functions",
            "  3 crates/scan/src/lib.rs:10 plain",
            "\ntuples as parameters",
            "  crates/scan/src/lib.rs:10 plain",
            "\n`bool` as parameters",
            "  crates/scan/src/lib.rs:10 plain",
            "  crates/scan/src/lib.rs:14 quiet",
            "\ntype names with three meanings or more",
            "  State 3: crates/scan/src/lib.rs:4 crates/scan/src/lib.rs:6 crates/scan/src/lib.rs:7",
        ]
    );
}

#[test]
fn phrases_are_found_in_comments_messages_and_pages() {
    let list = file(
        "list.txt",
        "# phrases\n\\bis told\\b\tktx prints\n\\bnever\\b\tnot\n",
    );
    let files = [
        list,
        file("a.rs", "// it is told\nlet is told;\nf(\"is told\");\n"),
        file("b.md", "what is told\n"),
        file("CHANGELOG.md", "what is told\n"),
    ];
    let found = words::hits(&files, "list.txt").unwrap();
    let lines: Vec<String> = found.iter().map(|hit| hit.line(2)).collect();
    assert_eq!(
        lines,
        ["\n3 × `\\bis told\\b`: ktx prints\n  a.rs:1\n  a.rs:3"]
    );
    let broken = [file("list.txt", "fine\tyes\n(\tno\n")];
    assert_eq!(
        words::hits(&broken, "list.txt").unwrap_err().to_string(),
        "list.txt:2: not a regular expression"
    );
    let error = words::hits(&[], "list.txt").unwrap_err().to_string();
    assert_eq!(error, "`list.txt` is missing");
}

#[test]
fn the_list_of_phrases_is_whole() {
    let repository = Repository::locate().unwrap();
    let files = repository.text_files().unwrap();
    let list: Vec<TextFile> = files
        .into_iter()
        .filter(|file| file.path == PHRASES)
        .collect();
    assert_eq!(words::hits(&list, PHRASES).unwrap(), []);
}

#[test]
fn chains_and_duplicates_are_counted() {
    let edges = |below: &[&str]| -> BTreeSet<String> {
        below.iter().map(|name| (*name).to_owned()).collect()
    };
    let crates = BTreeMap::from([
        ("a".to_owned(), edges(&[])),
        ("b".to_owned(), edges(&["a"])),
        ("c".to_owned(), edges(&["a", "d"])),
        ("d".to_owned(), edges(&["b"])),
    ]);
    assert_eq!(graph::longest_chain(&crates), 4);
    let lock =
        "[[package]]\nname = 'a'\nversion = '1.0.0'\n[[package]]\nname = 'a'\nversion = '2.0.0'\n";
    let found = graph::locked(lock).unwrap();
    assert_eq!(
        found,
        BTreeMap::from([("a".to_owned(), edges(&["1.0.0", "2.0.0"]))])
    );
}

#[test]
fn the_table_has_aligned_columns() {
    let figure = |name, ours: &str| Figure {
        name,
        anchor: "46",
        target: "<= 33",
        ours: ours.to_owned(),
    };
    assert_eq!(
        table(&[figure("crates", "27"), figure("internal edges", "109")]),
        "figure          best anchor  target  ours\n\
         crates                   46   <= 33  27\n\
         internal edges           46   <= 33  109"
    );
    assert_eq!(
        (percentile(&[], 50), percentile(&[1, 2, 3, 40], 50)),
        (0, 2)
    );
    assert_eq!(
        (percent(1, 3), percent(0, 0)),
        ("33.33".to_owned(), "0.00".to_owned())
    );
}
