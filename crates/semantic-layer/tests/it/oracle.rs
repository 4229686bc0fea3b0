//! An oracle: random models, rows and questions, answered by brute force and compared with the
//! compiled SQL. It shares no code with the planner.
//!
//! `KTX_ORACLE_CASES=50000` is the number of questions for SQLite; servers get a tenth.
//! `KTX_ORACLE_SEED=100000` sets the first world.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the number of cases is asked for in the environment; a run tells how they came out"
)]

mod bridges;
mod brute;
mod calendar;
mod engine;
mod filter;
pub(crate) mod live;
mod lookups;
mod measures;
mod model;
mod query;
mod question;
mod rows;
mod shrink;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use ktx_semantic_layer::{Catalog, Query, compile};
use ktx_sql::Dialect;

use brute::Expected;
use engine::{Engine, Rows, Sqlite};
use ktx_test_support::random::Random;
use question::{Beside, Question};
use world::World;

const CASES: usize = 5_000;
const QUESTIONS: usize = 25;
const THREADS: u64 = 4;

/// Not answered by brute force.
const UNCHECKED: &str = "over pairs, unchecked";

fn cases() -> usize {
    let cases = std::env::var("KTX_ORACLE_CASES").ok();
    cases.map_or(CASES, |text| text.parse().expect("a number of cases"))
}

