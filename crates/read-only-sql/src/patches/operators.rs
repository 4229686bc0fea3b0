//! Operators that the parser reads differently than the servers do.

use sqlparser::tokenizer::Token;

use super::edits::Edits;
use super::{is_any_word, is_word};

/// The printed suffix of SQLite's operators without a right side, and its replacement.
pub(super) const SQLITE_WORDS: &[(&str, &str)] = &[(" ktx__nothing", "")];

/// `a RLIKE NULL` becomes the equivalent `a RLIKE (NULL)`; the parser would drop the `NULL`.
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
