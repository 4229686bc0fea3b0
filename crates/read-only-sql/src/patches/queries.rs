//! Patches of whole queries: common tables, `FROM`, and its joins.

use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::{
    are_words, closing_bracket, depth_change, find_at_level, is_any_word, is_literal, is_name,
    is_word, join_tokens, unquoted, word,
};

pub(crate) const SCALAR_TABLE: &str = "ktx__scalar";
const ARRAY_COLUMN: &str = "ktx__array";

pub(super) const WRAPPERS: &[&str] = &["ktx__scalar AS (SELECT ", "(SELECT ktx__array, "];

/// `WITH RECURSIVE t AS (…) SEARCH … CYCLE …`.
pub(super) fn carry_search_and_cycle(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    let mut index = 0;
    while index + 1 < tokens.len() {
        index += 1;
        if tokens.get(index - 1) != Some(&Token::RParen) {
            continue;
        }
        let searched = search_end(tokens, index).unwrap_or(index);
        let end = cycle_end(tokens, searched).unwrap_or(searched);
        if end > index {
            let meant = join_tokens(tokens.get(index..end).unwrap_or_default());
            let name = carried.name("FROM ", "", meant);
            edits.replace(index..end, [word("FROM"), word(&name)]);
            index = end;
        }
    }
    edits
}

fn search_end(tokens: &[Token], start: usize) -> Option<usize> {
    let known = is_word(tokens.get(start), "SEARCH")
        && is_any_word(tokens.get(start + 1), &["DEPTH", "BREADTH"])
        && are_words(tokens, start + 2, &["FIRST", "BY"]);
    let set = known.then(|| names_end(tokens, start + 4))??;
    (is_word(tokens.get(set), "SET") && is_name(tokens.get(set + 1))).then_some(set + 2)
}

fn cycle_end(tokens: &[Token], start: usize) -> Option<usize> {
    let set = is_word(tokens.get(start), "CYCLE").then(|| names_end(tokens, start + 1))??;
    if is_word(tokens.get(set), "RESTRICT") {
        return Some(set + 1);
    }
    if !is_word(tokens.get(set), "SET") || !is_name(tokens.get(set + 1)) {
        return None;
    }
    let value = |index: usize| is_literal(tokens.get(index)) || is_name(tokens.get(index));
    let mut end = set + 2;
    if is_word(tokens.get(end), "TO")
        && value(end + 1)
        && is_word(tokens.get(end + 2), "DEFAULT")
        && value(end + 3)
    {
        end += 4;
    }
    (is_word(tokens.get(end), "USING") && is_name(tokens.get(end + 1))).then_some(end + 2)
}

fn names_end(tokens: &[Token], start: usize) -> Option<usize> {
    let mut end = is_name(tokens.get(start)).then_some(start + 1)?;
    while tokens.get(end) == Some(&Token::Comma) && is_name(tokens.get(end + 1)) {
        end += 2;
    }
    Some(end)
}

/// DuckDB: `t(a) USING KEY (a) AS (`.
pub(super) fn carry_recursion_keys(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let found = tokens.get(index - 1) == Some(&Token::RParen)
            && are_words(tokens, index, &["USING", "KEY"])
            && tokens.get(index + 2) == Some(&Token::LParen);
        let Some(end) = found.then(|| names_end(tokens, index + 3)).flatten() else {
            continue;
        };
        if tokens.get(end) == Some(&Token::RParen) && is_word(tokens.get(end + 1), "AS") {
            let clause = join_tokens(tokens.get(index..=end).unwrap_or_default());
            let name = carried.name(", ", ")", format!(") {clause}"));
            edits.replace(
                index - 1..end + 1,
                [Token::Comma, word(&name), Token::RParen],
            );
        }
    }
    edits
}

/// PostgreSQL: `JOIN u USING (a) AS x`.
pub(super) fn carry_using_aliases(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let found =
            is_word(tokens.get(index - 1), "USING") && tokens.get(index) == Some(&Token::LParen);
        let Some(end) = found.then(|| names_end(tokens, index + 1)).flatten() else {
            continue;
        };
        let alias = tokens.get(end + 2).filter(|alias| is_name(Some(alias)));
        if tokens.get(end) == Some(&Token::RParen)
            && is_word(tokens.get(end + 1), "AS")
            && let Some(alias) = alias
        {
            let name = carried.name(", ", ")", format!(") AS {alias}"));
            edits.replace(end..end + 3, [Token::Comma, word(&name), Token::RParen]);
        }
    }
    edits
}

/// `MATCH_RECOGNIZE`: `SUBSET u = (a, b)`.
pub(super) fn carry_subsets(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    let mut index = 0;
    while index < tokens.len() {
        index += 1;
        if !is_word(tokens.get(index - 1), "SUBSET") {
            continue;
        }
        let plain = |token: &&Token| {
            let sign = matches!(
                token,
                Token::Eq | Token::Comma | Token::LParen | Token::RParen
            );
            sign || is_name(Some(token)) && !is_any_word(Some(token), &["SUBSET", "DEFINE"])
        };
        let rest = tokens.get(index..).unwrap_or_default();
        let end = index + rest.iter().take_while(plain).count();
        if is_word(tokens.get(end), "DEFINE") {
            let clause = tokens.get(index - 1..end).unwrap_or_default();
            let name = carried.name(
                "DEFINE ",
                " AS 0, ",
                format!("{} DEFINE ", join_tokens(clause)),
            );
            let zero = Token::Number("0".to_owned(), false);
            edits.replace(
                index - 1..end + 1,
                [word("DEFINE"), word(&name), word("AS"), zero, Token::Comma],
            );
            index = end;
        }
    }
    edits
}

