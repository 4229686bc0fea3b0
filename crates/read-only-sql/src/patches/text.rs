//! Changes printed text outside of quotes.

use ktx_sql::Dialect;

use crate::lexis::{Piece, pieces};
use crate::refusal::Refusal;

pub(super) fn replace_in_code(
    printed: &str,
    dialect: Dialect,
    replacements: &[(&str, &str)],
) -> Result<String, Refusal> {
    if !replacements.iter().any(|(from, _)| printed.contains(from)) {
        return Ok(printed.to_owned());
    }
    let mut text = String::with_capacity(printed.len());
    for piece in pieces(printed, dialect)? {
        if let Piece::Code(code) = piece {
            let mut code = code.to_owned();
            for (from, to) in replacements {
                if code.contains(from) {
                    code = code.replace(from, to);
                }
            }
            text.push_str(&code);
        } else {
            push(&mut text, piece);
        }
    }
    Ok(text)
}

pub(super) fn push(text: &mut String, piece: Piece<'_>) {
    match piece {
        Piece::Code(part)
        | Piece::Text(part)
        | Piece::Name(part)
        | Piece::EscapedName(part)
        | Piece::Comment(part) => text.push_str(part),
        Piece::Semicolon => text.push(';'),
    }
}

/// Keeps byte offsets.
pub(super) fn blank_quotes(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    let mut text = String::with_capacity(printed.len());
    for piece in pieces(printed, dialect)? {
        match piece {
            Piece::Text(part)
            | Piece::Name(part)
            | Piece::EscapedName(part)
            | Piece::Comment(part) => {
                text.extend(std::iter::repeat_n('q', part.len()));
            }
            piece => push(&mut text, piece),
        }
    }
    Ok(text)
}

/// Without a match, returns where the surrounding bracket closes, or the end.
pub(super) fn find_text_at_level(blanked: &str, start: usize, needles: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in blanked
        .get(start..)
        .unwrap_or_default()
        .char_indices()
        .map(|(at, letter)| (at + start, letter))
    {
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
