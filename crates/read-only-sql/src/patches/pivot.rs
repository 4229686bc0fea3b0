//! Converts DuckDB's `PIVOT` and `UNPIVOT` to selects and back.

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{are_words, closing_bracket, find_at_level, is_any_word, is_word, text, word};
use crate::refusal::{Refusal, refuse};

pub(crate) const PIVOT: &str = "ktx__pivot";

pub(crate) const PIVOT_GROUP: &str = "ktx__pivot_group";

const UNPIVOT: &str = "ktx__unpivot";
const UNPIVOT_INTO: &str = "ktx__into";

const MAX_PIVOTS: usize = 50;

const ENDS: &[&str] = &["GROUP", "ORDER", "LIMIT"];

/// Only at the start of a text or a bracket.
pub(super) fn rewrite_as_select(tokens: &[Token]) -> Vec<Token> {
    let mut patched: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let opens = index == 0 || tokens.get(index - 1) == Some(&Token::LParen);
        let select = if !opens {
            None
        } else if is_word(Some(token), "PIVOT") {
            select(tokens, index)
        } else if is_word(Some(token), "UNPIVOT") {
            unpivot(tokens, index)
        } else {
            None
        };
        if let Some((select, end)) = select {
            patched.extend(select);
            index = end;
            continue;
        }
        patched.push(token.clone());
        index += 1;
    }
    patched
}

fn select(tokens: &[Token], start: usize) -> Option<(Vec<Token>, usize)> {
    let on = find_at_level(tokens, start + 1, |_, token| is_word(Some(token), "ON"))?;
    let ends = |token: &Token| is_any_word(Some(token), ENDS) || *token == Token::RParen;
    let using = find_at_level(tokens, on + 1, |_, token| {
        is_word(Some(token), "USING") || ends(token)
    })
    .unwrap_or(tokens.len());
    let has_using = is_word(tokens.get(using), "USING");
    let end = if has_using {
        find_at_level(tokens, using + 1, |_, token| ends(token)).unwrap_or(tokens.len())
    } else {
        using
    };
    let mut select = vec![word("SELECT"), word(PIVOT), Token::LParen];
    select.extend_from_slice(tokens.get(on + 1..using)?);
    select.push(Token::RParen);
    if has_using {
        select.push(Token::Comma);
        select.extend_from_slice(tokens.get(using + 1..end)?);
    }
    select.push(word("FROM"));
    select.extend_from_slice(tokens.get(start + 1..on)?);
    Some((select, end))
}

fn unpivot(tokens: &[Token], start: usize) -> Option<(Vec<Token>, usize)> {
    let on = find_at_level(tokens, start + 1, |_, token| is_word(Some(token), "ON"))?;
    let into = find_at_level(tokens, on + 1, |_, token| is_word(Some(token), "INTO"))?;
    let value = find_at_level(tokens, into + 1, |_, token| is_word(Some(token), "VALUE"))?;
    if !are_words(tokens, into, &["INTO", "NAME"]) {
        return None;
    }
    let ends = |token: &Token| is_any_word(Some(token), ENDS);
    let end = find_at_level(tokens, value + 1, |_, token| {
        ends(token) || *token == Token::RParen
    })
    .unwrap_or(tokens.len());
    let mut select = vec![word("SELECT"), word(UNPIVOT), Token::Comma];
    select.extend_from_slice(tokens.get(on + 1..into)?);
    select.extend([Token::Comma, word(UNPIVOT_INTO), Token::Comma]);
    select.extend_from_slice(tokens.get(into + 2..value)?);
    select.push(Token::Comma);
    select.extend_from_slice(tokens.get(value + 1..end)?);
    select.push(word("FROM"));
    select.extend_from_slice(tokens.get(start + 1..on)?);
    Some((select, end))
}

/// `PIVOT (sum(x) FOR c IN (…) GROUP BY g)`.
pub(super) fn move_group_to_aggregates(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if tokens.get(index) != Some(&Token::LParen) || !is_word(tokens.get(index - 1), "PIVOT") {
            continue;
        }
        let place =
            |text: &str| find_at_level(tokens, index + 1, |_, token| is_word(Some(token), text));
        let (Some(values), Some(group), Some(end)) =
            (place("FOR"), place("GROUP"), closing_bracket(tokens, index))
        else {
            continue;
        };
        let Some(list) = tokens.get(group + 2..end).filter(|_| values < group) else {
            continue;
        };
        let mut call = vec![Token::Comma, word(PIVOT_GROUP), Token::LParen];
        call.extend_from_slice(list);
        call.push(Token::RParen);
        edits.insert(values, call);
        edits.remove(group..end);
    }
    edits
}

