//! XML functions with words between the arguments.

use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::{closing_bracket, find_at_level, is_any_word, is_word, join_tokens};

/// PostgreSQL: `XMLSERIALIZE(CONTENT x AS text)`.
pub(super) fn carry_serializations(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let opens = tokens.get(index) == Some(&Token::LParen)
            && is_word(tokens.get(index - 1), "XMLSERIALIZE");
        let kind = match tokens.get(index + 1) {
            token if is_word(token, "CONTENT") => "CONTENT ",
            token if is_word(token, "DOCUMENT") => "DOCUMENT ",
            _ => continue,
        };
        let place = find_at_level(tokens, index + 2, |_, token| is_word(Some(token), "AS"));
        let (true, Some(place), Some(end)) = (opens, place, closing_bracket(tokens, index)) else {
            continue;
        };
        let ending = tokens.get(place..end).unwrap_or_default();
        if place > index + 2 && is_ending(ending) {
            let first = carried.name("", ", ", kind.to_owned());
            edits.replace(index + 1..index + 2, [super::word(&first), Token::Comma]);
            let last = carried.name(", ", ")", format!(" {})", join_tokens(ending)));
            edits.replace(place..end, [Token::Comma, super::word(&last)]);
        }
    }
    edits
}

fn is_ending(tokens: &[Token]) -> bool {
    const WORDS: &[&str] = &[
        "AS",
        "TEXT",
        "VARCHAR",
        "CHAR",
        "CHARACTER",
        "VARYING",
        "NO",
        "INDENT",
    ];
    tokens.len() > 1
        && tokens.iter().all(|token| match token {
            Token::Word(_) => is_any_word(Some(token), WORDS),
            Token::Number(..) | Token::LParen | Token::RParen => true,
            _ => false,
        })
}
