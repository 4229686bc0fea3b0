//! An oracle: random small models, rows and questions, answered by brute force row by row and
//! compared with what SQLite makes of the compiled SQL. It shares no code with the planner.
//!
//! `KTX_ORACLE_CASES=50000 cargo test -p ktx-semantic-layer --test it oracle` asks more questions than
//! a usual run does.
#![expect(
    clippy::disallowed_methods,
    reason = "the number of cases is asked for in the environment"
)]

mod brute;
mod calendar;
mod measures;
mod question;
mod random;
mod shrink;
mod world;

use std::collections::BTreeMap;

use ktx_semantic_layer::{Catalog, Query, compile};
use ktx_warehouse::Dialect;
use serde_json::Value;

use crate::sqlite;
use brute::Expected;
use question::Question;
use random::Random;
use world::World;

/// Questions of a usual run, and questions to each world.
const CASES: usize = 5_000;
const QUESTIONS: usize = 25;
/// Worlds are shared out among so many threads.
const THREADS: usize = 4;

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

/// How a question came out.
enum Outcome {
    Answered,
    Refused(&'static str),
    Wrong(String),
}

/// Compares the compiler's answer to a question with the right one.
fn outcome(
    world: &World,
    question: &Question,
    catalog: &Catalog,
    connection: &rusqlite::Connection,
) -> Outcome {
    let query = Query::from_value(&question.json(world)).expect("a well-formed query");
    let expected = brute::answer(world, question);
    match (compile(catalog, &query, Dialect::Sqlite), expected) {
        (Err(error), Expected::Refusal(kinds)) if kinds.contains(error.kind.as_str()) => {
            Outcome::Refused(error.kind.as_str())
        }
        (Err(error), Expected::Refusal(kinds)) => Outcome::Wrong(format!(
            "{}: {error} instead of one of {kinds:?}",
            error.kind
        )),
        (Err(error), Expected::Rows(rows)) => Outcome::Wrong(format!(
            "refused ({}: {error}) instead of {rows:?}",
            error.kind
        )),
        (Ok(compiled), Expected::Refusal(kinds)) => Outcome::Wrong(format!(
            "answered instead of one of {kinds:?}\n{}",
            compiled.sql
        )),
        (Ok(compiled), Expected::Rows(expected)) => {
            let (_, rows) = sqlite::run(connection, &compiled.sql);
            let mut got: Vec<Vec<String>> = rows.iter().map(|row| spelled(row)).collect();
            let mut wanted: Vec<Vec<String>> = expected.iter().map(|row| spelled(row)).collect();
            got.sort();
            wanted.sort();
            if got == wanted {
                Outcome::Answered
            } else {
                let only = |one: &[Vec<String>], other: &[Vec<String>]| -> Vec<Vec<String>> {
                    let missing = one.iter().filter(|row| !other.contains(row));
                    missing.cloned().collect()
                };
                Outcome::Wrong(format!(
                    "wanted {:?}\ngot    {:?}\n{}",
                    only(&wanted, &got),
                    only(&got, &wanted),
                    compiled.sql
                ))
            }
        }
    }
}

/// The same for a case on its own.
fn difference(world: &World, question: &Question) -> Option<String> {
    let catalog = Catalog::load(world.files(), Dialect::Sqlite);
    let connection = sqlite::database(&world.data());
    match outcome(world, question, &catalog, &connection) {
        Outcome::Wrong(reason) => Some(reason),
        Outcome::Answered | Outcome::Refused(_) => None,
    }
}

/// A failing case in full, after it has been made small.
fn report(seed: u64, world: World, question: Question) -> String {
    let (world, question) = shrink::smallest((world, question), &difference);
    let reason = difference(&world, &question).unwrap_or_default();
    let files: Vec<String> = world
        .files()
        .iter()
        .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
        .collect();
    format!(
        "seed {seed}: {}\n{reason}\n{}\n{}",
        question.json(&world),
        world.data(),
        files.join("---\n")
    )
}

/// How often each outcome was met; the first failing case in full.
type Tally = Result<BTreeMap<&'static str, usize>, String>;

/// Asks the questions of every world whose seed leaves `rest`.
fn worlds(count: u64, rest: u64) -> Tally {
    let mut tally: BTreeMap<&'static str, usize> = BTreeMap::new();
    let threads = u64::try_from(THREADS).expect("a small number");
    for seed in (1..=count).filter(|seed| seed % threads == rest) {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        let connection = sqlite::database(&world.data());
        let catalog = Catalog::load(world.files(), Dialect::Sqlite);
        for _ in 0..QUESTIONS {
            let question = Question::random(&world, &mut random);
            let outcome = outcome(&world, &question, &catalog, &connection);
            let name = match outcome {
                Outcome::Answered => "answered",
                Outcome::Refused(kind) => kind,
                Outcome::Wrong(_) => return Err(report(seed, world, question)),
            };
            *tally.entry(name).or_default() += 1;
        }
    }
    Ok(tally)
}

/// The contract's numbers 1 to 9, and what goes by periods: homes, look-ups, NULLs, empty members,
/// filters, derived measures, windows, comparisons, snapshots, filled periods.
#[test]
fn answers_agree_with_brute_force() {
    let cases = std::env::var("KTX_ORACLE_CASES").ok();
    let cases: usize = cases.map_or(CASES, |text| text.parse().expect("a number of cases"));
    let count = u64::try_from(cases.div_ceil(QUESTIONS)).expect("a small number");
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..u64::try_from(THREADS).expect("a small number"))
            .map(|rest| scope.spawn(move || worlds(count, rest)))
            .collect();
        let join =
            |thread: std::thread::ScopedJoinHandle<'_, Tally>| thread.join().expect("a tally");
        threads.into_iter().map(join).collect()
    });
    let mut all: BTreeMap<&'static str, usize> = BTreeMap::new();
    for tally in tallies {
        match tally {
            Ok(tally) => {
                for (name, number) in tally {
                    *all.entry(name).or_default() += number;
                }
            }
            Err(report) => panic!("{report}"),
        }
    }
    println!("{all:?}");
    assert!(all.values().sum::<usize>() >= cases);
    let answered = all.get("answered").copied().unwrap_or_default();
    assert!(
        answered * 5 > cases * 2,
        "only {answered} questions had an answer"
    );
    for kind in [
        "no_time_dimension",
        "ambiguous_time_dimension",
        "bad_window",
        "mixed_time_filter",
        "unbounded_fill",
    ] {
        assert!(all.contains_key(kind), "no question was refused as {kind}");
    }
}

