//! Encodes cells as numbers for fast comparison.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::DateTime;

use super::numeral::{Numeral, Tolerance, WholeNumbers};
use super::table::{Cell, Table};

/// Codes of cells, by column.
pub(crate) struct TableCodes {
    pub columns: Vec<Vec<u32>>,
    pub rows: usize,
}

/// Two tables in one code.
///
/// Equal cells have equal codes. Cells with equal codes are equal unless `has_chains`: then some
/// numbers are only linked through others, each within the tolerance of the next.
pub(crate) struct TableCoding {
    pub gold: TableCodes,
    pub actual: TableCodes,
    pub has_chains: bool,
}

impl TableCoding {
    pub(crate) fn of(gold: &Table, actual: &Table, tolerance: Tolerance) -> Self {
        let mut coder = CellCoder::of(&[gold, actual], tolerance);
        Self {
            gold: coder.code(gold),
            actual: coder.code(actual),
            has_chains: coder.has_chains,
        }
    }
}

struct CellCoder<'t> {
    numbers: Vec<Numeral>,
    number_codes: Vec<u32>,
    has_chains: bool,
    texts: HashMap<&'t str, u32>,
    times: BTreeMap<DateTime, u32>,
    next: u32,
}

const NULL: u32 = 0;
const FALSE: u32 = 1;
const TRUE: u32 = 2;

pub(super) fn ordered_numbers<'t>(cells: impl Iterator<Item = &'t Cell>) -> Vec<Numeral> {
    let mut numbers: Vec<Numeral> = cells.filter_map(Cell::numeral).collect();
    numbers.sort_unstable_by(Numeral::order);
    numbers
}

impl CellCoder<'_> {
    fn of(tables: &[&Table], tolerance: Tolerance) -> Self {
        let cells = tables.iter().flat_map(|table| table.rows.iter().flatten());
        let mut numbers = ordered_numbers(cells);
        numbers.dedup_by(|left, right| left.order(right).is_eq());
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

    /// Neighbors within the tolerance share a code. Exact numbers do not, unless an inexact number
    /// links them.
    fn link(&mut self, numbers: &[Numeral], tolerance: Tolerance) {
        let are_near = |left: &Numeral, right: &Numeral| tolerance.is_near(*left, *right);
        for group in numbers.chunk_by(are_near) {
            let is_exact = tolerance.whole_numbers == WholeNumbers::Exact
                && group.iter().all(|number| number.is_exact);
            let mut exact = group.iter().filter(|number| number.is_exact);
            if let (Some(first), Some(last)) = (group.first(), group.last())
                && !is_exact
            {
                let is_apart = tolerance.whole_numbers == WholeNumbers::Exact
                    && exact.by_ref().take(2).count() == 2;
                self.has_chains |= is_apart || !tolerance.is_near(*first, *last);
            }
            for _ in group {
                self.number_codes.push(self.next);
                self.next += u32::from(is_exact);
            }
            self.next += u32::from(!is_exact);
        }
    }
}

impl<'t> CellCoder<'t> {
    fn code(&mut self, table: &'t Table) -> TableCodes {
        let mut columns = vec![Vec::with_capacity(table.rows.len()); table.columns.len()];
        for row in &table.rows {
            for (column, cell) in columns.iter_mut().zip(row) {
                column.push(self.code_of(cell));
            }
        }
        TableCodes {
            columns,
            rows: table.rows.len(),
        }
    }

    fn code_of(&mut self, cell: &'t Cell) -> u32 {
        let code = match cell {
            Cell::Null => return NULL,
            Cell::Bool(false) => return FALSE,
            Cell::Bool(true) => return TRUE,
            Cell::Number(number) => return self.code_of_number(Numeral::of(*number)),
            Cell::Whole(number) => return self.code_of_number(Numeral::whole(*number)),
            Cell::Text(text) => *self.texts.entry(text.as_str()).or_insert(self.next),
            Cell::Time(time) => *self.times.entry(*time).or_insert(self.next),
        };
        if code == self.next {
            self.next += 1;
        }
        code
    }
}

impl CellCoder<'_> {
    fn code_of_number(&self, number: Numeral) -> u32 {
        let place = self.numbers.binary_search_by(|it| it.order(&number));
        let place = place.unwrap_or_else(|place| place);
        self.number_codes.get(place).copied().unwrap_or(NULL)
    }
}

/// The finalizer of `SplitMix64`.
pub(crate) fn mix_bits(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

pub(crate) fn extend_fingerprint(row: u64, code: u32) -> u64 {
    mix_bits(row.rotate_left(17) ^ u64::from(code))
}

/// Hashes a multiset, with a collision chance of at most 2⁻⁶⁴.
pub(crate) fn fingerprint(hashes: impl IntoIterator<Item = u64>) -> u128 {
    hashes.into_iter().fold(0, |sum: u128, hash| {
        let wide = u128::from(mix_bits(hash)) << 64 | u128::from(mix_bits(!hash));
        sum.wrapping_add(wide)
    })
}
