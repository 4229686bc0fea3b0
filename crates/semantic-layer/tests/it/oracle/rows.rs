//! Random rows: keys with NULL parts, dangling keys, partially matching keys.

use super::calendar;
use super::calendar::At;
use super::measures::real;
use super::world::{Cell, FIRST, Key, NumberKind, Row, Table, TimeKind};
use ktx_test_support::random::Random;

const TEXTS: [Option<&str>; 4] = [Some("a"), Some("b"), Some("c"), None];

/// Few, so that single columns of a composite key have duplicates.
const WORDS: [&str; 3] = ["x", "y", "z"];

/// Attempts to generate a distinct row.
const TRIES: usize = 12;

/// The grain and unique keys are unique.
pub(super) fn random(
    random: &mut Random,
    own: &Table,
    at: usize,
    tables: &[Table],
    spread: usize,
) -> Vec<Row> {
    let count = random.below(9);
    let mut rows: Vec<Row> = Vec::new();
    for _ in 0..count {
        for try_ in 0..TRIES {
            // Keys that are hard to make unique are more often NULL.
            let empty = if try_ < TRIES / 2 { 15 } else { 60 };
            let cells = cells(random, (own, at, empty), tables, &rows);
            let row = row(random, own, spread, cells);
            let unique = own.keys.iter().filter(|key| key.is_unique);
            let mut sets = unique
                .map(|key| &key.columns)
                .chain(std::iter::once(&own.grain));
            let is_new = |columns: &Vec<usize>| {
                let key = row.key(columns);
                key.is_none() || !rows.iter().any(|other| other.key(columns) == key)
            };
            if sets.all(is_new) {
                rows.push(row);
                break;
            }
        }
    }
    rows
}

/// NULL equals no value.
pub(super) fn are_told_apart(rows: &[Row], columns: &[usize]) -> bool {
    let keys: Vec<Vec<Cell>> = rows.iter().filter_map(|row| row.key(columns)).collect();
    keys.iter()
        .enumerate()
        .all(|(at, key)| !keys[..at].contains(key))
}

/// Values of the grain, then of each key.
fn cells(
    random: &mut Random,
    (own, at, empty): (&Table, usize, usize),
    tables: &[Table],
    rows: &[Row],
) -> Vec<Option<Cell>> {
    let mut cells: Vec<Option<Cell>> = vec![None; own.columns.len()];
    let mut is_set = vec![false; own.columns.len()];
    for place in own.grain.iter().copied() {
        let is_of_key = |key: &Key| key.target != at && key.columns.contains(&place);
        if own.grain.len() > 1 && own.keys.iter().any(is_of_key) {
            continue;
        }
        cells[place] = if own.grain.len() == 1 {
            Some(Cell::Integer(whole(rows.len()) + 1))
        } else {
            (!random.chance(4)).then(|| some(random, own.columns[place].is_text, 3))
        };
        is_set[place] = true;
    }
    for key in &own.keys {
        let found = tables.get(key.target).filter(|_| key.target != at);
        let (others, grain) = found.map_or((rows, &own.grain), |one| (&one.rows[..], &one.grain));
        let hit = random.chance(75) && !others.is_empty();
        let hit = hit.then(|| &others[random.below(others.len())]);
        let without = random
            .chance(empty)
            .then(|| random.below(key.columns.len()));
        let beside = random.chance(10).then(|| random.below(key.columns.len()));
        for (part, place) in key.columns.iter().copied().enumerate() {
            if is_set[place] {
                continue;
            }
            let is_text = own.columns[place].is_text;
            let range = if key.columns.len() == 1 {
                others.len() + 1
            } else {
                3
            };
            cells[place] = match hit {
                _ if without == Some(part) => None,
                Some(row) if beside != Some(part) => row.cells[grain[part]],
                _ => Some(some(random, is_text, range)),
            };
            is_set[place] = true;
        }
    }
    cells
}

fn some(random: &mut Random, is_text: bool, range: usize) -> Cell {
    if is_text {
        Cell::Text(random.pick::<&str>(&WORDS))
    } else {
        Cell::Integer(whole(random.below(range)) + 1)
    }
}

fn row(random: &mut Random, own: &Table, spread: usize, cells: Vec<Option<Cell>>) -> Row {
    let (year, month, day) = FIRST;
    let has_minute = own.time != TimeKind::Date && random.chance(40);
    let at = At {
        day: calendar::day(year, month, day) + whole(random.below(spread)),
        minute: has_minute.then(|| whole(random.below(4)) * 359 + 1),
    };
    let number = if own.number == NumberKind::Integer {
        real(whole(random.below(7)))
    } else {
        real(whole(random.below(25))) / 4.0
    };
    Row {
        number: (!random.chance(20)).then_some(number),
        text: *random.pick(&TEXTS),
        at: (!random.chance(10)).then_some(at),
        flag: *random.pick(&[Some(true), Some(false), None]),
        cells,
    }
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).expect("a small number")
}
