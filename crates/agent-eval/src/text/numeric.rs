//! The evaluator of numbers.

use super::answer_line;
use super::number::{DecimalSign, NumberStyle, numbers};
use crate::{EvaluationError, FailureClass, Grade};

/// Which number of an answer is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberPick {
    /// That of the last line that begins with `Answer:`, else the only number.
    AnswerLine,
    /// The first number.
    First,
    /// The last number.
    Last,
    /// The one that is nearest to the truth.
    Any,
}

/// How a number is found and compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumericOptions {
    /// Which number is meant.
    pub pick: NumberPick,
    /// The difference that passes.
    pub absolute_tolerance: f64,
    /// The difference that passes, as a share of the truth.
    pub relative_tolerance: f64,
    /// Whether `5 %` is 0.05; else it is 5.
    pub accept_percent: bool,
    /// Whether digits may be in groups of three.
    pub accept_thousands_separators: bool,
    /// The sign before decimals.
    pub decimal: DecimalSign,
}

impl NumericOptions {
    /// The options of an evaluation that is written in the file and sets none.
    pub const WRITTEN: Self = Self {
        pick: NumberPick::AnswerLine,
        absolute_tolerance: 1e-6,
        relative_tolerance: 0.0,
        accept_percent: false,
        accept_thousands_separators: false,
        decimal: DecimalSign::Point,
    };

    /// The options of an evaluation that follows from the kind of the ground truth.
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

/// 1 when the number of the answer is `truth` within the larger one of both tolerances, bounds included.
///
/// # Errors
/// [`EvaluationError::AmbiguousNumber`] when `AnswerLine` finds different numbers, and
/// [`EvaluationError::ReferenceNotFinite`].
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
    // 1.1 is within 0.1 of 1, although its nearest binary fraction is not.
    let rounding = 4.0 * f64::EPSILON * number.abs().max(truth.abs());
    (number - truth).abs() <= tolerance + rounding
}