enum Outcome {
    Answered,
    Refused(&'static str),
    Wrong(String),
}

/// The world is already loaded.
fn outcome(
    world: &World,
    question: &Question,
    catalog: &Catalog,
    engine: &mut dyn Engine,
) -> Outcome {
    let query = Query::from_value(&question.json(world)).expect("a well-formed query");
    let expected = brute::answer(world, question);
    match (compile(catalog, &query, engine.dialect()), expected) {
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
        // Brute force does not follow joins back to many rows.
        (Ok(compiled), Expected::Refusal(kinds))
            if kinds.contains("fanout") && counts_in_several_groups(&compiled.notes) =>
        {
            Outcome::Refused(UNCHECKED)
        }
        (Ok(compiled), Expected::Refusal(kinds)) => Outcome::Wrong(format!(
            "answered instead of one of {kinds:?}\n{}",
            compiled.sql
        )),
        (Ok(compiled), Expected::Rows(expected)) => {
            let expected: Rows = expected.iter().map(|row| engine::texts(row)).collect();
            match engine
                .run(&compiled.sql)
                .map(|rows| counted(question, rows))
            {
                Ok(rows) => compared(question, &expected, &rows, &compiled.sql),
                Err(reason) => Outcome::Wrong(format!("{reason}\n{}", compiled.sql)),
            }
        }
    }
}

fn counted(question: &Question, mut rows: Rows) -> Rows {
    if question.beside == Beside::Totals {
        for mark in rows.iter_mut().filter_map(|row| row.last_mut()) {
            let count = mark.as_ref().map_or(0, |text| text.split(", ").count());
            *mark = Some(count.to_string());
        }
    }
    rows
}

/// Checks and removes the row beyond the limit. `value` is that of the dimension with a limit per
/// value.
fn without_others(
    question: &Question,
    all: &[Vec<String>],
    rows: &mut Vec<Vec<String>>,
    value: Option<&String>,
) -> Result<(), String> {
    let mut rest = all.to_vec();
    let (others, shown): (Vec<_>, Vec<_>) = rows
        .drain(..)
        .partition(|row| row.last().is_some_and(|mark| mark == "'others'"));
    for row in shown {
        let row: Vec<String> = row.iter().take(row.len() - 1).cloned().collect();
        if let Some(at) = rest.iter().position(|known| *known == row) {
            rest.remove(at);
        }
        rows.push(row);
    }
    let first = question.dimensions.len();
    let total = |column: usize| {
        let values = rest
            .iter()
            .filter_map(|row| row.get(column)?.parse::<f64>().ok());
        let values: Vec<f64> = values.collect();
        if values.is_empty() {
            return "null".to_owned();
        }
        format!("{:.6}", values.iter().sum::<f64>())
    };
    let mut wanted: Vec<Vec<String>> = Vec::new();
    if !rest.is_empty() {
        let dimensions = (0..first).map(|at| match value.filter(|_| question.per == Some(at)) {
            Some(value) => value.clone(),
            None => "null".to_owned(),
        });
        let values = (first..first + question.asked.len()).map(total);
        wanted.push(
            dimensions
                .chain(values)
                .chain(["'others'".to_owned()])
                .collect(),
        );
    }
    if others == wanted {
        Ok(())
    } else {
        Err(format!("wanted {wanted:?}, got {others:?}"))
    }
}

fn counts_in_several_groups(notes: &[String]) -> bool {
    let says = |note: &String| note.contains(" counts once ");
    notes.iter().any(says)
}

fn first_rows(
    question: &Question,
    (wanted, mut rows): (&[Vec<String>], Vec<Vec<String>>),
    top: (usize, bool, usize),
    value: Option<&String>,
) -> Result<(), String> {
    if question.beside == Beside::Others {
        without_others(question, wanted, &mut rows, value)?;
    }
    engine::is_top(wanted, &rows, top, engine::Nulls::of(question, top))
}

fn compared(question: &Question, expected: &Rows, rows: &Rows, sql: &str) -> Outcome {
    let all = |rows: &Rows| {
        let mut all: Vec<Vec<String>> = rows
            .iter()
            .map(|row| engine::spelled(question, row))
            .collect();
        all.sort();
        all
    };
    let (wanted, got) = (all(expected), all(rows));
    if let Some(top) = question.top {
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| engine::spelled(question, row))
            .collect();
        let checked = match question.per {
            None => first_rows(question, (&wanted, rows.clone()), top, None),
            Some(at) => {
                let values = wanted.iter().chain(&rows).filter_map(|row| row.get(at));
                let values: BTreeSet<&String> = values.collect();
                values.into_iter().try_for_each(|value| {
                    let of_it = |rows: &[Vec<String>]| -> Vec<Vec<String>> {
                        let rows = rows.iter().filter(|row| row.get(at) == Some(value));
                        rows.cloned().collect()
                    };
                    first_rows(question, (&of_it(&wanted), of_it(&rows)), top, Some(value))
                })
            }
        };
        return match checked {
            Ok(()) => Outcome::Answered,
            Err(reason) => Outcome::Wrong(format!("{reason}\nof {wanted:?}\ngot {rows:?}\n{sql}")),
        };
    }
    if got == wanted {
        return Outcome::Answered;
    }
    let only = |one: &[Vec<String>], other: &[Vec<String>]| -> Vec<Vec<String>> {
        let missing = one.iter().filter(|row| !other.contains(row));
        missing.cloned().collect()
    };
    Outcome::Wrong(format!(
        "wanted {:?}\ngot    {:?}\n{sql}",
        only(&wanted, &got),
        only(&got, &wanted),
    ))
}

fn difference(world: &World, question: &Question, engine: &mut dyn Engine) -> Option<String> {
    let catalog = Catalog::load(world.files(), engine.dialect());
    engine.load(world);
    match outcome(world, question, &catalog, engine) {
        Outcome::Wrong(reason) => Some(reason),
        Outcome::Answered | Outcome::Refused(_) => None,
    }
}

fn report(seed: u64, world: &World, question: &Question, engine: &mut dyn Engine) -> String {
    let case = (world.clone(), question.clone());
    let (world, question) = shrink::smallest(case, &mut |world: &World, question: &Question| {
        difference(world, question, engine)
    });
    let reason = difference(&world, &question, engine).unwrap_or_default();
    let files: Vec<String> = world
        .files()
        .iter()
        .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
        .collect();
    let kinds = world.tables.iter().map(|table| (table.number, table.time));
    format!(
        "{}, seed {seed}: {}\n{reason}\n{}\n{:?}\n{}",
        engine.dialect(),
        question.json(&world),
        world.data(),
        kinds.collect::<Vec<_>>(),
        files.join("---\n")
    )
}

