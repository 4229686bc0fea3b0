//! Numbers as they are compared.

use std::cmp::Ordering;

/// Below this a float holds every whole number.
pub(crate) const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// A number of a cell. 0 and -0 are one number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numeral {
    /// The nearest float.
    pub value: f64,
    /// What the float lacks of the number.
    rest: i128,
    /// Whether the number is whole and known exactly.
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

    /// What tells it from other numbers.
    pub(crate) fn bits(self) -> u64 {
        let rest = u64::try_from(self.rest.unsigned_abs()).unwrap_or_default();
        self.value.to_bits() ^ rest.rotate_left(32) ^ u64::from(self.rest < 0)
    }
}

/// Whether two whole numbers that are known exactly are within a tolerance of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WholeNumbers {
    /// They are equal or not: neighbors may be two ids.
    Exact,
    /// As other numbers.
    WithinTolerance,
}

/// How far two numbers may differ and be equal: the larger one of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// As a share of the larger number, below 1.
    pub relative: f64,
    pub absolute: f64,
    pub whole_numbers: WholeNumbers,
}

impl Tolerance {
    /// The tolerance of an evaluation that asks for none: floats are not exact.
    pub const DEFAULT: Self = Self {
        relative: 1e-6,
        absolute: 1e-9,
        whole_numbers: WholeNumbers::Exact,
    };

    /// Within the bounds of its fields.
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

    /// As if no number were known exactly.
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

/// Whether a float is whole, and each of its neighbors has a float of its own.
fn is_exact(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < LARGEST_EXACT
}

pub(crate) fn nearest_float(number: i128) -> f64 {
    number.to_string().parse().unwrap_or(f64::NAN)
}
