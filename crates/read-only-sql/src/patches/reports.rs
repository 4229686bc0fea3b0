//! DuckDB: reports about a table or a query.

use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{closing_bracket, is_any_word, is_name, is_word, word};

pub(super) const WORDS: &[(&str, &str)] = &[
    ("SELECT ktx__summarize FROM ", "SUMMARIZE "),
    ("SELECT ktx__describe FROM ", "DESCRIBE "),
];

/// The source of `FROM (SUMMARIZE t)` is checked like any other.
pub(super) fn rewrite_as_selects(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        let column = match tokens.get(index) {
            token if is_word(token, "SUMMARIZE") => "ktx__summarize",
            token if is_word(token, "DESCRIBE") => "ktx__describe",
            _ => continue,
        };
        let in_from = tokens.get(index - 1) == Some(&Token::LParen)
            && (is_any_word(tokens.get(index - 2), &["FROM", "JOIN"])
                || tokens.get(index - 2) == Some(&Token::Comma));
        let Some(end) = in_from
            .then(|| closing_bracket(tokens, index - 1))
            .flatten()
        else {
            continue;
        };
        let bare = is_any_word(tokens.get(index + 1), &["SELECT", "WITH"]);
        let in_brackets = tokens.get(index + 1) == Some(&Token::LParen)
            && closing_bracket(tokens, index + 1).map(|inner| inner + 1) == Some(end);
        if !bare && !in_brackets && !is_table(tokens.get(index + 1..end).unwrap_or_default()) {
            continue;
        }
        let mut opening = vec![word("SELECT"), word(column), word("FROM")];
        if bare {
            opening.push(Token::LParen);
            edits.insert(end, [Token::RParen]);
        }
        edits.replace(index..index + 1, opening);
    }
    edits
}

fn is_table(tokens: &[Token]) -> bool {
    tokens.len() % 2 == 1
        && tokens.iter().enumerate().all(|(index, token)| {
            if index % 2 == 0 {
                is_name(Some(token))
            } else {
                *token == Token::Period
            }
        })
}
