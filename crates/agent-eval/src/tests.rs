//! Tests of the evaluators.

mod continued;
mod judges;
mod numbers;
mod reports;
mod rows;
mod runs;
mod statistics;
mod texts;
mod tools;

use crate::{EvaluationError, Grade};

fn line(grade: &Result<Grade, EvaluationError>) -> String {
    match grade {
        Err(error) => format!("error {}: {error}", error.code()),
        Ok(grade) => {
            let mut words = vec![format!("{:.4}", grade.score)];
            words.extend(grade.failure.map(|class| class.as_str().to_owned()));
            words.extend(grade.reason.clone());
            if !grade.details.is_empty() {
                words.push(serde_json::to_string(&grade.details).unwrap());
            }
            words.join(" · ")
        }
    }
}
