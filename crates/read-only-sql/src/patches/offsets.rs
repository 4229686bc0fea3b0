//! Array positions, open slices, fields after a star.

use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::{are_words, is_any_word, is_name, is_word, unquoted, word};

/// BigQuery: `t.items AS y WITH OFFSET AS o`.
pub(super) fn carry_path_offsets(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        if !are_words(tokens, index, &["WITH", "OFFSET"]) || !is_name(tokens.get(index - 1)) {
            continue;
        }
        let explicit = is_word(tokens.get(index - 2), "AS");
        let aliased = explicit || is_name(tokens.get(index - 2)) && !begins(tokens.get(index - 2));
        // The parser knows `UNNEST(…)`.
        let behind_path = match (explicit, aliased) {
            (true, _) => index >= 3 && is_name(tokens.get(index - 3)),
            (false, true) => true,
            (false, false) => tokens.get(index - 2) != Some(&Token::RParen),
        };
        if !behind_path {
            continue;
        }
        let (place, end) = position_name(tokens, index + 2);
        let clause = match place {
            Some(place) => format!("WITH OFFSET AS {place}"),
            None => "WITH OFFSET".to_owned(),
        };
        let alias = tokens.get(index - 1).filter(|_| aliased);
        if let Some(alias) = alias {
            let name = carried.name("", "", format!("{alias} {clause}"));
            edits.replace(index - 1..end, [word(&name)]);
        } else {
            let name = carried.name(" AS ", "", format!(" {clause}"));
            edits.replace(index..end, [word("AS"), word(&name)]);
        }
    }
    edits
}

fn begins(token: Option<&Token>) -> bool {
    is_any_word(token, &["FROM", "JOIN"])
}

fn position_name(tokens: &[Token], start: usize) -> (Option<&Token>, usize) {
    const NEXT: &[&str] = &[
        "JOIN",
        "LEFT",
        "RIGHT",
        "INNER",
        "CROSS",
        "FULL",
        "ON",
        "USING",
        "WHERE",
        "GROUP",
        "HAVING",
        "QUALIFY",
        "WINDOW",
        "ORDER",
        "LIMIT",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "PIVOT",
        "UNPIVOT",
        "TABLESAMPLE",
        "FOR",
        "WITH",
    ];
    if is_word(tokens.get(start), "AS") && is_name(tokens.get(start + 1)) {
        return (tokens.get(start + 1), start + 2);
    }
    let named = is_name(tokens.get(start))
        && unquoted(tokens.get(start))
            .is_none_or(|name| !NEXT.iter().any(|word| word.eq_ignore_ascii_case(name)));
    if named {
        return (tokens.get(start), start + 1);
    }
    (None, start)
}

pub(super) const OPEN_END: &str = "ktx__open";

/// DuckDB: the `-` in `x[2:-:2]`.
pub(super) fn name_open_ends(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        let open = tokens.get(index) == Some(&Token::Minus)
            && tokens.get(index - 1) == Some(&Token::Colon)
            && tokens.get(index + 1) == Some(&Token::Colon);
        if open {
            edits.replace(index..index + 1, [word(OPEN_END)]);
        }
    }
    edits
}

/// Databricks: `* EXCEPT (a, b.c)`.
pub(super) fn carry_excepted_fields(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        let lists = tokens.get(index) == Some(&Token::LParen)
            && is_word(tokens.get(index - 1), "EXCEPT")
            && tokens.get(index - 2) == Some(&Token::Mul);
        let mut start = index + 1;
        while lists && is_name(tokens.get(start)) {
            let mut end = start + 1;
            while tokens.get(end) == Some(&Token::Period) && is_name(tokens.get(end + 1)) {
                end += 2;
            }
            if end > start + 1 {
                let path: String = tokens
                    .get(start..end)
                    .unwrap_or_default()
                    .iter()
                    .map(ToString::to_string)
                    .collect();
                let name = carried.name("", "", path);
                edits.replace(start..end, [word(&name)]);
            }
            if tokens.get(end) != Some(&Token::Comma) {
                break;
            }
            start = end + 1;
        }
    }
    edits
}

pub(super) const VALUES: &str = "SELECT ktx__values FROM (";

/// `x = ANY (VALUES …)`.
pub(super) fn wrap_quantified_values(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        let found = is_word(tokens.get(index), "VALUES")
            && tokens.get(index - 1) == Some(&Token::LParen)
            && is_any_word(tokens.get(index - 2), &["ANY", "ALL", "SOME"]);
        if let Some(end) = super::closing_bracket(tokens, index - 1).filter(|_| found) {
            let select = [
                word("SELECT"),
                word("ktx__values"),
                word("FROM"),
                Token::LParen,
            ];
            edits.insert(index, select);
            edits.insert(end, [Token::RParen]);
        }
    }
    edits
}
