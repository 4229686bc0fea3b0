//! Replaces unknown join words by `GLOBAL` and restores them in the order of the text.

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{is_any_word, is_word, text, word};
use crate::lexis::{Piece, pieces};
use crate::refusal::{Refusal, refuse};

const SIDES: &[&str] = &["LEFT", "RIGHT", "INNER", "FULL", "OUTER"];

/// `ASOF [LEFT] JOIN` and `POSITIONAL JOIN`.
pub(super) fn rewrite_duckdb(tokens: &mut Vec<Token>) -> Vec<String> {
    replace_by_global(tokens, &["ASOF", "POSITIONAL"])
}

/// Swaps the two words of `SEMI LEFT JOIN`.
pub(super) fn rewrite_clickhouse(tokens: &mut Vec<Token>) -> Vec<String> {
    for index in 0..tokens.len() {
        let strict_first = is_any_word(tokens.get(index), &["SEMI", "ANTI"])
            && is_any_word(tokens.get(index + 1), &["LEFT", "RIGHT"]);
        let side_first = is_any_word(tokens.get(index), SIDES)
            && is_any_word(tokens.get(index + 1), &["ANY", "ALL", "ASOF"]);
        if (strict_first || side_first) && is_word(tokens.get(index + 2), "JOIN") {
            tokens.swap(index, index + 1);
        }
    }
    replace_by_global(tokens, &["GLOBAL", "ASOF", "ANY", "ALL"])
}

fn replace_by_global(tokens: &mut Vec<Token>, known: &[&str]) -> Vec<String> {
    let mut edits = Edits::default();
    let mut words = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let mut end = index;
        while is_any_word(tokens.get(end), known) {
            end += 1;
        }
        if end > index && before_join(tokens, end) {
            let found = tokens.get(index..end).unwrap_or_default();
            words.push(format!("{} ", super::join_tokens(found).to_uppercase()));
            edits.replace(index..end, [word("GLOBAL")]);
        }
        index = end.max(index + 1);
    }
    edits.apply(tokens);
    words
}

/// Matches `[LEFT] [OUTER] JOIN`.
fn before_join(tokens: &[Token], index: usize) -> bool {
    let mut at = index;
    while is_any_word(tokens.get(at), SIDES) || is_any_word(tokens.get(at), &["SEMI", "ANTI"]) {
        at += 1;
    }
    is_word(tokens.get(at), "JOIN")
}

pub(super) fn undo(printed: &str, dialect: Dialect, words: &[String]) -> Result<String, Refusal> {
    const JOINS: &[&str] = &[
        "JOIN", "LEFT", "RIGHT", "INNER", "FULL", "OUTER", "SEMI", "ANTI",
    ];
    let mut words = words.iter();
    let mut out = String::with_capacity(printed.len());
    for piece in pieces(printed, dialect)? {
        let Piece::Code(code) = piece else {
            text::push(&mut out, piece);
            continue;
        };
        let mut rest = code;
        while let Some((head, tail)) = rest.split_once("GLOBAL ") {
            out.push_str(head);
            if JOINS.iter().any(|join| tail.starts_with(join)) {
                match words.next() {
                    Some(word) => out.push_str(word),
                    None => return refuse_lost_join(),
                }
            } else {
                out.push_str("GLOBAL ");
            }
            rest = tail;
        }
        out.push_str(rest);
    }
    match words.next() {
        Some(_) => refuse_lost_join(),
        None => Ok(out),
    }
}

fn refuse_lost_join<T>() -> Result<T, Refusal> {
    refuse(Code::Unprintable, "a join of the query cannot be printed")
}

/// SQL Server: `INNER HASH JOIN`.
pub(super) fn drop_hints(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if is_any_word(tokens.get(index), &["HASH", "MERGE", "LOOP", "REMOTE"])
            && is_any_word(tokens.get(index - 1), SIDES)
            && is_word(tokens.get(index + 1), "JOIN")
        {
            edits.remove(index..index + 1);
        }
    }
    edits
}
