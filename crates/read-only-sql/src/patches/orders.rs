//! Orders and limits where the parser expects none.

use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::{
    are_words, find_at_level, is_any_word, is_literal, is_word, join_tokens, unquoted, word,
};

/// MariaDB: `GROUP BY a DESC`.
pub(super) fn carry_group_orders(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    const ENDS: &[&str] = &[
        "WITH", "HAVING", "ORDER", "LIMIT", "UNION", "WINDOW", "FOR", "GROUP",
    ];
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if !are_words(tokens, index - 1, &["GROUP", "BY"]) {
            continue;
        }
        let end = find_at_level(tokens, index + 1, |_, token| {
            *token == Token::RParen || is_any_word(Some(token), ENDS)
        });
        for at in index + 1..end.unwrap_or(tokens.len()) {
            let order = match unquoted(tokens.get(at))
                .map(str::to_ascii_uppercase)
                .as_deref()
            {
                Some("DESC") => " DESC",
                Some("ASC") => " ASC",
                _ => continue,
            };
            let last = matches!(
                tokens.get(at + 1),
                None | Some(Token::Comma | Token::RParen)
            ) || is_any_word(tokens.get(at + 1), ENDS);
            if last && edits.len() < 100 {
                let name = carried.name(" COLLATE ", "", order.to_owned());
                edits.replace(at..at + 1, [word("COLLATE"), word(&name)]);
            }
        }
    }
    edits
}

/// MariaDB: `SEPARATOR ', ' LIMIT 5` at the end of `GROUP_CONCAT`.
pub(super) fn carry_separated_limits(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 3..tokens.len() {
        if !is_word(tokens.get(index), "LIMIT")
            || !is_literal(tokens.get(index - 1))
            || !is_word(tokens.get(index - 2), "SEPARATOR")
        {
            continue;
        }
        let of_limit = |token: &&Token| {
            matches!(token, Token::Number(..) | Token::Comma) || is_word(Some(token), "OFFSET")
        };
        let rest = tokens.get(index + 1..).unwrap_or_default();
        let end = index + 1 + rest.iter().take_while(of_limit).count();
        if tokens.get(end) == Some(&Token::RParen)
            && let Some(written) = tokens.get(index - 2..end)
        {
            let name = carried.name("LIMIT ", "", join_tokens(written));
            edits.replace(index - 2..end, [word("LIMIT"), word(&name)]);
        }
    }
    edits
}

/// ClickHouse: `DESC COLLATE 'de'`.
pub(super) fn carry_ordered_collations(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if is_word(tokens.get(index), "COLLATE")
            && is_any_word(tokens.get(index - 1), &["ASC", "DESC"])
            && is_literal(tokens.get(index + 1))
            && let Some(written) = tokens.get(index - 1..index + 2)
        {
            let name = carried.name(" COLLATE ", "", format!(" {}", join_tokens(written)));
            edits.replace(index - 1..index + 2, [word("COLLATE"), word(&name)]);
        }
    }
    edits
}
