//! Patches of single clauses.

use sqlparser::tokenizer::Token;

use super::{find_level, is_any_word, is_word, text, unquoted, word};
use crate::Dialect;
use crate::gate::{Refusal, refuse};

/// What a `USING SAMPLE` clause may be made of.
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

/// What the hints of an `OPTION` clause may be made of.
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
    "NO_PERFORMANCE_SPOOL",
    "USE",
    "HINT",
    "LABEL",
    "MIN_GRANT_PERCENT",
    "MAX_GRANT_PERCENT",
    "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX",
];

/// The start of the names that stand for `APPROXIMATE name`.
pub(in crate::gate) const APPROXIMATE_NAME: &str = "ktx__approximate_";

/// The start of the names that stand for `SAFE.name`.
pub(in crate::gate) const SAFE_NAME: &str = "ktx__safe_";

/// The start of the subscript that stands for `.1`; it ends in `ktx__]`.
pub(super) const TUPLE_INDEX: &str = "[ktx__";

const SCALAR_TABLE: &str = "ktx__scalar";

/// Cuts a clause that ends the text and consists of nothing but `allowed` words, numbers,
/// placeholders and plain punctuation. Answers with its text.
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
    let balanced = find_level(tail, 0, |_, token| *token == Token::RParen).is_none()
        && tail.iter().map(super::step).sum::<isize>() == 0;
    if start == 0 || !harmless || !balanced {
        return None;
    }
    let cut = tokens.split_off(start);
    Some(
        cut.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// ClickHouse: the limit behind a `LIMIT … BY …`, or one with ties.
pub(super) fn cut_second_limit(tokens: &mut Vec<Token>) -> Option<String> {
    if is_word(tokens.last(), "TIES") {
        return cut_tail(tokens, &["LIMIT"], &["LIMIT", "OFFSET", "WITH", "TIES"]);
    }
    let limits = |index: &usize| is_word(tokens.get(*index), "LIMIT");
    let last = (0..tokens.len()).rev().find(limits)?;
    let first = find_level(tokens, 0, |index, _| limits(&index)).filter(|first| *first < last)?;
    find_level(tokens, first, |index, token| {
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

/// `TABLE t` in the place of a query becomes `SELECT * FROM t`, which is the same.
pub(super) fn spell_out_table(tokens: &mut Vec<Token>) {
    let opens = |tokens: &[Token], index: usize| match index.checked_sub(1) {
        None => true,
        Some(before) if tokens.get(before) == Some(&Token::LParen) => before
            .checked_sub(1)
            .is_none_or(|word| is_any_word(tokens.get(word), &["AS", "IN", "FROM", "JOIN"])),
        Some(before) => is_any_word(
            tokens.get(before),
            &["UNION", "ALL", "EXCEPT", "INTERSECT", "DISTINCT"],
        ),
    };
    let mut index = 0;
    while index < tokens.len() {
        let named = !unnamed(tokens.get(index + 1));
        if named && is_word(tokens.get(index), "TABLE") && opens(tokens, index) {
            tokens.splice(index..=index, [word("SELECT"), Token::Mul, word("FROM")]);
        }
        index += 1;
    }
}

/// `AS [NOT] MATERIALIZED (` loses the hint, which changes no result.
pub(super) fn drop_materialized(tokens: &mut Vec<Token>) {
    let mut index = 0;
    while index + 2 < tokens.len() {
        let negated = usize::from(is_word(tokens.get(index + 1), "NOT"));
        let found = is_word(tokens.get(index), "AS")
            && is_word(tokens.get(index + 1 + negated), "MATERIALIZED")
            && tokens.get(index + 2 + negated) == Some(&Token::LParen);
        if found {
            tokens.drain(index + 1..index + 2 + negated);
        }
        index += 1;
    }
}

/// SQLite: `a IS b` becomes `a IS NOT DISTINCT FROM b`, which is the same.
pub(super) fn spell_out_is(tokens: &mut Vec<Token>) {
    const KNOWN: &[&str] = &["NULL", "TRUE", "FALSE", "DISTINCT", "UNKNOWN", "JSON"];
    let mut index = 0;
    while index + 1 < tokens.len() {
        index += 1;
        if !is_word(tokens.get(index - 1), "IS") {
            continue;
        }
        let distinct = [word("DISTINCT"), word("FROM")];
        if is_word(tokens.get(index), "NOT") {
            if !is_any_word(tokens.get(index + 1), KNOWN) {
                tokens.splice(index..=index, distinct);
            }
        } else if !is_any_word(tokens.get(index), KNOWN) {
            tokens.splice(index..index, [word("NOT")].into_iter().chain(distinct));
        }
    }
}

/// ClickHouse: `USING a, b` becomes `USING (a, b)`, which is the same.
pub(super) fn bracket_using(tokens: &mut Vec<Token>) {
    let mut index = 0;
    while index < tokens.len() {
        index += 1;
        if !is_word(tokens.get(index - 1), "USING") || unnamed(tokens.get(index)) {
            continue;
        }
        let mut end = index + 1;
        while tokens.get(end) == Some(&Token::Comma) && !unnamed(tokens.get(end + 1)) {
            end += 2;
        }
        tokens.insert(end, Token::RParen);
        tokens.insert(index, Token::LParen);
    }
}

fn unnamed(token: Option<&Token>) -> bool {
    !matches!(token, Some(Token::Word(_)))
}

/// ClickHouse: `t.1` becomes a subscript; the tokenizer reads `.1` as a number.
pub(super) fn index_tuples(tokens: &mut Vec<Token>) {
    let mut index = 1;
    while index < tokens.len() {
        let behind_value = matches!(
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
            let name = word(&format!("ktx__{place}ktx__"));
            tokens.splice(index..=index, [Token::LBracket, name, Token::RBracket]);
            index += 2;
        }
        index += 1;
    }
}

/// DuckDB: `FILTER (x > 1)` becomes `FILTER (WHERE x > 1)`, which is the same.
pub(super) fn complete_filters(tokens: &mut Vec<Token>) {
    let mut index = 1;
    while index + 2 < tokens.len() {
        let found = tokens.get(index - 1) == Some(&Token::RParen)
            && is_word(tokens.get(index), "FILTER")
            && tokens.get(index + 1) == Some(&Token::LParen)
            && !is_word(tokens.get(index + 2), "WHERE");
        if found {
            tokens.insert(index + 2, word("WHERE"));
        }
        index += 1;
    }
}

/// DuckDB: `a ** b` becomes `a ^ b`, which is the same.
pub(super) fn caret_for_power(tokens: &mut Vec<Token>) {
    let mut index = 0;
    while index + 1 < tokens.len() {
        if tokens.get(index) == Some(&Token::Mul) && tokens.get(index + 1) == Some(&Token::Mul) {
            tokens.splice(index..index + 2, [Token::Caret]);
        }
        index += 1;
    }
}

/// BigQuery: `SAFE.SUBSTR(` becomes one name.
pub(super) fn name_safe(tokens: &mut Vec<Token>) {
    let mut index = 0;
    while index + 3 < tokens.len() {
        let found = is_word(tokens.get(index), "SAFE")
            && tokens.get(index + 1) == Some(&Token::Period)
            && tokens.get(index + 3) == Some(&Token::LParen);
        if found && let Some(name) = unquoted(tokens.get(index + 2)) {
            let name = word(&format!("{SAFE_NAME}{name}"));
            tokens.splice(index..index + 3, [name]);
        }
        index += 1;
    }
}

/// Redshift: `APPROXIMATE COUNT(` becomes one name.
pub(super) fn name_approximate(tokens: &mut Vec<Token>) {
    let mut index = 0;
    while index + 2 < tokens.len() {
        let found = is_word(tokens.get(index), "APPROXIMATE")
            && is_any_word(tokens.get(index + 1), &["COUNT", "PERCENTILE_DISC"])
            && tokens.get(index + 2) == Some(&Token::LParen);
        if found {
            tokens.remove(index);
            if let Some(name) = tokens.get_mut(index) {
                *name = word(&format!(
                    "{APPROXIMATE_NAME}{}",
                    name.to_string().to_lowercase()
                ));
            }
        }
        index += 1;
    }
}

/// Trino: `FOR TIMESTAMP AS OF` loses its first word, which the grammar does not expect.
pub(super) fn drop_for_of_versions(tokens: &mut Vec<Token>) {
    let mut index = 0;
    while index + 3 < tokens.len() {
        let found = is_word(tokens.get(index), "FOR")
            && is_any_word(tokens.get(index + 1), &["TIMESTAMP", "VERSION"])
            && is_word(tokens.get(index + 2), "AS")
            && is_word(tokens.get(index + 3), "OF");
        if found {
            tokens.remove(index);
        }
        index += 1;
    }
}

/// Undoes [`drop_for_of_versions`].
pub(super) fn restore_for_of_versions(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    let text = text::in_code(
        printed,
        dialect,
        " TIMESTAMP AS OF ",
        " FOR TIMESTAMP AS OF ",
    )?;
    text::in_code(&text, dialect, " VERSION AS OF ", " FOR VERSION AS OF ")
}

/// ClickHouse: `WITH 5 AS x` becomes `WITH ktx__scalar AS (SELECT 5 AS x)`.
pub(super) fn scalars_as_tables(tokens: &[Token]) -> Vec<Token> {
    let mut patched: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let opens = patched.last().is_none_or(|before| *before == Token::LParen);
        patched.push(token.clone());
        index += 1;
        if opens && is_word(Some(token), "WITH") {
            index = with_items(tokens, index, &mut patched);
        }
    }
    patched
}

/// Copies the items of one `WITH`, and answers with the index behind them.
fn with_items(tokens: &[Token], start: usize, patched: &mut Vec<Token>) -> usize {
    let mut index = start;
    loop {
        let end = find_level(tokens, index, |at, token| {
            *token == Token::Comma && at > index || is_word(Some(token), "SELECT")
        });
        let Some(end) = end else {
            return index;
        };
        let item = tokens.get(index..end).unwrap_or_default();
        if is_scalar(item) {
            // The whole item, `5 AS x`, is what a select list holds too.
            patched.extend([
                word(SCALAR_TABLE),
                word("AS"),
                Token::LParen,
                word("SELECT"),
            ]);
            patched.extend_from_slice(&scalars_as_tables(item));
            patched.push(Token::RParen);
        } else {
            // The query inside a common table may have scalars of its own.
            patched.extend_from_slice(&scalars_as_tables(item));
        }
        index = end;
        match tokens.get(index) {
            Some(Token::Comma) => {
                patched.push(Token::Comma);
                index += 1;
            }
            _ => return index,
        }
    }
}

/// Whether an item of `WITH` is `expression AS name`, and not a common table.
fn is_scalar(item: &[Token]) -> bool {
    matches!(item, [.., before, Token::Word(_)] if is_word(Some(before), "AS"))
}

/// Undoes [`scalars_as_tables`].
pub(super) fn tables_as_scalars(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    let opening = format!("{SCALAR_TABLE} AS (SELECT ");
    let mut printed = printed.to_owned();
    while let Some(start) = text::blanked(&printed, dialect)?.find(&opening) {
        let body = start + opening.len();
        let end = text::find_level(&text::blanked(&printed, dialect)?, body, &[]);
        let parts = (
            printed.get(..start),
            printed.get(body..end),
            printed.get(end + 1..),
        );
        let (Some(before), Some(item), Some(after)) = parts else {
            return refuse("unprintable", "a `WITH` item cannot be printed");
        };
        printed = format!("{before}{item}{after}");
    }
    Ok(printed)
}