pub(super) fn undo(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    if ![PIVOT, UNPIVOT].iter().any(|name| printed.contains(name)) {
        return Ok(printed.to_owned());
    }
    let mut printed = undo_pivots(printed, dialect)?;
    for _ in 0..=MAX_PIVOTS {
        let blanked = text::blank_quotes(&printed, dialect)?;
        let part = if blanked.contains(&format!("SELECT {UNPIVOT}, ")) {
            undo_unpivot(&printed, &blanked)
        } else if blanked.contains(&format!(", {PIVOT_GROUP}(")) {
            undo_group(&printed, &blanked)
        } else {
            return Ok(printed);
        };
        match part {
            Some(text) => printed = text,
            None => break,
        }
    }
    refuse(Code::Unprintable, "an `UNPIVOT` cannot be printed")
}

fn undo_unpivot(printed: &str, blanked: &str) -> Option<String> {
    let opening = format!("SELECT {UNPIVOT}, ");
    let middle = format!(", {UNPIVOT_INTO}, ");
    let start = blanked.find(&opening)?;
    let on = start + opening.len();
    let on_end = text::find_text_at_level(blanked, on, &[&middle]);
    let name = on_end + middle.len();
    let name_end = text::find_text_at_level(blanked, name, &[", "]);
    let from = text::find_text_at_level(blanked, name_end, &[" FROM "]);
    let source = from + " FROM ".len();
    let source_end =
        text::find_text_at_level(blanked, source, &[" GROUP BY ", " ORDER BY ", " LIMIT "]);
    Some(format!(
        "{}UNPIVOT {} ON {} INTO NAME {} VALUE {}{}",
        printed.get(..start)?,
        printed.get(source..source_end)?,
        printed.get(on..on_end)?,
        printed.get(name..name_end)?,
        printed.get(name_end + ", ".len()..from)?,
        printed.get(source_end..)?,
    ))
}

fn undo_group(printed: &str, blanked: &str) -> Option<String> {
    let opening = format!(", {PIVOT_GROUP}(");
    let start = blanked.find(&opening)?;
    let list = start + opening.len();
    let list_end = text::find_text_at_level(blanked, list, &[]);
    let end = text::find_text_at_level(blanked, list_end + 1, &[]);
    Some(format!(
        "{}{} GROUP BY {}{}",
        printed.get(..start)?,
        printed.get(list_end + 1..end)?,
        printed.get(list..list_end)?,
        printed.get(end..)?,
    ))
}

fn undo_pivots(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    let opening = format!("SELECT {PIVOT}(");
    let mut printed = printed.to_owned();
    for _ in 0..=MAX_PIVOTS {
        let blanked = text::blank_quotes(&printed, dialect)?;
        let Some(start) = blanked.find(&opening) else {
            return Ok(printed);
        };
        let on = start + opening.len();
        let on_end = text::find_text_at_level(&blanked, on, &[]);
        let items = on_end + 1;
        let from = text::find_text_at_level(&blanked, items, &[" FROM "]);
        let source = from + " FROM ".len();
        let source_end =
            text::find_text_at_level(&blanked, source, &[" GROUP BY ", " ORDER BY ", " LIMIT "]);
        let part = |range: std::ops::Range<usize>| printed.get(range).map(ToOwned::to_owned);
        let (Some(before), Some(on), Some(items), Some(source), Some(after)) = (
            part(0..start),
            part(on..on_end),
            part(items..from),
            part(source..source_end),
            part(source_end..printed.len()),
        ) else {
            return refuse(Code::Unprintable, "a `PIVOT` cannot be printed");
        };
        let using = items
            .strip_prefix(", ")
            .map_or_else(String::new, |list| format!(" USING {list}"));
        printed = format!("{before}PIVOT {source} ON {on}{using}{after}");
    }
    refuse(Code::TooLarge, "the text has too many pivots")
}
