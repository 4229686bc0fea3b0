//! What an answer may cost.

use crate::{EvaluationError, FailureClass, Grade};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// US dollars at list prices.
    Cost,
    /// Tokens, input and output.
    Tokens,
    /// Seconds.
    Seconds,
    /// Messages of the model.
    Steps,
}

impl Measure {
    const fn unit(self) -> &'static str {
        match self {
            Self::Cost => "dollars",
            Self::Tokens => "tokens",
            Self::Seconds => "seconds",
            Self::Steps => "steps",
        }
    }
}

/// 1 when `measured` is at most `max`, else 0.
///
/// # Errors
/// [`EvaluationError::NotMeasured`] when the backend does not say.
pub fn grade_measure(
    measure: Measure,
    measured: Option<f64>,
    max: f64,
) -> Result<Grade, EvaluationError> {
    let unit = measure.unit();
    let Some(measured) = measured.filter(|value| value.is_finite()) else {
        return Err(EvaluationError::NotMeasured(unit));
    };
    Ok(if measured <= max {
        Grade::full()
    } else {
        let reason = format!("{measured} {unit}, at most {max}");
        Grade::failed(FailureClass::OverLimit, reason)
    })
}
