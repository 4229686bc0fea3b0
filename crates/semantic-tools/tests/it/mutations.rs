//! Runs the fuzz targets on reproducible mutations of the corpus.
//!
//! Set `KTX_MUTATIONS=100000` for the number of inputs per target, and `KTX_MUTATIONS_SEED=2` for
//! the seed. With `KTX_MUTATIONS_SHOW=1`, each input is printed before its run, so the last one
//! printed ended the process.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the number of inputs is asked for in the environment, and what ended a run is looked at"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ktx_test_support::random::Random;

#[expect(unreachable_pub, reason = "the fuzz targets' package exports them")]
#[path = "../../../../fuzz/src/targets.rs"]
mod targets;

const PIECES: [&str; 64] = [
    "'",
    "\"",
    "`",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ":",
    ";",
    ",",
    ".",
    "*",
    "--",
    "/*",
    "*/",
    "\\",
    "\n",
    "\t",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "é",
    "🙂",
    "\u{10ffff}",
    "0",
    "-1",
    "1e400",
    "9223372036854775808",
    "0x1F",
    "null",
    "true",
    " and ",
    " or ",
    " not ",
    " is null",
    " in (1, 2)",
    " between 1 and 2",
    " like '%'",
    "::text",
    "case when id then 1 end",
    "sum(",
    "count(*)",
    "count(distinct ",
    "median(",
    "percentile(id, 0.5)",
    "sum(sum(id))",
    "cast(id as int)",
    "interval '1 day'",
    "(select 1)",
    " over ()",
    "costs.spent",
    "teams.area",
    "hours.hour_total",
    "extra.id",
    "extra.computed",
    "$1",
    "?",
    ":month",
    "- ",
    "  ",
    "&a ",
    "*a",
];

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().expect("a number"))
}

fn corpus(target: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut paths: Vec<_> = std::fs::read_dir(folder.join(target))
        .expect("a corpus")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a text"))
        .collect()
}

/// Keeps the first line.
fn mutated(corpus: &[String], random: &mut Random) -> String {
    let input = random.pick(corpus);
    let (dialect, text) = input.split_once('\n').unwrap_or(("", input));
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let from = random.below(letters.len() + 1);
        let to = (from + random.below(12)).min(letters.len());
        match random.below(8) {
            0 => {
                letters.drain(from..to);
            }
            1 => {
                let piece: Vec<char> = letters[from..to].to_vec();
                let count = if random.chance(5) { 200 } else { 1 };
                for _ in 0..count {
                    letters.splice(to..to, piece.iter().copied());
                }
            }
            2 => {
                let piece: Vec<char> = letters.drain(from..to).collect();
                let at = random.below(letters.len() + 1);
                letters.splice(at..at, piece);
            }
            3 => {
                let depth = if random.chance(5) { 300 } else { 1 };
                letters.splice(to..to, std::iter::repeat_n(')', depth));
                letters.splice(from..from, std::iter::repeat_n('(', depth));
            }
            4 => {
                let other: Vec<char> = random.pick(corpus).chars().collect();
                let begin = random.below(other.len() + 1);
                let end = (begin + random.below(40)).min(other.len());
                letters.splice(from..to, other[begin..end].iter().copied());
            }
            5 => letters.truncate(to),
            _ => {
                let end = if random.chance(50) { to } else { from };
                letters.splice(from..end, random.pick(&PIECES).chars());
            }
        }
    }
    let text: String = letters.into_iter().collect();
    let known = [
        "postgres",
        "duckdb",
        "mysql",
        "tsql",
        "bigquery",
        "snowflake",
        "clickhouse",
        "sqlite",
    ];
    let dialect = if random.chance(40) {
        random.pick(&known)
    } else {
        dialect
    };
    format!("{dialect}\n{text}")
}

/// Runs `usual` mutations, or the number set in the environment.
fn holds(name: &str, usual: u64, target: fn(&str)) {
    let corpus = corpus(name);
    assert!(corpus.len() >= 5, "{} inputs", corpus.len());
    let mut random = Random::new(from_environment("KTX_MUTATIONS_SEED").unwrap_or(1));
    let count = from_environment("KTX_MUTATIONS").unwrap_or(usual);
    let changed = (0..count).map(|_| mutated(&corpus, &mut random));
    let inputs = corpus.iter().cloned().chain(changed);
    let mut wrong: Vec<String> = Vec::new();
    let shows = std::env::var_os("KTX_MUTATIONS_SHOW").is_some();
    for input in inputs {
        if shows {
            println!("{input:?}");
        }
        if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
            wrong.push(input);
        }
    }
    wrong.sort_by_key(String::len);
    assert!(
        wrong.is_empty(),
        "{} inputs; the shortest: {:?}",
        wrong.len(),
        wrong.first()
    );
}

#[test]
fn the_gate_holds() {
    holds("gate", 3_000, targets::gate_holds);
}

#[test]
fn expressions_hold() {
    holds("sl_expression", 500, targets::expression_holds);
}

#[test]
fn queries_hold() {
    holds("sl_query", 800, targets::query_holds);
}

#[test]
fn sources_hold() {
    holds("source_yaml", 120, targets::source_holds);
}
