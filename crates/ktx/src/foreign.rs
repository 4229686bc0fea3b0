//! Makes foreign text safe for terminals.
//!
//! Only human-readable output is escaped; JSON, CSV and files keep every byte.

use std::borrow::Cow;
use std::fmt::Write as _;

/// In characters; no server has longer names.
const LONGEST_WORD: usize = 1024;
const WORD_BEGINNING: usize = 64;
const LONGEST_LINE: usize = 8192;
const LINE_BEGINNING: usize = 2048;

/// Controls the terminal, changes text direction, breaks the line or has no width.
pub(crate) fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{FEFF}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}')
}

/// Escapes line breaks and invisible characters except tabs. Shortens long names.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    shortened(escaped(text, |letter| letter == '\t'))
}

/// Like [`one_line`] without a length limit.
pub(crate) fn log_line(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter == '\t')
}

pub(crate) fn page(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        page.push_str(&one_line(line));
        page.push_str(end);
    }
    page
}

/// Keeps lines and tabs, without a length limit.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| matches!(letter, '\n' | '\t'))
}

/// Replaces tabs and line endings by spaces.
pub(crate) fn cell(text: &str) -> String {
    escaped(&text.replace(['\t', '\n', '\r', '\0'], " "), |_| false).into_owned()
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let goes = |letter: char| is_invisible(letter) && !stays(letter);
    if !text.contains(goes) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            _ if !goes(letter) => shown.push(letter),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ => shown.extend(letter.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

fn shortened(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= LONGEST_WORD {
        return text;
    }
    let words = cut_words(&text);
    let length = words.chars().count();
    if length <= LONGEST_LINE {
        return Cow::Owned(words);
    }
    let beginning: String = words.chars().take(LINE_BEGINNING).collect();
    Cow::Owned(format!(
        "{beginning}… ({} more characters)",
        length - LINE_BEGINNING
    ))
}

fn cut_words(text: &str) -> String {
    let mut cut = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        let length = word.chars().count();
        if length <= LONGEST_WORD {
            cut.push_str(piece);
            continue;
        }
        cut.extend(word.chars().take(WORD_BEGINNING));
        // Infallible for `String`.
        write!(cut, "… ({length} characters)").unwrap_or_default();
        // Keeps the closing character, such as a backtick.
        let closing = word.rfind(|letter: char| !"`\"'),.:;".contains(letter));
        let closing = closing.map_or("", |at| {
            let end = at
                + word
                    .get(at..)
                    .and_then(|rest| rest.chars().next())
                    .map_or(0, char::len_utf8);
            word.get(end..).unwrap_or_default()
        });
        cut.push_str(closing);
        cut.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    cut
}

#[cfg(test)]
mod tests;
