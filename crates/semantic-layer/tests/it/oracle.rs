//! An oracle: random small models, rows and questions, answered by brute force row by row and
//! compared with what SQLite makes of the compiled SQL. It shares no code with the planner.

mod brute;
mod random;
mod world;

use ktx_semantic_layer::{Catalog, Query, compile};
use ktx_warehouse::Dialect;
use serde_json::Value;

use crate::sqlite;
use brute::Expected;
use random::Random;
use world::{Question, World};

/// Worlds per run, and questions in each.
const WORLDS: u64 = 60;
const QUESTIONS: usize = 12;

/// Kinds with which an unanswerable question may be refused.
const REFUSALS: [&str; 8] = [
    "fanout",
    "asymmetric_dimensions",
    "no_join_path",
    "ambiguous_join_path",
    "filter_fanout",
    "filter_unreachable",
    "multi_source_measure",
    "multi_grain_measure",
];

/// A row as text: numbers in one spelling.
fn spelled(row: &[Value]) -> Vec<String> {
    row.iter()
        .map(|value| match value {
            Value::Null => "null".to_owned(),
            Value::Number(number) => format!("{:.6}", number.as_f64().expect("a number") + 0.0),
            Value::String(text) => format!("'{text}'"),
            other => other.to_string(),
        })
        .collect()
}

/// What is wrong with the compiler's answer to a question, if anything.
fn difference(
    world: &World,
    question: &Question,
    connection: &rusqlite::Connection,
) -> Option<String> {
    let catalog = Catalog::load(world.files(), Dialect::Sqlite);
    let query = Query::from_value(&question.json()).expect("a well-formed query");
    let expected = brute::answer(world, question);
    match (compile(&catalog, &query, Dialect::Sqlite), expected) {
        (Err(error), Expected::Refusal(_)) if REFUSALS.contains(&error.kind.as_str()) => None,
        (Err(error), Expected::Refusal(why)) => {
            Some(format!("{}: {error} instead of {why}", error.kind))
        }
        (Err(error), Expected::Rows(rows)) => {
            Some(format!("refused ({error}) instead of {rows:?}"))
        }
        (Ok(compiled), Expected::Refusal(why)) => {
            Some(format!("answered although {why}\n{}", compiled.sql))
        }
        (Ok(compiled), Expected::Rows(expected)) => {
            let (_, rows) = sqlite::run(connection, &compiled.sql);
            let mut got: Vec<Vec<String>> = rows.iter().map(|row| spelled(row)).collect();
            let mut wanted: Vec<Vec<String>> = expected.iter().map(|row| spelled(row)).collect();
            got.sort();
            wanted.sort();
            (got != wanted).then(|| format!("wanted {wanted:?}\ngot    {got:?}\n{}", compiled.sql))
        }
    }
}

/// The contract's numbers 1 to 9: homes, look-ups, NULLs, empty members, filters, derived measures.
#[test]
fn answers_agree_with_brute_force() {
    let mut answered = 0_usize;
    for seed in 1..=WORLDS {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        let connection = sqlite::database(&world.data());
        for number in 0..QUESTIONS {
            let question = Question::random(&world, &mut random);
            if let Some(reason) = difference(&world, &question, &connection) {
                let files: Vec<String> = world
                    .files()
                    .iter()
                    .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
                    .collect();
                panic!(
                    "seed {seed}, question {number}: {}\n{reason}\n{}",
                    question.json(),
                    files.join("---\n")
                );
            }
            answered += usize::from(matches!(
                brute::answer(&world, &question),
                Expected::Rows(_)
            ));
        }
    }
    assert!(answered > 200, "only {answered} questions had an answer");
}
