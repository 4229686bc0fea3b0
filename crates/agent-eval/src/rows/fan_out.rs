//! Detects numbers that a join multiplied.

use super::coding::{TableCoding, extend_fingerprint};
use super::columns::ColumnMapping;
use super::numeral::{Numeral, Tolerance};
use super::table::{Cell, Table};

/// Returns the whole factor, at least 2, of every different number. `None` if it could be chance:
/// every whole number is a multiple of 1, and one number alone proves nothing.
///
/// Columns with equal values on both sides identify the rows; the others are compared with the
/// agent's remaining columns.
pub(crate) fn factor(
    gold: &Table,
    actual: &Table,
    coding: &TableCoding,
    mapping: &ColumnMapping,
    tolerance: Tolerance,
) -> Option<u64> {
    if gold.rows.len() != actual.rows.len() {
        return None;
    }
    let mut sides = KeyedTables {
        gold_keys: vec![0; gold.rows.len()],
        actual_keys: vec![0; gold.rows.len()],
        gold,
        actual,
        tolerance,
    };
    let mut is_free = vec![true; actual.columns.len()];
    let mut measures = Vec::new();
    for (one, two) in mapping.0.iter().enumerate() {
        let (left, right) = (&coding.gold.columns[one], &coding.actual.columns[*two]);
        if has_same_values(left, right) {
            is_free[*two] = false;
            add(&mut sides.gold_keys, left);
            add(&mut sides.actual_keys, right);
        } else {
            measures.push(one);
        }
    }
    let mut evidence: Option<Evidence> = None;
    for measure in measures {
        let free = (0..is_free.len()).filter(|column| is_free[*column]);
        let mut fitting =
            free.filter_map(|column| Some((column, sides.evidence_of(measure, column)?)));
        let fits = |found: &Evidence| evidence.is_none_or(|it| it.factor == found.factor);
        let (column, found) = fitting.find(|(_, found)| fits(found))?;
        evidence = Some(evidence.map_or(found, |before| before.with(found)));
        is_free[column] = false;
    }
    let evidence = evidence?;
    evidence
        .is_proof(gold.rows.len())
        .then_some(evidence.factor)
}

#[derive(Debug, Clone, Copy)]
struct Evidence {
    factor: u64,
    numbers: usize,
    /// A reference number does not divide every whole number.
    is_distinctive: bool,
}

impl Evidence {
    const fn with(self, other: Self) -> Self {
        Self {
            numbers: self.numbers + other.numbers,
            is_distinctive: self.is_distinctive || other.is_distinctive,
            ..self
        }
    }

    const fn is_proof(self, rows: usize) -> bool {
        let is_repeated = self.numbers > 1;
        let is_one_of_rows = rows > 1;
        (is_repeated && self.is_distinctive)
            || (is_one_of_rows && (is_repeated || self.is_distinctive))
    }
}

fn has_same_values(left: &[u32], right: &[u32]) -> bool {
    let sorted = |codes: &[u32]| {
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        codes
    };
    sorted(left) == sorted(right)
}

fn add(rows: &mut [u64], column: &[u32]) {
    for (row, code) in rows.iter_mut().zip(column) {
        *row = extend_fingerprint(*row, *code);
    }
}

/// Both tables, with hashes that identify rows.
struct KeyedTables<'a> {
    gold: &'a Table,
    actual: &'a Table,
    gold_keys: Vec<u64>,
    actual_keys: Vec<u64>,
    tolerance: Tolerance,
}

impl KeyedTables<'_> {
    fn evidence_of(&self, measure: usize, column: usize) -> Option<Evidence> {
        let left = numbers(self.gold, &self.gold_keys, measure)?;
        let right = numbers(self.actual, &self.actual_keys, column)?;
        let mut evidence: Option<Evidence> = None;
        for ((key, one), (other_key, two)) in left.into_iter().zip(right) {
            let (one, two) = match (one, two) {
                _ if key != other_key => return None,
                (None, None) => continue,
                (Some(one), Some(two)) => (one, two),
                _ => return None,
            };
            if self.tolerance.accepts(one, two) {
                continue;
            }
            let found = Evidence {
                factor: whole_factor(one.value, two.value)?,
                numbers: 1,
                is_distinctive: (one.value.abs() - 1.0).abs() > f64::EPSILON,
            };
            if evidence.is_some_and(|before| before.factor != found.factor) {
                return None;
            }
            evidence = Some(evidence.map_or(found, |before| before.with(found)));
        }
        evidence
    }
}

/// Returns sorted keys and numbers; `None` if the column has anything but numbers and NULL.
fn numbers(table: &Table, keys: &[u64], column: usize) -> Option<Vec<(u64, Option<Numeral>)>> {
    let mut numbers = Vec::with_capacity(keys.len());
    for (row, key) in table.rows.iter().zip(keys) {
        numbers.push(match &row[column] {
            Cell::Null => (*key, None),
            cell => (*key, Some(cell.numeral()?)),
        });
    }
    numbers.sort_by(|left, right| {
        let size =
            |number: Option<Numeral>| number.map_or(f64::NEG_INFINITY, |number| number.value.abs());
        let sizes = size(left.1).total_cmp(&size(right.1));
        left.0.cmp(&right.0).then(sizes)
    });
    Some(numbers)
}

fn whole_factor(one: f64, two: f64) -> Option<u64> {
    const TOLERANCE: f64 = 1e-6;
    let ratio = two / one;
    let nearest = ratio.round();
    let is_whole = (ratio - nearest).abs() <= TOLERANCE * nearest;
    if !is_whole || !(2.0..=1e9).contains(&nearest) {
        return None;
    }
    nearest.to_string().parse().ok()
}
