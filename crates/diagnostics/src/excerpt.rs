//! Shortens text quoted in messages.

use std::borrow::Cow;

/// In characters.
pub const LONGEST_EXCERPT: usize = 200;

const KEPT: usize = 160;

/// Maximum characters of a message from a parser or warehouse.
const LONGEST_MESSAGE: usize = 2_000;

/// Returns text up to [`LONGEST_EXCERPT`] characters, or its start and length: `select 1, 1…
/// (1048576 bytes)`.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    if is_longer(text, LONGEST_EXCERPT) {
        Cow::Owned(cut(text, KEPT))
    } else {
        Cow::Borrowed(text)
    }
}

/// Shortens every long word and every long text in backticks.
pub fn shortened(message: &str) -> Cow<'_, str> {
    if !is_longer(message, LONGEST_EXCERPT) {
        return Cow::Borrowed(message);
    }
    let mut short = String::with_capacity(message.len().min(LONGEST_MESSAGE));
    for (number, piece) in message.split('`').enumerate() {
        if number > 0 {
            short.push('`');
        }
        if number % 2 == 1 {
            short.push_str(&excerpt(piece));
        } else {
            for word in piece.split_inclusive(char::is_whitespace) {
                let letters = word.trim_end();
                short.push_str(&excerpt(letters));
                short.push_str(word.get(letters.len()..).unwrap_or_default());
            }
        }
    }
    Cow::Owned(if is_longer(&short, LONGEST_MESSAGE) {
        cut(&short, LONGEST_MESSAGE)
    } else {
        short
    })
}

fn is_longer(text: &str, characters: usize) -> bool {
    text.len() > characters && text.chars().nth(characters).is_some()
}

fn cut(text: &str, characters: usize) -> String {
    let beginning: String = text.chars().take(characters).collect();
    format!("{beginning}… ({} bytes)", text.len())
}
