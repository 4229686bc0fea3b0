//! Maps the reference's columns to the agent's.

use super::coding::{TableCoding, extend_fingerprint, fingerprint, mix_bits, ordered_numbers};
use super::numeral::{Numeral, Tolerance};
use super::table::Table;

/// Maximum pairs of columns tried.
pub(crate) const MOST_TRIES: usize = 10_000;

/// The agent's column for each reference column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnMapping(pub Vec<usize>);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MappingResult {
    Mapping(ColumnMapping),
    Nothing,
    OutOfTries,
}

/// A confirmation can look at each pair of rows.
const CONFIRMATION: usize = MOST_TRIES / 20;

#[derive(Clone, Copy)]
pub(crate) struct ComparedTables<'a> {
    pub gold: &'a Table,
    pub actual: &'a Table,
    pub coding: &'a TableCoding,
    pub tolerance: Tolerance,
}

/// Searches for a mapping under which the rows are equal multisets within each of `blocks`.
/// `confirm` compares more than codes.
pub(crate) fn search(
    sides: ComparedTables<'_>,
    blocks: &[u64],
    confirm: &mut dyn FnMut(&ColumnMapping) -> bool,
) -> MappingResult {
    let coding = sides.coding;
    if coding.gold.rows != coding.actual.rows {
        return MappingResult::Nothing;
    }
    let candidates = candidates(sides);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|column| candidates[*column].len());
    let mut rows = blocks.to_vec();
    let mut prints = Vec::with_capacity(order.len());
    for column in &order {
        add(&mut rows, &coding.gold.columns[*column]);
        prints.push(fingerprint(rows.iter().copied()));
    }
    let mut search = ColumnSearch {
        coding,
        candidates,
        order,
        prints,
        contents: contents(sides),
        chosen: vec![None; coding.gold.columns.len()],
        is_used: vec![false; coding.actual.columns.len()],
        tries: 0,
        confirm,
    };
    match search.extend(0, blocks) {
        Some(true) => {
            MappingResult::Mapping(ColumnMapping(search.chosen.into_iter().flatten().collect()))
        }
        Some(false) => MappingResult::Nothing,
        None => MappingResult::OutOfTries,
    }
}

fn add(rows: &mut [u64], column: &[u32]) {
    for (row, code) in rows.iter_mut().zip(column) {
        *row = extend_fingerprint(*row, *code);
    }
}

/// Returns, for each reference column, the agent's columns with equal values, the one at its place
/// first.
fn candidates(sides: ComparedTables<'_>) -> Vec<Vec<usize>> {
    let coding = sides.coding;
    let prints = |columns: &[Vec<u32>]| -> Vec<u128> {
        let print = |column: &Vec<u32>| fingerprint(column.iter().map(|code| u64::from(*code)));
        columns.iter().map(print).collect()
    };
    let (gold, actual) = (prints(&coding.gold.columns), prints(&coding.actual.columns));
    let numbers = coding
        .has_chains
        .then(|| (sorted_numbers(sides.gold), sorted_numbers(sides.actual)));
    let fits = |one: usize, two: usize| {
        numbers.as_ref().is_none_or(|(left, right)| {
            let mut pairs = left[one].iter().zip(&right[two]);
            pairs.all(|(left, right)| sides.tolerance.is_near(*left, *right))
        })
    };
    let of = |(place, print): (usize, &u128)| {
        let mut same: Vec<usize> = (0..actual.len())
            .filter(|column| actual[*column] == *print && fits(place, *column))
            .collect();
        same.sort_by_key(|column| *column != place);
        same
    };
    gold.iter().enumerate().map(of).collect()
}

/// If columns can be paired within a tolerance, then in this order.
fn sorted_numbers(table: &Table) -> Vec<Vec<Numeral>> {
    let of = |column: usize| ordered_numbers(table.rows.iter().map(|row| &row[column]));
    (0..table.columns.len()).map(of).collect()
}

