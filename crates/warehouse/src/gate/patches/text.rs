//! Changes in printed text that leave quoted names and literals alone.

use crate::Dialect;
use crate::gate::Refusal;
use crate::gate::lexis::{Piece, pieces};

/// Replaces `from` by `to` outside of quotes.
pub(super) fn in_code(
    printed: &str,
    dialect: Dialect,
    from: &str,
    to: &str,
) -> Result<String, Refusal> {
    let mut text = String::with_capacity(printed.len());
    for piece in pieces(printed, dialect)? {
        match piece {
            Piece::Code(code) => text.push_str(&code.replace(from, to)),
            Piece::Text(part) | Piece::Name(part) | Piece::Comment(part) => text.push_str(part),
            Piece::Semicolon => text.push(';'),
        }
    }
    Ok(text)
}

/// The same text with everything inside quotes blanked out, byte for byte as long.
pub(super) fn blanked(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    let mut text = String::with_capacity(printed.len());
    for piece in pieces(printed, dialect)? {
        match piece {
            Piece::Code(code) => text.push_str(code),
            Piece::Text(part) | Piece::Name(part) | Piece::Comment(part) => {
                text.extend(std::iter::repeat_n('q', part.len()));
            }
            Piece::Semicolon => text.push(';'),
        }
    }
    Ok(text)
}

/// The first place from `start` where one of `needles` stands outside all brackets that open after
/// `start`; the place where the surrounding bracket closes, or the end, when there is none.
pub(super) fn find_level(blanked: &str, start: usize, needles: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in blanked.char_indices().filter(|(at, _)| *at >= start) {
        let rest = blanked.get(at..).unwrap_or_default();
        if depth == 0 && needles.iter().any(|needle| rest.starts_with(needle)) {
            return at;
        }
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    blanked.len()
}
