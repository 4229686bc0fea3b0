//! Evaluators of texts and numbers.

mod compare;
mod meteor;
mod number;
mod numeric;
mod overlap;
mod stem;
mod token;

pub use compare::{
    EqualityOptions, LetterCase, answer_line, contains_any, contains_none, equals, matches,
};
pub use meteor::meteor;
pub use number::DecimalSign;
pub use numeric::{NumberPick, NumericOptions, numeric};
pub(crate) use overlap::longest_sequence;
pub use overlap::{RougeVariant, bleu, f1_score, rouge};
pub use stem::stem;
pub use token::tokens;

/// Returns 1 for equal lists, and 0 if one is empty.
pub(crate) fn trivial_score(answer: &[String], truth: &[String]) -> Option<f64> {
    if answer == truth {
        Some(1.0)
    } else if answer.is_empty() || truth.is_empty() {
        Some(0.0)
    } else {
        None
    }
}
