//! Clauses at the ends of a text, cut off and put back unchanged.

use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{are_words, closing_bracket, find_at_level, is_any_word, is_word, join_tokens, word};

pub(super) const SAMPLE_WORDS: &[&str] = &[
    "USING",
    "SAMPLE",
    "PERCENT",
    "ROWS",
    "RESERVOIR",
    "BERNOULLI",
    "SYSTEM",
    "REPEATABLE",
];

pub(super) const OPTION_WORDS: &[&str] = &[
    "OPTION",
    "MAXDOP",
    "RECOMPILE",
    "HASH",
    "MERGE",
    "LOOP",
    "JOIN",
    "GROUP",
    "ORDER",
    "CONCAT",
    "UNION",
    "FAST",
    "FORCE",
    "FORCEPLAN",
    "MAXRECURSION",
    "OPTIMIZE",
    "FOR",
    "UNKNOWN",
    "ROBUST",
    "PLAN",
    "KEEP",
    "KEEPFIXED",
    "EXPAND",
    "VIEWS",
    "PARAMETERIZATION",
    "SIMPLE",
    "FORCED",
    "DISABLE",
    "EXTERNALPUSHDOWN",
    "NO_PERFORMANCE_SPOOL",
    "USE",
    "HINT",
    "LABEL",
    "MIN_GRANT_PERCENT",
    "MAX_GRANT_PERCENT",
    "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX",
];

/// Cuts only `allowed` words, numbers, placeholders and plain punctuation.
pub(super) fn cut_tail(
    tokens: &mut Vec<Token>,
    opening: &[&str],
    allowed: &[&str],
) -> Option<String> {
    let start = tokens.iter().enumerate().rposition(|(index, _)| {
        opening
            .iter()
            .enumerate()
            .all(|(offset, word)| is_word(tokens.get(index + offset), word))
    })?;
    let tail = tokens.get(start..)?;
    let harmless = tail.iter().all(|token| match token {
        Token::Word(_) => is_any_word(Some(token), allowed),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Comma
        | Token::Eq
        | Token::Mod
        | Token::LParen
        | Token::RParen => true,
        _ => false,
    });
    let balanced = find_at_level(tail, 0, |_, token| *token == Token::RParen).is_none()
        && tail.iter().map(super::depth_change).sum::<isize>() == 0;
    if start == 0 || !harmless || !balanced {
        return None;
    }
    Some(join_tokens(&tokens.split_off(start)))
}

/// SQL Server: anything after `OPTION (…)` is another statement.
pub(super) fn cut_option(tokens: &mut Vec<Token>) -> Option<String> {
    let start = tokens
        .iter()
        .rposition(|token| is_word(Some(token), "OPTION"))?;
    let opens = tokens.get(start + 1) == Some(&Token::LParen);
    let whole = opens && closing_bracket(tokens, start + 1) == tokens.len().checked_sub(1);
    whole.then(|| cut_tail(tokens, &["OPTION"], OPTION_WORDS))?
}

/// ClickHouse: the limit after a `LIMIT … BY …`, or one with ties.
pub(super) fn cut_second_limit(tokens: &mut Vec<Token>) -> Option<String> {
    if is_word(tokens.last(), "TIES") {
        return cut_tail(tokens, &["LIMIT"], &["LIMIT", "OFFSET", "WITH", "TIES"]);
    }
    let limits = |index: &usize| is_word(tokens.get(*index), "LIMIT");
    let last = (0..tokens.len()).rev().find(limits)?;
    let first =
        find_at_level(tokens, 0, |index, _| limits(&index)).filter(|first| *first < last)?;
    find_at_level(tokens, first, |index, token| {
        index < last && is_word(Some(token), "BY")
    })?;
    cut_tail(tokens, &["LIMIT"], &["LIMIT", "OFFSET"])
}

/// DuckDB: `LIMIT 10%`.
pub(super) fn cut_percent_limit(tokens: &mut Vec<Token>) -> Option<String> {
    let percent = tokens
        .last()
        .filter(|last| **last == Token::Mod || is_word(Some(last), "PERCENT"));
    percent?;
    cut_tail(tokens, &["LIMIT"], &["LIMIT", "PERCENT"])
}

/// MariaDB: `LIMIT … ROWS EXAMINED n`.
pub(super) fn cut_rows_examined(tokens: &mut Vec<Token>) -> Option<String> {
    let start = tokens.len().checked_sub(3)?;
    if !are_words(tokens, start, &["ROWS", "EXAMINED"]) {
        return None;
    }
    if is_word(tokens.get(start.checked_sub(1)?), "LIMIT") {
        return cut_tail(tokens, &["LIMIT"], &["LIMIT", "ROWS", "EXAMINED"]);
    }
    cut_tail(tokens, &["ROWS", "EXAMINED"], &["ROWS", "EXAMINED"])
}

/// SQL Server: `WITH XMLNAMESPACES (…)` before the query.
pub(super) fn cut_namespaces(tokens: &mut Vec<Token>) -> Option<String> {
    if !are_words(tokens, 0, &["WITH", "XMLNAMESPACES"]) || tokens.get(2) != Some(&Token::LParen) {
        return None;
    }
    let end = closing_bracket(tokens, 2)?;
    let plain = tokens.get(3..end)?.iter().all(|token| {
        matches!(
            token,
            Token::SingleQuotedString(_) | Token::Comma | Token::Word(_)
        )
    });
    if !plain {
        return None;
    }
    let head = join_tokens(tokens.get(..=end)?);
    if tokens.get(end + 1) == Some(&Token::Comma) {
        tokens.splice(..end + 2, [word("WITH")]);
    } else {
        tokens.drain(..=end);
    }
    Some(head)
}

/// SQL Server: `ELEMENTS XSINIL`. Cuts all or none.
pub(super) fn cut_xsinil(tokens: &mut Vec<Token>) -> bool {
    let mut edits = Edits::default();
    let mut plain = false;
    for index in 1..tokens.len() {
        if is_word(tokens.get(index - 1), "ELEMENTS") {
            if is_word(tokens.get(index), "XSINIL") {
                edits.remove(index..index + 1);
            } else {
                plain = true;
            }
        }
    }
    let cut = !plain && edits.len() > 0;
    if cut {
        edits.apply(tokens);
    }
    cut
}
