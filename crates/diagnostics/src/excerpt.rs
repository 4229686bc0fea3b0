//! What a message repeats of a text that may be long.

use std::borrow::Cow;

/// Characters that an [`excerpt`] has at most.
pub const LONGEST_EXCERPT: usize = 200;

/// Characters that an [`excerpt`] keeps of a longer text, which leaves room for the mark.
const KEPT: usize = 160;

/// Characters of a message that others worded, such as a parser or a warehouse.
const LONGEST_MESSAGE: usize = 2_000;

/// A text as a message repeats it: whole up to [`LONGEST_EXCERPT`] characters, else its beginning and its length, as in
/// `select 1, 1… (1048576 bytes)`.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    if is_longer(text, LONGEST_EXCERPT) {
        Cow::Owned(cut(text, KEPT))
    } else {
        Cow::Borrowed(text)
    }
}

/// A message with every long piece in backticks and every long word as an [`excerpt`]. For messages that were worded
/// where the text was read, so that their echoes cannot be cut one by one.
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
