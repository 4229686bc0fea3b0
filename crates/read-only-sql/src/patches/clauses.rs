//! Patches of single clauses.

use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::tails::SAMPLE_WORDS;
use super::{
    are_words, find_at_level, is_any_word, is_literal, is_name, is_word, join_tokens, unquoted,
    word,
};

pub(crate) const APPROXIMATE_NAME: &str = "ktx__approximate_";

pub(crate) const SAFE_NAME: &str = "ktx__safe_";

pub(super) const TUPLE_INDEX: &str = "[ktx__";

/// Replaces a function that looks like a quantifier.
pub(crate) const PLAIN_NAME: &str = "ktx__plain_";

/// ClickHouse: the `any(` of `x - any(y)` is an aggregate, unless a query follows.
pub(super) fn name_any(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let operand = matches!(
            tokens.get(index - 1),
            Some(
                Token::Plus
                    | Token::Minus
                    | Token::Mul
                    | Token::Div
                    | Token::Mod
                    | Token::Eq
                    | Token::DoubleEq
                    | Token::Neq
                    | Token::Lt
                    | Token::Gt
                    | Token::LtEq
                    | Token::GtEq
                    | Token::StringConcat
            )
        );
        let queries = ["SELECT", "WITH", "FROM", "TABLE", "VALUES"];
        if operand
            && is_word(tokens.get(index), "ANY")
            && tokens.get(index + 1) == Some(&Token::LParen)
            && tokens.get(index + 2) != Some(&Token::LParen)
            && !is_any_word(tokens.get(index + 2), &queries)
        {
            edits.replace(index..index + 1, [word(&format!("{PLAIN_NAME}any"))]);
        }
    }
    edits
}

pub(crate) const ROWS_FROM: &str = "ktx__rows_from";

pub(super) const BIGQUERY_NAMES: &[(&str, &str)] = &[
    (SAFE_NAME, "SAFE."),
    ("GROUP BY ktx__order, ", "GROUP AND ORDER BY "),
];

/// `TABLE t`.
pub(super) fn spell_out_table(tokens: &[Token]) -> Edits {
    const BEFORE_QUERIES: &[&str] = &[
        "AS", "IN", "FROM", "JOIN", "EXISTS", "ANY", "ALL", "SOME", "ARRAY", "SELECT", "WHERE",
    ];
    let opens = |index: usize| match index.checked_sub(1) {
        None => true,
        Some(before) if tokens.get(before) == Some(&Token::LParen) => before
            .checked_sub(1)
            .is_none_or(|word| match tokens.get(word) {
                Some(Token::Word(_)) => is_any_word(tokens.get(word), BEFORE_QUERIES),
                _ => true,
            }),
        Some(before) => is_any_word(
            tokens.get(before),
            &["UNION", "ALL", "EXCEPT", "INTERSECT", "DISTINCT"],
        ),
    };
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        if is_word(tokens.get(index), "TABLE") && is_name(tokens.get(index + 1)) && opens(index) {
            edits.replace(index..index + 1, [word("SELECT"), Token::Mul, word("FROM")]);
        }
    }
    edits
}

/// PostgreSQL: `ROWS FROM (`.
pub(super) fn name_rows_from(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        if are_words(tokens, index, &["ROWS", "FROM"])
            && tokens.get(index + 2) == Some(&Token::LParen)
        {
            edits.replace(index..index + 2, [word(ROWS_FROM)]);
        }
    }
    edits
}

pub(crate) const ONLY: &str = "ktx__only";

/// PostgreSQL: an alias can follow a call.
pub(super) fn call_only(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let in_from = is_any_word(tokens.get(index - 1), &["FROM", "JOIN"])
            || tokens.get(index - 1) == Some(&Token::Comma);
        if !in_from || !is_word(tokens.get(index), "ONLY") {
            continue;
        }
        let bracketed = tokens.get(index + 1) == Some(&Token::LParen);
        let start = index + 1 + usize::from(bracketed);
        let mut end = start;
        while is_name(tokens.get(end)) {
            end += 1;
            if tokens.get(end) != Some(&Token::Period) {
                break;
            }
            end += 1;
        }
        let closes = !bracketed || tokens.get(end) == Some(&Token::RParen);
        if end > start && closes && tokens.get(end - 1) != Some(&Token::Period) {
            let mut call = vec![word(ONLY), Token::LParen];
            call.extend_from_slice(tokens.get(start..end).unwrap_or_default());
            call.push(Token::RParen);
            edits.replace(index..end + usize::from(bracketed), call);
        }
    }
    edits
}

