//! Values that the parser would change.

use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::{
    depth_change, find_at_level, is_any_word, is_literal, is_name, is_word, unquoted, word,
};

/// DuckDB: the parser reads some interval units as an alias.
pub(super) fn replace_units(tokens: &[Token]) -> Edits {
    const UNITS: &[(&str, &str)] = &[
        ("QUARTERS", "QUARTER"),
        ("DECADES", "DECADE"),
        ("CENTURIES", "CENTURY"),
        ("MILLENNIA", "MILLENNIUM"),
        ("MILLENNIUMS", "MILLENNIUM"),
    ];
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        let known = UNITS
            .iter()
            .find(|(unit, _)| is_word(tokens.get(index), unit));
        let Some((_, unit)) = known else {
            continue;
        };
        let amount = match tokens.get(index - 1) {
            Some(Token::RParen) => opening_bracket(tokens, index - 1),
            amount if is_literal(amount) || is_name(amount) => Some(index - 1),
            _ => None,
        };
        let of_interval = amount
            .and_then(|amount| amount.checked_sub(1))
            .is_some_and(|before| is_word(tokens.get(before), "INTERVAL"));
        if of_interval {
            edits.replace(index..index + 1, [word(unit)]);
        }
    }
    edits
}

fn opening_bracket(tokens: &[Token], close: usize) -> Option<usize> {
    let mut depth = 0_isize;
    for (index, token) in tokens.iter().enumerate().take(close + 1).rev() {
        depth -= depth_change(token);
        if depth == 0 {
            return Some(index);
        }
    }
    None
}

/// Without the comma, the row `(42,)` would become a plain value.
pub(super) fn carry_single_rows(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    // After any other word, the brackets are a call or a list of names.
    const BEFORE_VALUES: &[&str] = &[
        "SELECT", "DISTINCT", "ALL", "WHERE", "HAVING", "ON", "AND", "OR", "NOT", "WHEN", "THEN",
        "ELSE", "CASE", "BY", "BETWEEN", "IS", "QUALIFY",
    ];
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        if tokens.get(index) != Some(&Token::LParen) {
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        let is_value = match before {
            None => false,
            Some(Token::Word(_)) => {
                unquoted(before).is_some() && is_any_word(before, BEFORE_VALUES)
            }
            Some(Token::RParen | Token::RBracket | Token::RBrace) => false,
            Some(_) => true,
        };
        let comma = find_at_level(tokens, index + 1, |_, token| *token == Token::Comma);
        if let Some(comma) = comma.filter(|comma| is_value && *comma > index + 1)
            && tokens.get(comma + 1) == Some(&Token::RParen)
        {
            let name = carried.name(", ", ")", ",)".to_owned());
            edits.replace(comma..comma + 2, [Token::Comma, word(&name), Token::RParen]);
        }
    }
    edits
}
