//! DuckDB's `PIVOT t ON c USING sum(x) GROUP BY g` as a select, and back.

use sqlparser::tokenizer::Token;

use super::{find_level, is_any_word, is_word, text, word};
use crate::Dialect;
use crate::gate::{Refusal, refuse};

/// The function whose arguments are the `ON` list.
pub(in crate::gate) const PIVOT: &str = "ktx__pivot";

/// Words that end the part before them.
const ENDS: &[&str] = &["GROUP", "ORDER", "LIMIT"];

/// Rewrites every `PIVOT` that opens a text or a bracket.
pub(super) fn as_select(tokens: &[Token]) -> Vec<Token> {
    let mut patched: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let opens = index == 0 || tokens.get(index - 1) == Some(&Token::LParen);
        if opens
            && is_word(Some(token), "PIVOT")
            && let Some((select, end)) = select(tokens, index)
        {
            patched.extend(select);
            index = end;
            continue;
        }
        patched.push(token.clone());
        index += 1;
    }
    patched
}

/// The select for the pivot at `start`, up to its first clause that a select has as well.
fn select(tokens: &[Token], start: usize) -> Option<(Vec<Token>, usize)> {
    let on = find_level(tokens, start + 1, |_, token| is_word(Some(token), "ON"))?;
    let ends = |token: &Token| is_any_word(Some(token), ENDS) || *token == Token::RParen;
    let using = find_level(tokens, on + 1, |_, token| {
        is_word(Some(token), "USING") || ends(token)
    })
    .unwrap_or(tokens.len());
    let has_using = is_word(tokens.get(using), "USING");
    let end = if has_using {
        find_level(tokens, using + 1, |_, token| ends(token)).unwrap_or(tokens.len())
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

/// Undoes [`as_select`].
pub(super) fn undo(printed: &str, dialect: Dialect) -> Result<String, Refusal> {
    let opening = format!("SELECT {PIVOT}(");
    let mut printed = printed.to_owned();
    loop {
        let blanked = text::blanked(&printed, dialect)?;
        let Some(start) = blanked.find(&opening) else {
            return Ok(printed);
        };
        let on = start + opening.len();
        let on_end = text::find_level(&blanked, on, &[]);
        let items = on_end + 1;
        let from = text::find_level(&blanked, items, &[" FROM "]);
        let source = from + " FROM ".len();
        let source_end =
            text::find_level(&blanked, source, &[" GROUP BY ", " ORDER BY ", " LIMIT "]);
        let part = |range: std::ops::Range<usize>| printed.get(range).map(ToOwned::to_owned);
        let (Some(before), Some(on), Some(items), Some(source), Some(after)) = (
            part(0..start),
            part(on..on_end),
            part(items..from),
            part(source..source_end),
            part(source_end..printed.len()),
        ) else {
            return refuse("unprintable", "a `PIVOT` cannot be printed");
        };
        let using = items
            .strip_prefix(", ")
            .map_or_else(String::new, |list| format!(" USING {list}"));
        printed = format!("{before}PIVOT {source} ON {on}{using}{after}");
    }
}