#[derive(Default)]
struct Tally {
    outcomes: BTreeMap<&'static str, usize>,
    wrong: usize,
    first: Option<String>,
    by_composites: usize,
    /// With totals, and with a row beyond the limit.
    beside: [usize; 2],
    /// With a limit per value, and with previous rows.
    by_rows: [usize; 2],
    /// Answered and refused.
    over_bridges: [usize; 2],
}

impl Tally {
    fn add(&mut self, other: Self) {
        for (name, number) in other.outcomes {
            *self.outcomes.entry(name).or_default() += number;
        }
        self.wrong += other.wrong;
        self.by_composites += other.by_composites;
        for (own, more) in self.beside.iter_mut().zip(other.beside) {
            *own += more;
        }
        for (own, more) in self.by_rows.iter_mut().zip(other.by_rows) {
            *own += more;
        }
        for (own, more) in self.over_bridges.iter_mut().zip(other.over_bridges) {
            *own += more;
        }
        self.first = self.first.take().or(other.first);
    }
}

impl Tally {
    fn note_joins(&mut self, world: &World, question: &Question, is_answered: bool) {
        let nodes = question.nodes();
        let tables = question.measures().into_iter().map(|(table, _)| table);
        let mut ways = tables.flat_map(|table| nodes.iter().map(move |node| (table, *node)));
        let is_across = |(table, node): (usize, usize)| match world.bridge {
            Some([bridge, ends @ ..]) if is_answered => table == bridge && ends.contains(&node),
            Some([_, one, other]) => [(one, other), (other, one)].contains(&(table, node)),
            None => false,
        };
        if is_answered {
            let mut ways = ways.clone();
            let is_composite = ways.any(|(table, node)| lookups::is_composite(world, table, node));
            self.by_composites += usize::from(is_composite);
        }
        self.over_bridges[usize::from(!is_answered)] += usize::from(ways.any(is_across));
    }
}

fn worlds(seeds: impl Iterator<Item = u64>, engine: &mut dyn Engine) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        engine.load(&world);
        let catalog = Catalog::load(world.files(), engine.dialect());
        for _ in 0..QUESTIONS {
            let question = Question::random(&world, &mut random);
            let name = match outcome(&world, &question, &catalog, engine) {
                Outcome::Answered => "answered",
                Outcome::Refused(kind) => kind,
                Outcome::Wrong(_) => {
                    tally.wrong += 1;
                    if tally.first.is_none() {
                        tally.first = Some(report(seed, &world, &question, engine));
                        engine.load(&world);
                    }
                    "wrong"
                }
            };
            *tally.outcomes.entry(name).or_default() += 1;
            if name == "answered" {
                match question.beside {
                    Beside::Nothing => {}
                    Beside::Totals => tally.beside[0] += 1,
                    Beside::Others => tally.beside[1] += 1,
                }
                let is_row =
                    |asked: &question::Asked| matches!(asked, question::Asked::RowBefore(..));
                tally.by_rows[0] += usize::from(question.per.is_some());
                tally.by_rows[1] += usize::from(question.asked.iter().any(is_row));
            }
            tally.note_joins(&world, &question, name == "answered");
        }
    }
    tally
}

fn world_count(cases: usize) -> u64 {
    u64::try_from(cases.div_ceil(QUESTIONS)).expect("a small number")
}

fn seeds(cases: usize) -> impl Iterator<Item = u64> {
    let first = std::env::var("KTX_ORACLE_SEED").ok();
    let first = first.map_or(1, |text| text.parse().expect("a seed"));
    (0..world_count(cases)).map(move |at| first + at)
}

