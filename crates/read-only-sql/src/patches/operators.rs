//! Operators that the parser misreads.

use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{is_any_word, is_word};

pub(super) const SQLITE_WORDS: &[(&str, &str)] = &[(" ktx__nothing", "")];

/// The parser would drop the `NULL` of `a RLIKE NULL`.
pub(super) fn bracket_null_patterns(tokens: &[Token]) -> Edits {
    let mut edits = Edits::default();
    for index in 1..tokens.len() {
        if is_any_word(tokens.get(index - 1), &["RLIKE", "REGEXP"])
            && is_word(tokens.get(index), "NULL")
        {
            edits.insert(index, [Token::LParen]);
            edits.insert(index + 1, [Token::RParen]);
        }
    }
    edits
}