#[test]
fn failing_cases_are_made_small() {
    let mut random = Random::new(7);
    let world = World::random(&mut random);
    let mut question = Question::random(&world, &mut random);
    question.asked = vec![
        question::Asked::Measure(0, measures::TOTAL),
        question::Asked::Measure(0, measures::COUNT),
    ];
    question.dimensions.clear();
    question.filters.clear();
    // As if every count of a table with two rows were wrong.
    let fails = |world: &World, question: &Question| {
        let is_asked = question
            .asked
            .contains(&question::Asked::Measure(0, measures::COUNT));
        (is_asked && world.tables[0].rows.len() >= 2).then(|| "wrong".to_owned())
    };
    let mut world = world;
    while world.tables[0].rows.len() < 4 {
        let row = world::Row {
            id: 100,
            number: None,
            text: None,
            at: None,
            keys: Vec::new(),
        };
        world.tables[0].rows.push(row);
    }
    let (world, question) = shrink::smallest((world, question), &fails);
    assert_eq!(
        question.json(&world),
        serde_json::json!({
            "measures": ["t0.cnt"], "dimensions": [], "filters": [],
            "include_empty": false, "fill": false, "limit": 1_000_000,
        })
    );
    assert_eq!((world.tables.len(), world.nodes.len()), (1, 1));
    assert_eq!(world.tables[0].rows.len(), 2);
}