fn judge(tally: &Tally, cases: usize) {
    println!(
        "{:?}; answered by keys of several columns: {}; over bridges answered, refused: {:?}; with totals, others: {:?}; \
         with first rows of each value, beside the row before: {:?}",
        tally.outcomes, tally.by_composites, tally.over_bridges, tally.beside, tally.by_rows
    );
    let unchecked = tally.outcomes.get(UNCHECKED).copied().unwrap_or_default();
    assert!(
        unchecked * 500 <= cases,
        "{unchecked} answers are unchecked"
    );
    if let Some(first) = &tally.first {
        panic!(
            "{} questions came out wrong; the first:\n{first}",
            tally.wrong
        );
    }
    assert!(tally.outcomes.values().sum::<usize>() >= cases);
    let answered = tally.outcomes.get("answered").copied().unwrap_or_default();
    assert!(
        answered * 3 > cases,
        "only {answered} questions had an answer"
    );
}

/// Numbers 1 to 9 of the contract, and periods.
#[test]
fn answers_agree_with_brute_force() {
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|rest| {
                let seeds = seeds(cases()).filter(move |seed| seed % THREADS == rest);
                scope.spawn(move || worlds(seeds, &mut Sqlite::default()))
            })
            .collect();
        for thread in threads {
            all.add(thread.join().expect("a tally"));
        }
    });
    judge(&all, cases());
    for kind in [
        "no_time_dimension",
        "ambiguous_time_dimension",
        "bad_window",
        "mixed_time_filter",
        "unbounded_fill",
        "hidden_column",
    ] {
        assert!(
            all.outcomes.contains_key(kind),
            "no question was refused as {kind}"
        );
    }
    let seldom = cases() / 30;
    assert!(
        all.by_composites > seldom,
        "{} by composites",
        all.by_composites
    );
    assert!(
        all.beside[0] > seldom && all.beside[1] > seldom / 4,
        "{:?} with totals, with others",
        all.beside
    );
    assert!(
        all.by_rows.iter().all(|count| *count > seldom / 2),
        "{:?} by rows",
        all.by_rows
    );
    assert!(
        all.over_bridges.iter().all(|count| *count > seldom),
        "{:?} over bridges",
        all.over_bridges
    );
}

#[test]
fn a_kept_index_answers_like_the_whole_catalog() {
    let (mut answered, mut left) = (0, 0);
    for seed in 1..=12 {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        let files = world.files();
        let catalog = Catalog::load(files.clone(), Dialect::Sqlite);
        if catalog.index().is_none() {
            continue;
        }
        for _ in 0..QUESTIONS {
            let question = Question::random(&world, &mut random);
            let query = Query::from_value(&question.json(&world)).expect("a well-formed query");
            let expected = compile(&catalog, &query, Dialect::Sqlite);
            match crate::indexed::partly(&files, &catalog, &query) {
                Some((compiled, _)) => {
                    answered += 1;
                    assert_eq!(expected, Ok(compiled), "{query:?}");
                }
                None => left += usize::from(expected.is_ok()),
            }
        }
    }
    assert!(answered > 5 * left, "{answered} answered, {left} left");
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
    question.segments.clear();
    question.top = None;
    question.beside = Beside::Nothing;
    question.per = None;
    // Simulates that every count of a table with two rows is wrong.
    let mut fails = |world: &World, question: &Question| {
        let is_asked = question
            .asked
            .contains(&question::Asked::Measure(0, measures::COUNT));
        (is_asked && world.tables[0].rows.len() >= 2).then(|| "wrong".to_owned())
    };
    let mut world = world;
    while world.tables[0].rows.len() < 4 {
        let row = world::Row {
            number: None,
            text: None,
            at: None,
            flag: None,
            cells: vec![None; world.tables[0].columns.len()],
        };
        world.tables[0].rows.push(row);
    }
    let (world, question) = shrink::smallest((world, question), &mut fails);
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