/// MySQL: `JOIN (a, b)`.
pub(super) fn cross_join_lists(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let opens = is_any_word(tokens.get(index - 1), &["FROM", "JOIN"])
            && tokens.get(index) == Some(&Token::LParen)
            && is_name(tokens.get(index + 1))
            && !is_any_word(
                tokens.get(index + 1),
                &["SELECT", "WITH", "VALUES", "TABLE"],
            );
        if !opens {
            continue;
        }
        let mut at = index + 1;
        while let Some(comma) = find_at_level(tokens, at, |_, token| *token == Token::Comma) {
            edits.replace(comma..comma + 1, [word("CROSS"), word("JOIN")]);
            at = comma + 1;
        }
    }
    edits
}

/// BigQuery: `|> DISTINCT`, `|> WINDOW`.
pub(super) fn replace_pipe_synonyms(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index - 1) != Some(&Token::VerticalBarRightAngleBracket) {
            continue;
        }
        if is_word(tokens.get(index), "DISTINCT") {
            edits.insert(index, [word("SELECT")]);
            edits.insert(index + 1, [Token::Mul]);
        } else if is_word(tokens.get(index), "WINDOW") {
            edits.replace(index..index + 1, [word("EXTEND")]);
        }
    }
    edits
}

/// MySQL: `MATCH a AGAINST`.
pub(super) fn bracket_matches(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if !is_word(tokens.get(index - 1), "MATCH") || !is_name(tokens.get(index)) {
            continue;
        }
        let rest = tokens.get(index..).unwrap_or_default();
        let listed = |token: &&Token| {
            matches!(token, Token::Comma | Token::Period)
                || is_name(Some(token)) && !is_word(Some(token), "AGAINST")
        };
        let end = index + rest.iter().take_while(listed).count();
        if is_word(tokens.get(end), "AGAINST") {
            edits.insert(index, [Token::LParen]);
            edits.insert(end, [Token::RParen]);
        }
    }
    edits
}

/// ClickHouse: `view(SELECT …)`.
pub(super) fn unwrap_views(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if is_any_word(tokens.get(index - 1), &["FROM", "JOIN"])
            && is_word(tokens.get(index), "view")
            && tokens.get(index + 1) == Some(&Token::LParen)
            && is_any_word(tokens.get(index + 2), &["SELECT", "WITH"])
        {
            edits.remove(index..index + 1);
        }
    }
    edits
}

/// ClickHouse: the parser reads `FINAL` as an alias.
pub(super) fn carry_aliases_before_final(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    const BEFORE_TABLES: &[&str] = &["FROM", "JOIN"];
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        let alias = tokens.get(index - 1).filter(|alias| is_name(Some(alias)));
        let (true, Some(alias)) = (is_word(tokens.get(index), "FINAL"), alias) else {
            continue;
        };
        let aliased = is_name(tokens.get(index - 2))
            && !is_any_word(tokens.get(index - 2), BEFORE_TABLES)
            && !is_any_word(Some(alias), BEFORE_TABLES);
        if aliased {
            let name = carried.name("", "", format!("{alias} FINAL"));
            edits.replace(index - 1..index + 1, [word(&name)]);
        }
    }
    edits
}

/// ClickHouse: `USING a, b`.
pub(super) fn bracket_using(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if !is_word(tokens.get(index - 1), "USING") || !is_name(tokens.get(index)) {
            continue;
        }
        let mut end = index + 1;
        while tokens.get(end) == Some(&Token::Comma) && is_name(tokens.get(end + 1)) {
            end += 2;
        }
        edits.insert(index, [Token::LParen]);
        edits.insert(end, [Token::RParen]);
    }
    edits
}

/// ClickHouse: `?1` in a ternary.
pub(super) fn split_question_marks(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for (index, token) in tokens.iter().enumerate() {
        let Token::Placeholder(sign) = token else {
            continue;
        };
        if let Some(digits) = sign.strip_prefix('?').filter(|digits| !digits.is_empty()) {
            let number = Token::Number(digits.to_owned(), false);
            edits.replace(
                index..index + 1,
                [Token::Placeholder("?".to_owned()), number],
            );
        }
    }
    edits
}

/// ClickHouse: `LIMIT 1, 2 BY` and `LIMIT 2 OFFSET 1 BY`.
pub(super) fn carry_limit_by_with_offset(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let found = is_word(tokens.get(index - 1), "LIMIT")
            && is_literal(tokens.get(index))
            && (tokens.get(index + 1) == Some(&Token::Comma)
                || is_word(tokens.get(index + 1), "OFFSET"))
            && is_literal(tokens.get(index + 2))
            && is_word(tokens.get(index + 3), "BY");
        if found {
            let meant = join_tokens(tokens.get(index..index + 3).unwrap_or_default());
            let name = carried.name("", "", meant);
            edits.replace(index..index + 3, [word(&name)]);
        }
    }
    edits
}

