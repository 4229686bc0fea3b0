//! Words between `GROUP` and its items.

use ktx_sql::Dialect;
use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{are_words, closing_bracket, depth_change, is_word, text, word};
use crate::refusal::Refusal;

pub(crate) const SETS: &[(&str, &str)] = &[("ktx__rollup", "ROLLUP"), ("ktx__cube", "CUBE")];

/// The parser prints `ROLLUP (a)` inside `GROUPING SETS` in brackets, where servers read a
/// function.
pub(super) fn name_inner_sets(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        if tokens.get(index) != Some(&Token::LParen)
            || !are_words(tokens, index - 2, &["GROUPING", "SETS"])
        {
            continue;
        }
        let mut depth = 0_isize;
        for at in index..closing_bracket(tokens, index).unwrap_or(index) {
            let begins =
                depth == 1 && matches!(tokens.get(at - 1), Some(Token::Comma | Token::LParen));
            let set = SETS
                .iter()
                .find(|(_, set)| is_word(tokens.get(at), set))
                .filter(|_| begins && tokens.get(at + 1) == Some(&Token::LParen));
            if let Some((name, _)) = set {
                edits.replace(at..at + 1, [word(name)]);
            }
            depth += tokens.get(at).map_or(0, depth_change);
        }
    }
    edits
}

pub(super) fn undo_inner_sets(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    let mut out = printed.to_owned();
    for (name, set) in SETS {
        let opening = format!("({name}(");
        while out.contains(&opening) {
            let blanked = text::blank_quotes(&out, dialect)?;
            // The remaining occurrences are in quotes.
            let Some(start) = blanked.rfind(&opening) else {
                break;
            };
            let inside = start + 1 + name.len();
            let end = text::find_text_at_level(&blanked, start + 1, &[]);
            out = [
                out.get(..start),
                Some(set),
                out.get(inside..end),
                out.get(end + 1..),
            ]
            .into_iter()
            .flatten()
            .collect();
        }
    }
    Ok(out)
}

pub(super) const DISTINCT: (&str, &str) = ("GROUP BY ktx__distinct, ", "GROUP BY DISTINCT ");

/// PostgreSQL, Trino.
pub(super) fn group_distinct(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        if are_words(tokens, index, &["GROUP", "BY", "DISTINCT"]) {
            edits.replace(index + 2..index + 3, [word("ktx__distinct"), Token::Comma]);
        }
    }
    edits
}

/// BigQuery.
pub(super) fn group_and_order(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 0..tokens.len() {
        if are_words(tokens, index, &["GROUP", "AND", "ORDER", "BY"]) {
            edits.replace(
                index..index + 4,
                [word("GROUP"), word("BY"), word("ktx__order"), Token::Comma],
            );
        }
    }
    edits
}
