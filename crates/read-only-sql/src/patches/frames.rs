//! Window frames: `EXCLUDE`, texts as bounds, and `FROM LAST`.

use sqlparser::tokenizer::Token;

use super::carry::CarriedClauses;
use super::edits::Edits;
use super::{are_words, is_any_word, is_word, word};

const EXCLUSIONS: &[&[&str]] = &[
    &["CURRENT", "ROW"],
    &["NO", "OTHERS"],
    &["GROUP"],
    &["TIES"],
];

/// A distance carries `CURRENT ROW EXCLUDE TIES`, a collation `3 FOLLOWING EXCLUDE TIES`.
pub(super) fn carry_exclusions(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        if !is_word(tokens.get(index), "EXCLUDE") {
            continue;
        }
        let Some(words) = EXCLUSIONS
            .iter()
            .find(|words| are_words(tokens, index + 1, words))
        else {
            continue;
        };
        let end = index + 1 + words.len();
        if tokens.get(end) != Some(&Token::RParen) {
            continue;
        }
        let exclusion = format!("EXCLUDE {}", words.join(" "));
        if are_words(tokens, index - 2, &["CURRENT", "ROW"]) {
            let meant = format!("CURRENT ROW {exclusion}");
            distance(&mut edits, carried, index, end, meant);
        } else if are_words(tokens, index - 2, &["UNBOUNDED", "FOLLOWING"]) {
            let meant = format!("UNBOUNDED FOLLOWING {exclusion}");
            distance(&mut edits, carried, index, end, meant);
        } else if are_words(tokens, index - 2, &["UNBOUNDED", "PRECEDING"]) {
            let meant = format!("UNBOUNDED PRECEDING {exclusion}");
            distance(&mut edits, carried, index, end, meant);
        } else if is_any_word(tokens.get(index - 1), &["FOLLOWING", "PRECEDING"]) {
            let (side, after) = if is_word(tokens.get(index - 1), "FOLLOWING") {
                ("FOLLOWING", " FOLLOWING")
            } else {
                ("PRECEDING", " PRECEDING")
            };
            let name = carried.name(" COLLATE ", after, format!(" {side} {exclusion}"));
            let with = [word("COLLATE"), word(&name), word(side)];
            edits.replace(index - 1..end, with);
        }
    }
    edits
}

/// Both bounds accept `PRECEDING`, so the printed word is always the same.
fn distance(
    edits: &mut Edits,
    carried: &mut CarriedClauses,
    index: usize,
    end: usize,
    meant: String,
) {
    let name = carried.name("", " PRECEDING", meant);
    edits.replace(index - 2..end, [word(&name), word("PRECEDING")]);
}

/// Snowflake: `NTH_VALUE(…) FROM LAST`.
pub(super) fn carry_directions(tokens: &[Token], carried: &mut CarriedClauses) -> Edits {
    let mut edits = Edits::default();
    for index in 2..tokens.len() {
        if !are_words(tokens, index, &["FROM", "LAST"])
            || tokens.get(index - 1) != Some(&Token::RParen)
            || tokens.get(index - 2) == Some(&Token::LParen)
            || !is_any_word(tokens.get(index + 2), &["OVER", "IGNORE", "RESPECT"])
        {
            continue;
        }
        let name = carried.name(", ", ")", ") FROM LAST".to_owned());
        let with = [Token::Comma, word(&name), Token::RParen];
        edits.replace(index - 1..index + 2, with);
    }
    edits
}

/// Without brackets, the parser makes an interval of `'1 day' PRECEDING`.
pub(super) fn bracket_bounds(tokens: &[Token]) -> Edits {
    const BEFORE: &[&str] = &["BETWEEN", "AND", "RANGE", "ROWS", "GROUPS"];
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if matches!(tokens.get(index), Some(Token::SingleQuotedString(_)))
            && is_any_word(tokens.get(index - 1), BEFORE)
            && is_any_word(tokens.get(index + 1), &["PRECEDING", "FOLLOWING"])
        {
            edits.insert(index, [Token::LParen]);
            edits.insert(index + 1, [Token::RParen]);
        }
    }
    edits
}
