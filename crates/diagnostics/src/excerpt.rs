//! How a message quotes text that may be long.

use std::borrow::Cow;

/// Maximum characters of an [`excerpt`].
pub const LONGEST_EXCERPT: usize = 200;

/// Characters that a cut [`excerpt`] shows, which leaves room for the mark.
const KEPT: usize = 160;

/// Maximum characters of a message worded elsewhere, such as by a parser or a warehouse.
const LONGEST_MESSAGE: usize = 2_000;

/// Text quoted in a message: whole up to [`LONGEST_EXCERPT`] characters, else its start and its
/// length, as in `select 1, 1… (1048576 bytes)`.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    if is_longer(text, LONGEST_EXCERPT) {
        Cow::Owned(cut(text, KEPT))
    } else {
        Cow::Borrowed(text)
    }
}

/// A message in which every long text in backticks and every long word is an [`excerpt`]. For
/// messages worded by others, whose quotes cannot be cut one by one.
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
