//! The evaluator of numbers.

use super::answer_line;
use super::number::{DecimalSign, NumberStyle, numbers};
use crate::{EvaluationError, FailureClass, Grade};

/// Selects one number of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberPick {
    /// The number in the last `Answer:` line; without such a line, the only number of the text.
    AnswerLine,
    First,
    Last,
    /// Nearest to the truth.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumericOptions {
    pub pick: NumberPick,
    pub absolute_tolerance: f64,
    /// Share of the truth.
    pub relative_tolerance: f64,
    /// `5 %` is 0.05, not 5.
    pub accept_percent: bool,
    /// Groups of three digits.
    pub accept_thousands_separators: bool,
    pub decimal: DecimalSign,
}

impl NumericOptions {
    /// Default options in the file.
    pub const WRITTEN: Self = Self {
        pick: NumberPick::AnswerLine,
        absolute_tolerance: 1e-6,
        relative_tolerance: 0.0,
        accept_percent: false,
        accept_thousands_separators: false,
        decimal: DecimalSign::Point,
    };

    /// Options of inferred evaluations.
    pub const INFERRED: Self = Self {
        accept_thousands_separators: true,
        ..Self::WRITTEN
    };

    fn numbers(&self, text: &str) -> Vec<f64> {
        let style = NumberStyle {
            accept_percent: self.accept_percent,
            accept_groups: self.accept_thousands_separators,
            decimal: self.decimal,
        };
        numbers(text, style)
    }
}

/// Returns 1 if the number is within the larger tolerance, bounds included.
///
/// # Errors
/// [`EvaluationError::AmbiguousNumber`] and [`EvaluationError::ReferenceNotFinite`].
pub fn numeric(
    answer: &str,
    truth: f64,
    options: &NumericOptions,
) -> Result<Grade, EvaluationError> {
    if !truth.is_finite() {
        return Err(EvaluationError::ReferenceNotFinite);
    }
    let found = match options.pick {
        NumberPick::AnswerLine => options.numbers(answer_line(answer).unwrap_or(answer)),
        _ => options.numbers(answer),
    };
    let Some(number) = pick(&found, truth, options.pick)? else {
        return Ok(Grade::failed(
            FailureClass::Refused,
            "the answer has no number",
        ));
    };
    Ok(if is_within(number, truth, options) {
        Grade::full()
    } else {
        let reason = format!("{number} is not {truth}");
        Grade::failed(FailureClass::WrongValue, reason)
    }
    .with("number", number))
}

fn pick(found: &[f64], truth: f64, pick: NumberPick) -> Result<Option<f64>, EvaluationError> {
    match pick {
        NumberPick::First => Ok(found.first().copied()),
        NumberPick::Last => Ok(found.last().copied()),
        NumberPick::Any => Ok(found
            .iter()
            .copied()
            .min_by(|left, right| (left - truth).abs().total_cmp(&(right - truth).abs()))),
        NumberPick::AnswerLine => {
            let mut different: Vec<f64> = Vec::new();
            for number in found {
                if !different.contains(number) {
                    different.push(*number);
                }
            }
            match different.as_slice() {
                [] => Ok(None),
                [number] => Ok(Some(*number)),
                _ => Err(EvaluationError::AmbiguousNumber(different)),
            }
        }
    }
}

fn is_within(number: f64, truth: f64, options: &NumericOptions) -> bool {
    let relative = options.relative_tolerance * truth.abs();
    let tolerance = options.absolute_tolerance.max(relative);
    // 1.1 is within 0.1 of 1, despite binary rounding.
    let rounding = 4.0 * f64::EPSILON * number.abs().max(truth.abs());
    (number - truth).abs() <= tolerance + rounding
}
