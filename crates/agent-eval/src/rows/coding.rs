//! Cells as numbers, so that tables are compared without looking at cells again.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::DateTime;

use super::table::{Cell, Table};

/// How far two numbers may differ and be equal: the larger one of both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance {
    /// As a share of the larger number, below 1.
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    pub(crate) fn accepts(self, left: f64, right: f64) -> bool {
        if left.is_nan() || right.is_nan() {
            return left.is_nan() && right.is_nan();
        }
        let scale = left.abs().max(right.abs());
        left.total_cmp(&right).is_eq()
            || scale.is_finite() && (left - right).abs() <= self.absolute.max(self.relative * scale)
    }
}

/// A table whose cells are codes, by columns.
pub(crate) struct Coded {
    pub columns: Vec<Vec<u32>>,
    pub rows: usize,
}

/// Two tables in one code.
///
/// Equal cells have equal codes. Cells with equal codes are equal unless `has_chains`: then some numbers are only linked
/// by numbers between them, each within the tolerance of the next one.
pub(crate) struct Coding {
    pub gold: Coded,
    pub actual: Coded,
    pub has_chains: bool,
}

impl Coding {
    pub(crate) fn of(gold: &Table, actual: &Table, tolerance: Tolerance) -> Self {
        let mut coder = Coder::of(&[gold, actual], tolerance);
        Self {
            gold: coder.code(gold),
            actual: coder.code(actual),
            has_chains: coder.has_chains,
        }
    }
}

struct Coder<'t> {
    /// All numbers, in order, with their codes.
    numbers: Vec<f64>,
    number_codes: Vec<u32>,
    has_chains: bool,
    texts: HashMap<&'t str, u32>,
    times: BTreeMap<DateTime, u32>,
    next: u32,
}

const NULL: u32 = 0;
const FALSE: u32 = 1;
const TRUE: u32 = 2;

/// The numbers among some cells, in order. 0 and -0 are one number.
pub(super) fn ordered_numbers<'t>(cells: impl Iterator<Item = &'t Cell>) -> Vec<f64> {
    let mut numbers: Vec<f64> = cells
        .filter_map(|cell| match cell {
            Cell::Number(number) => Some(number + 0.0),
            _ => None,
        })
        .collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers
}

impl Coder<'_> {
    fn of(tables: &[&Table], tolerance: Tolerance) -> Self {
        let cells = tables.iter().flat_map(|table| table.rows.iter().flatten());
        let mut numbers = ordered_numbers(cells);
        numbers.dedup_by(|left, right| left.total_cmp(right).is_eq());
        let mut coder = Self {
            number_codes: Vec::with_capacity(numbers.len()),
            has_chains: false,
            texts: HashMap::new(),
            times: BTreeMap::new(),
            next: TRUE + 1,
            numbers: Vec::new(),
        };
        coder.link(&numbers, tolerance);
        coder.numbers = numbers;
        coder
    }

    /// Gives neighbors within the tolerance one code.
    fn link(&mut self, numbers: &[f64], tolerance: Tolerance) {
        let mut first = 0;
        for (index, number) in numbers.iter().enumerate() {
            if index > 0 && !tolerance.accepts(numbers[index - 1], *number) {
                first = index;
                self.next += 1;
            }
            self.has_chains |= !tolerance.accepts(numbers[first], *number);
            self.number_codes.push(self.next);
        }
        self.next += 1;
    }
}

impl<'t> Coder<'t> {
    fn code(&mut self, table: &'t Table) -> Coded {
        let mut columns = vec![Vec::with_capacity(table.rows.len()); table.columns.len()];
        for row in &table.rows {
            for (column, cell) in columns.iter_mut().zip(row) {
                column.push(self.code_of(cell));
            }
        }
        Coded {
            columns,
            rows: table.rows.len(),
        }
    }

    fn code_of(&mut self, cell: &'t Cell) -> u32 {
        let code = match cell {
            Cell::Null => return NULL,
            Cell::Bool(false) => return FALSE,
            Cell::Bool(true) => return TRUE,
            Cell::Number(number) => {
                let number = number + 0.0;
                let place = self.numbers.binary_search_by(|it| it.total_cmp(&number));
                let place = place.unwrap_or_else(|place| place);
                return self.number_codes.get(place).copied().unwrap_or(NULL);
            }
            Cell::Text(text) => *self.texts.entry(text.as_str()).or_insert(self.next),
            Cell::Time(time) => *self.times.entry(*time).or_insert(self.next),
        };
        if code == self.next {
            self.next += 1;
        }
        code
    }
}

/// Spreads the bits of `value` (the finalizer of `SplitMix64`).
pub(crate) fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The hash of a row with one more code.
pub(crate) fn extended(row: u64, code: u32) -> u64 {
    mixed(row.rotate_left(17) ^ u64::from(code))
}

/// A number that equal multisets share, and that different ones share only by a chance of 2⁻⁶⁴ and less.
pub(crate) fn fingerprint(hashes: impl IntoIterator<Item = u64>) -> u128 {
    hashes.into_iter().fold(0, |sum: u128, hash| {
        let wide = u128::from(mixed(hash)) << 64 | u128::from(mixed(!hash));
        sum.wrapping_add(wide)
    })
}