/// Databricks: without a name, the parser would read the next word as the name.
pub(super) fn name_lateral_views(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    const NEXT: &[&str] = &[
        "AS",
        "LATERAL",
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "SORT",
        "CLUSTER",
        "DISTRIBUTE",
        "WINDOW",
        "QUALIFY",
        "LIMIT",
        "OFFSET",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "MINUS",
        "PIVOT",
        "UNPIVOT",
        "TABLESAMPLE",
        "JOIN",
        "LEFT",
        "RIGHT",
        "INNER",
        "FULL",
        "CROSS",
        "SEMI",
        "ANTI",
        "NATURAL",
    ];
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        if !are_words(tokens, index - 2, &["LATERAL", "VIEW"]) {
            continue;
        }
        let start = index + usize::from(is_word(tokens.get(index), "OUTER"));
        let Some(open) = find_at_level(tokens, start, |_, token| *token == Token::LParen) else {
            continue;
        };
        let Some(end) = closing_bracket(tokens, open).map(|close| close + 1) else {
            continue;
        };
        let nameless = match tokens.get(end) {
            None | Some(Token::RParen | Token::Comma) => true,
            next => is_any_word(next, NEXT),
        };
        if nameless {
            let name = carried.name(" ", "", String::new());
            edits.insert(end, [word(&name)]);
        }
    }
    edits
}

/// DuckDB: `FROM t WHERE …`.
pub(super) fn complete_from_first(tokens: &[Token]) -> Edits {
    const CLAUSES: &[&str] = &["WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW"];
    const NEXT_QUERY: &[&str] = &["UNION", "EXCEPT", "INTERSECT"];
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        let opens = before.is_none_or(|before| {
            *before == Token::LParen
                || is_any_word(Some(before), &["UNION", "ALL"])
                || index >= 2 && are_words(tokens, index - 2, &["BY", "NAME"])
        });
        if !opens || !is_word(tokens.get(index), "FROM") {
            continue;
        }
        let end = find_at_level(tokens, index, |_, token| {
            is_any_word(Some(token), NEXT_QUERY)
        })
        .unwrap_or(tokens.len());
        let query = tokens.get(index..end).unwrap_or_default();
        let has = |words: &[&str]| {
            find_at_level(query, 0, |_, token| is_any_word(Some(token), words)).is_some()
        };
        if !has(&["SELECT"]) && has(CLAUSES) {
            edits.insert(index, [word("SELECT"), Token::Mul]);
        }
    }
    edits
}

/// ClickHouse: an `ARRAY JOIN` lists values, not tables.
pub(super) fn rewrite_array_joins(tokens: &[Token]) -> Edits {
    const ENDS: &[&str] = &[
        "WHERE",
        "PREWHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "SETTINGS",
        "FORMAT",
        "JOIN",
        "LEFT",
        "RIGHT",
        "INNER",
        "FULL",
        "CROSS",
        "ANY",
        "ALL",
        "ASOF",
        "GLOBAL",
        "SEMI",
        "ANTI",
        "ARRAY",
        "QUALIFY",
        "WINDOW",
        "WITH",
        "OFFSET",
        "INTO",
    ];
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        if !are_words(tokens, index - 2, &["ARRAY", "JOIN"]) {
            continue;
        }
        let end = find_at_level(tokens, index, |at, token| {
            at > index
                && is_any_word(Some(token), ENDS)
                && tokens.get(at + 1) != Some(&Token::LParen)
                && !is_word(tokens.get(at - 1), "AS")
        });
        let end = end.unwrap_or_else(|| level_end(tokens, index));
        edits.insert(
            index,
            [
                Token::LParen,
                word("SELECT"),
                word(ARRAY_COLUMN),
                Token::Comma,
            ],
        );
        edits.insert(end, [Token::RParen]);
    }
    edits
}

fn level_end(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_isize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        depth += depth_change(token);
        if depth < 0 {
            return index;
        }
    }
    tokens.len()
}

/// `WITH 5 AS x` becomes `WITH ktx__scalar AS (SELECT 5 AS x)`.
pub(super) fn rewrite_scalars(tokens: &[Token]) -> Vec<Token> {
    let mut patched: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let opens = patched.last().is_none_or(|before| *before == Token::LParen);
        patched.push(token.clone());
        index += 1;
        if opens && is_word(Some(token), "WITH") && !is_word(tokens.get(index), "FILL") {
            index = with_items(tokens, index, &mut patched);
        }
    }
    patched
}

fn with_items(tokens: &[Token], start: usize, patched: &mut Vec<Token>) -> usize {
    let mut index = start;
    loop {
        let end = find_at_level(tokens, index, |at, token| {
            *token == Token::Comma && at > index || is_word(Some(token), "SELECT")
        });
        let Some(end) = end else {
            return index;
        };
        let item = tokens.get(index..end).unwrap_or_default();
        if is_scalar(item) {
            patched.extend([
                word(SCALAR_TABLE),
                word("AS"),
                Token::LParen,
                word("SELECT"),
            ]);
            patched.extend_from_slice(&rewrite_scalars(item));
            patched.push(Token::RParen);
        } else {
            patched.extend_from_slice(&rewrite_scalars(item));
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

fn is_scalar(item: &[Token]) -> bool {
    matches!(item, [.., before, Token::Word(_)] if is_word(Some(before), "AS"))
}

pub(super) fn called(tokens: &[Token], open: usize) -> Option<&str> {
    open.checked_sub(1)
        .and_then(|name| unquoted(tokens.get(name)))
}

pub(super) fn call_end(tokens: &[Token], open: usize) -> Option<usize> {
    (tokens.get(open) == Some(&Token::LParen)).then(|| closing_bracket(tokens, open))?
}