/// ClickHouse: the parser reads the `.1` of `t.1` as a number.
pub(super) fn index_tuples(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    let mut behind_place = false;
    for index in 1..tokens.len() {
        let behind_value = std::mem::take(&mut behind_place)
            || matches!(
                tokens.get(index - 1),
                Some(Token::Word(_) | Token::RParen | Token::RBracket)
            );
        let place = match tokens.get(index) {
            Some(Token::Number(text, false)) => text
                .strip_prefix('.')
                .and_then(|digits| digits.parse::<u16>().ok()),
            _ => None,
        };
        if let Some(place) = place.filter(|_| behind_value) {
            behind_place = true;
            let name = word(&format!("ktx__{place}ktx__"));
            edits.replace(index..index + 1, [Token::LBracket, name, Token::RBracket]);
        }
    }
    edits
}

/// DuckDB: `FILTER (x > 1)`.
pub(super) fn complete_filters(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let found = tokens.get(index - 1) == Some(&Token::RParen)
            && is_word(tokens.get(index), "FILTER")
            && tokens.get(index + 1) == Some(&Token::LParen)
            && !is_word(tokens.get(index + 2), "WHERE");
        if found {
            edits.insert(index + 2, [word("WHERE")]);
        }
    }
    edits
}

pub(super) fn carry_samples(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if !is_word(tokens.get(index - 1), "TABLESAMPLE") {
            continue;
        }
        let mut depth = 0_isize;
        let of_sample = |token: &&Token| {
            depth += super::depth_change(token);
            depth >= 0
                && match token {
                    Token::Word(_) => is_any_word(Some(token), SAMPLE_WORDS),
                    Token::Number(..) | Token::Mod | Token::LParen | Token::RParen => true,
                    Token::Comma => depth > 0,
                    _ => false,
                }
        };
        let rest = tokens.get(index..).unwrap_or_default();
        let end = index + rest.iter().take_while(of_sample).count();
        let written = tokens.get(index..end).unwrap_or_default();
        if !written.is_empty() {
            let name = carried.name("(", ")", join_tokens(written));
            edits.replace(index..end, [Token::LParen, word(&name), Token::RParen]);
        }
    }
    edits
}

/// BigQuery: `SAFE.SUBSTR(`.
pub(super) fn name_safe(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        let found = is_word(tokens.get(index), "SAFE")
            && tokens.get(index + 1) == Some(&Token::Period)
            && tokens.get(index + 3) == Some(&Token::LParen);
        if found && let Some(name) = unquoted(tokens.get(index + 2)) {
            edits.replace(index..index + 3, [word(&format!("{SAFE_NAME}{name}"))]);
        }
    }
    edits
}

/// Redshift: `APPROXIMATE COUNT(`.
pub(super) fn name_approximate(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        let found = is_word(tokens.get(index), "APPROXIMATE")
            && is_any_word(tokens.get(index + 1), &["COUNT", "PERCENTILE_DISC"])
            && tokens.get(index + 2) == Some(&Token::LParen);
        if found && let Some(name) = unquoted(tokens.get(index + 1)) {
            let name = word(&format!("{APPROXIMATE_NAME}{}", name.to_lowercase()));
            edits.replace(index..index + 2, [name]);
        }
    }
    edits
}

/// Trino: `VALUES 1, 2`.
pub(super) fn bracket_values(tokens: &[Token]) -> Edits {
    const ENDS: &[&str] = &[
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "ORDER",
        "LIMIT",
        "OFFSET",
        "FETCH",
    ];
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let opens = index < 2 || matches!(tokens.get(index - 2), Some(Token::LParen));
        if !opens || !is_word(tokens.get(index - 1), "VALUES") {
            continue;
        }
        let mut start = index;
        while is_literal(tokens.get(start)) || tokens.get(start) == Some(&Token::Minus) {
            let end = find_at_level(tokens, start, |_, token| {
                *token == Token::Comma || *token == Token::RParen || is_any_word(Some(token), ENDS)
            })
            .unwrap_or(tokens.len());
            edits.insert(start, [Token::LParen]);
            edits.insert(end, [Token::RParen]);
            if tokens.get(end) != Some(&Token::Comma) {
                break;
            }
            start = end + 1;
        }
    }
    edits
}
