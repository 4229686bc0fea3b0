//! Evaluators that look for a text in an answer.

use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

use crate::{FailureClass, Grade};

/// Whether case counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterCase {
    /// `a` is not `A`.
    Counts,
    /// `a` is `A`.
    Ignored,
}

/// What `equality` passes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EqualityOptions {
    /// Whether case is ignored.
    pub case_insensitive: bool,
    /// Whether spaces at both ends are ignored.
    pub strip_whitespace: bool,
    /// Whether everything but letters, digits and spaces is ignored.
    pub strip_punctuation: bool,
}

impl EqualityOptions {
    /// The options of an evaluation that follows from the kind of the ground truth.
    pub const INFERRED: Self = Self {
        case_insensitive: true,
        strip_whitespace: true,
        strip_punctuation: false,
    };

    /// The options of an evaluation that is written in the file and sets none.
    pub const WRITTEN: Self = Self {
        case_insensitive: false,
        strip_whitespace: false,
        strip_punctuation: false,
    };

    fn apply(self, text: &str) -> String {
        let mut text: String = text.nfc().collect();
        if self.case_insensitive {
            text = text.to_lowercase();
        }
        if self.strip_punctuation {
            text.retain(|sign| sign.is_alphanumeric() || sign.is_whitespace());
        }
        if self.strip_whitespace {
            text = text.trim().to_owned();
        }
        text
    }
}

/// The value of the last line that begins with `Answer:`, without the spaces around it. The line may be emphasized as
/// Markdown (`**Answer:** 42`, `**Answer: 42**`).
pub fn answer_line(answer: &str) -> Option<&str> {
    answer.lines().rev().find_map(value_of)
}

fn value_of(line: &str) -> Option<&str> {
    const LABEL: &str = "answer:";
    let line = line.trim();
    let bare = line.trim_start_matches(['*', '_']);
    let marks = &line[..line.len() - bare.len()];
    let label = bare.get(..LABEL.len())?;
    if !label.eq_ignore_ascii_case(LABEL) {
        return None;
    }
    let value = &bare[LABEL.len()..];
    let value = value
        .strip_prefix(marks)
        .or_else(|| value.strip_suffix(marks))
        .unwrap_or(value);
    Some(value.trim())
}

/// 1 when the last `Answer:` line, or else the whole answer, is the truth.
pub fn equals(answer: &str, truth: &str, options: EqualityOptions) -> Grade {
    let given = answer_line(answer).unwrap_or(answer);
    if options.apply(given) == options.apply(truth) {
        Grade::full()
    } else if given.trim().is_empty() {
        Grade::failed(FailureClass::Refused, "the answer is empty")
    } else {
        let reason = match (shown(given), shown(truth)) {
            (given, truth) if given == truth => "only spaces or the end differ".to_owned(),
            (given, truth) => format!("`{given}` is not `{truth}`"),
        };
        Grade::failed(FailureClass::WrongValue, reason)
    }
}

/// 1 when the answer contains at least one of `values`.
pub fn contains_any(answer: &str, values: &[String], case: LetterCase) -> Grade {
    if found(answer, values, case).is_some() {
        return Grade::full();
    }
    let listed: Vec<String> = values.iter().map(|it| format!("`{}`", shown(it))).collect();
    let reason = format!("the answer does not contain {}", listed.join(" or "));
    Grade::failed(FailureClass::WrongValue, reason)
}

/// 1 when the answer contains none of `values`.
pub fn contains_none(answer: &str, values: &[String], case: LetterCase) -> Grade {
    match found(answer, values, case) {
        None => Grade::full(),
        Some(value) => {
            let reason = format!("the answer contains `{}`", shown(value));
            Grade::failed(FailureClass::WrongValue, reason)
        }
    }
}

/// 1 when `pattern` matches somewhere in the answer.
pub fn matches(answer: &str, pattern: &Regex) -> Grade {
    if pattern.is_match(answer) {
        Grade::full()
    } else {
        let reason = format!("`{pattern}` does not match the answer");
        Grade::failed(FailureClass::WrongValue, reason)
    }
}

fn found<'v>(answer: &str, values: &'v [String], case: LetterCase) -> Option<&'v String> {
    let folded = |text: &str| -> String {
        let text: String = text.nfc().collect();
        match case {
            LetterCase::Counts => text,
            LetterCase::Ignored => text.to_lowercase(),
        }
    };
    let answer = folded(answer);
    values.iter().find(|value| answer.contains(&folded(value)))
}

/// The beginning of a text on one line.
fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.chars().count() <= MOST {
        line
    } else {
        let mut short: String = line.chars().take(MOST - 1).collect();
        short.push('…');
        short
    }
}
