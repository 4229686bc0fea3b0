//! Evaluators that search a text in an answer.

use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

use crate::{FailureClass, Grade};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterCase {
    Counts,
    Ignored,
}

/// Differences that `equality` ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EqualityOptions {
    pub case_insensitive: bool,
    pub strip_whitespace: bool,
    /// Everything but letters, digits and spaces.
    pub strip_punctuation: bool,
}

impl EqualityOptions {
    /// Options of inferred evaluations.
    pub const INFERRED: Self = Self {
        case_insensitive: true,
        strip_whitespace: true,
        strip_punctuation: false,
    };

    /// Default options in the file.
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

/// Returns the trimmed value of the last `Answer:` line, which can be emphasized (`**Answer:** 42`,
/// `**Answer: 42**`).
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

/// Returns 1 if the `Answer:` line, or else the whole answer, is the truth.
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

pub fn contains_any(answer: &str, values: &[String], case: LetterCase) -> Grade {
    if found(answer, values, case).is_some() {
        return Grade::full();
    }
    let listed: Vec<String> = values.iter().map(|it| format!("`{}`", shown(it))).collect();
    let reason = format!("the answer does not contain {}", listed.join(" or "));
    Grade::failed(FailureClass::WrongValue, reason)
}

pub fn contains_none(answer: &str, values: &[String], case: LetterCase) -> Grade {
    match found(answer, values, case) {
        None => Grade::full(),
        Some(value) => {
            let reason = format!("the answer contains `{}`", shown(value));
            Grade::failed(FailureClass::WrongValue, reason)
        }
    }
}

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