/// Columns that are equal row by row share a hash. Codes are not enough for linked numbers.
fn contents(sides: ComparedTables<'_>) -> Vec<u64> {
    let of = |(column, codes): (usize, &Vec<u32>)| {
        let rows = codes.iter().zip(&sides.actual.rows);
        rows.fold(0, |hash, (code, row)| match row[column].numeral() {
            Some(number) if sides.coding.has_chains => {
                mix_bits(extend_fingerprint(hash, *code) ^ number.bits())
            }
            _ => extend_fingerprint(hash, *code),
        })
    };
    let columns = sides.coding.actual.columns.iter().enumerate();
    columns.map(of).collect()
}

struct ColumnSearch<'a> {
    coding: &'a TableCoding,
    candidates: Vec<Vec<usize>>,
    /// Fewest candidates first.
    order: Vec<usize>,
    /// Fingerprints of the rows after each column.
    prints: Vec<u128>,
    contents: Vec<u64>,
    chosen: Vec<Option<usize>>,
    is_used: Vec<bool>,
    tries: usize,
    confirm: &'a mut dyn FnMut(&ColumnMapping) -> bool,
}

impl ColumnSearch<'_> {
    /// Maps the columns from `depth`, given the row hashes so far; `None` if the tries are used up.
    fn extend(&mut self, depth: usize, rows: &[u64]) -> Option<bool> {
        let Some(column) = self.order.get(depth).copied() else {
            if self.coding.has_chains {
                self.pay(CONFIRMATION)?;
            }
            let mapping = ColumnMapping(self.chosen.iter().flatten().copied().collect());
            return Some((self.confirm)(&mapping));
        };
        let mut tried: Vec<u64> = Vec::new();
        for candidate in self.candidates[column].clone() {
            let content = self.contents[candidate];
            if self.is_used[candidate] || tried.contains(&content) {
                continue;
            }
            tried.push(content);
            self.pay(1)?;
            let mut next = rows.to_vec();
            add(&mut next, &self.coding.actual.columns[candidate]);
            if fingerprint(next.iter().copied()) != self.prints[depth] {
                continue;
            }
            self.is_used[candidate] = true;
            self.chosen[column] = Some(candidate);
            if self.extend(depth + 1, &next)? {
                return Some(true);
            }
            self.is_used[candidate] = false;
            self.chosen[column] = None;
        }
        Some(false)
    }

    fn pay(&mut self, tries: usize) -> Option<()> {
        self.tries += tries;
        (self.tries <= MOST_TRIES).then_some(())
    }
}

/// Returns the mapping that shares most values; ties prefer one kind, then one place. `None` if the
/// agent has too few columns.
pub(crate) fn nearest(
    coding: &TableCoding,
    is_alike: impl Fn(usize, usize) -> bool,
) -> Option<ColumnMapping> {
    let sorted = |columns: &[Vec<u32>]| -> Vec<Vec<u32>> {
        let mut columns = columns.to_vec();
        for column in &mut columns {
            column.sort_unstable();
        }
        columns
    };
    let (gold, actual) = (sorted(&coding.gold.columns), sorted(&coding.actual.columns));
    if actual.len() < gold.len() {
        return None;
    }
    let mut pairs = Vec::with_capacity(gold.len() * actual.len());
    for (one, left) in gold.iter().enumerate() {
        for (two, right) in actual.iter().enumerate() {
            let rank = (shared(left, right), is_alike(one, two), one == two);
            pairs.push((rank, one, two));
        }
    }
    pairs.sort_by(|left, right| {
        let places = (left.1, left.2).cmp(&(right.1, right.2));
        right.0.cmp(&left.0).then(places)
    });
    let mut chosen = vec![None; gold.len()];
    let mut is_used = vec![false; actual.len()];
    for (_, one, two) in pairs {
        if chosen[one].is_none() && !is_used[two] {
            chosen[one] = Some(two);
            is_used[two] = true;
        }
    }
    Some(ColumnMapping(chosen.into_iter().flatten().collect()))
}

fn shared(left: &[u32], right: &[u32]) -> usize {
    let mut right = right.iter().peekable();
    let mut shared = 0;
    for code in left {
        while right.next_if(|other| *other < code).is_some() {}
        shared += usize::from(right.next_if_eq(&code).is_some());
    }
    shared
}
