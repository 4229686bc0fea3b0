//! Drops words that change no row of a result.

use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{are_words, is_any_word, is_literal, is_name, is_word};

pub(super) fn drop_materialized(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        let negated = usize::from(is_word(tokens.get(index + 1), "NOT"));
        let found = is_word(tokens.get(index), "AS")
            && is_word(tokens.get(index + 1 + negated), "MATERIALIZED")
            && tokens.get(index + 2 + negated) == Some(&Token::LParen);
        if found {
            edits.remove(index + 1..index + 2 + negated);
        }
    }
    edits
}

/// SQLite.
pub(super) fn drop_indexed_by(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let behind_table = is_name(tokens.get(index - 1));
        if behind_table && are_words(tokens, index, &["NOT", "INDEXED"]) {
            edits.remove(index..index + 2);
        } else if behind_table
            && are_words(tokens, index, &["INDEXED", "BY"])
            && is_name(tokens.get(index + 2))
        {
            edits.remove(index..index + 3);
        }
    }
    edits
}

/// MySQL.
pub(super) fn drop_select_modifiers(tokens: &[Token]) -> Edits {
    const MODIFIERS: &[&str] = &[
        "HIGH_PRIORITY",
        "STRAIGHT_JOIN",
        "SQL_SMALL_RESULT",
        "SQL_BIG_RESULT",
        "SQL_BUFFER_RESULT",
        "SQL_CACHE",
        "SQL_NO_CACHE",
        "SQL_CALC_FOUND_ROWS",
    ];
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        if !is_word(tokens.get(index), "SELECT") {
            continue;
        }
        let mut at = index + 1;
        loop {
            let is_kept = is_any_word(tokens.get(at), &["DISTINCT", "ALL", "DISTINCTROW"]);
            // A comma or an operator follows the name of a column.
            let is_modifier = is_any_word(tokens.get(at), MODIFIERS)
                && match tokens.get(at + 1) {
                    Some(Token::Word(_)) => {
                        !is_any_word(tokens.get(at + 1), &["FROM", "AS", "LIMIT", "ORDER"])
                    }
                    next => is_literal(next) || matches!(next, Some(Token::LParen | Token::Mul)),
                };
            if is_modifier {
                edits.remove(at..at + 1);
            } else if !is_kept {
                break;
            }
            at += 1;
        }
    }
    edits
}

/// Snowflake: `NTH_VALUE(…) FROM FIRST OVER`.
pub(super) fn drop_from_first(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index - 1) == Some(&Token::RParen)
            && are_words(tokens, index, &["FROM", "FIRST"])
            && is_any_word(tokens.get(index + 2), &["OVER", "IGNORE", "RESPECT"])
        {
            edits.remove(index..index + 2);
        }
    }
    edits
}
