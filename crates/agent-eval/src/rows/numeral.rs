//! Numbers for comparison.

use std::cmp::Ordering;

/// Floats below are exact for whole numbers.
pub(crate) const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// 0 and -0 are equal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numeral {
    /// Nearest float.
    pub value: f64,
    /// The number minus the float.
    rest: i128,
    /// True for exact whole numbers.
    pub is_exact: bool,
}

impl Numeral {
    pub(crate) fn of(number: f64) -> Self {
        Self {
            value: number + 0.0,
            rest: 0,
            is_exact: is_exact(number),
        }
    }

    pub(crate) fn whole(number: i128) -> Self {
        let value = nearest_float(number);
        let held: i128 = format!("{value:.0}").parse().unwrap_or(number);
        Self {
            value,
            rest: number.saturating_sub(held),
            is_exact: true,
        }
    }

    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let by_value = self.value.total_cmp(&other.value);
        by_value.then(self.rest.cmp(&other.rest))
    }

    pub(crate) fn bits(self) -> u64 {
        let rest = u64::try_from(self.rest.unsigned_abs()).unwrap_or_default();
        self.value.to_bits() ^ rest.rotate_left(32) ^ u64::from(self.rest < 0)
    }
}

/// How exact whole numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WholeNumbers {
    /// Neighbors can be two ids.
    Exact,
    WithinTolerance,
}

/// Maximum difference: the larger of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Share of the larger number, below 1.
    pub relative: f64,
    pub absolute: f64,
    pub whole_numbers: WholeNumbers,
}

impl Tolerance {
    pub const DEFAULT: Self = Self {
        relative: 1e-6,
        absolute: 1e-9,
        whole_numbers: WholeNumbers::Exact,
    };

    pub(crate) const fn bounded(self) -> Self {
        Self {
            relative: self.relative.clamp(0.0, 0.999_999),
            absolute: self.absolute.max(0.0),
            ..self
        }
    }

    pub(crate) fn accepts(self, left: Numeral, right: Numeral) -> bool {
        if self.whole_numbers == WholeNumbers::Exact && left.is_exact && right.is_exact {
            return left.order(&right).is_eq();
        }
        self.is_near(left, right)
    }

    /// Compares as floats, even exact numbers.
    pub(crate) fn is_near(self, left: Numeral, right: Numeral) -> bool {
        let (left, right) = (left.value, right.value);
        if left.is_nan() || right.is_nan() {
            return left.is_nan() && right.is_nan();
        }
        let scale = left.abs().max(right.abs());
        left.total_cmp(&right).is_eq()
            || scale.is_finite() && (left - right).abs() <= self.absolute.max(self.relative * scale)
    }
}

/// True for a whole float whose neighbors are floats, too.
fn is_exact(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < LARGEST_EXACT
}

pub(crate) fn nearest_float(number: i128) -> f64 {
    number.to_string().parse().unwrap_or(f64::NAN)
}
