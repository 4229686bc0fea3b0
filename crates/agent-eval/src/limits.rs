//! Limits on the cost of an answer.

use crate::{EvaluationError, FailureClass, Grade};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitMeasure {
    /// US dollars at list prices.
    Cost,
    Tokens,
    Seconds,
    /// Messages of the model.
    Steps,
}

impl LimitMeasure {
    const fn unit(self) -> &'static str {
        match self {
            Self::Cost => "dollars",
            Self::Tokens => "tokens",
            Self::Seconds => "seconds",
            Self::Steps => "steps",
        }
    }
}

/// Returns 1 if `measured` is at most `max`, else 0.
pub fn grade_measure(
    measure: LimitMeasure,
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
