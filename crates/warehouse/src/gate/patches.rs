//! Harmless clauses that the parser does not know, written as something that it does know.
//!
//! Each patch rewrites tokens before the parse and is undone in the printed text. A text that was
//! printed goes through the same patches again and has to give the same tree, so a patch that is
//! undone wrongly refuses a query, and never lets one pass.

mod clauses;
mod joins;
mod pivot;
mod text;

use sqlparser::tokenizer::{Token, Word};

pub(super) use self::clauses::{APPROXIMATE_NAME, SAFE_NAME};
use self::joins::Strictness;
pub(super) use self::pivot::PIVOT;
use super::Refusal;
use crate::Dialect;

/// The tokens of a text after all patches.
#[derive(Debug)]
pub(super) struct Patched {
    tokens: Vec<Token>,
    tail: Option<String>,
    strictness: Option<Strictness>,
}

impl Patched {
    /// Applies the patches of `dialect` to tokens without white space.
    pub(super) fn new(mut tokens: Vec<Token>, dialect: Dialect) -> Self {
        let mut tail = None;
        let mut strictness = None;
        clauses::spell_out_table(&mut tokens);
        if dialect != Dialect::Postgres {
            clauses::drop_materialized(&mut tokens);
        }
        match dialect {
            Dialect::ClickHouse => {
                tail = clauses::cut_second_limit(&mut tokens);
                tokens = clauses::scalars_as_tables(&tokens);
                clauses::bracket_using(&mut tokens);
                clauses::index_tuples(&mut tokens);
                strictness = joins::clickhouse(&mut tokens);
            }
            Dialect::DuckDb => {
                tail = clauses::cut_tail(&mut tokens, &["USING", "SAMPLE"], clauses::SAMPLE_WORDS)
                    .or_else(|| clauses::cut_percent_limit(&mut tokens));
                tokens = pivot::as_select(&tokens);
                clauses::complete_filters(&mut tokens);
                clauses::caret_for_power(&mut tokens);
                strictness = joins::duckdb(&mut tokens);
            }
            Dialect::SqlServer => {
                tail = clauses::cut_tail(&mut tokens, &["OPTION"], clauses::OPTION_WORDS);
            }
            Dialect::Redshift => clauses::name_approximate(&mut tokens),
            Dialect::Sqlite => clauses::spell_out_is(&mut tokens),
            Dialect::BigQuery => clauses::name_safe(&mut tokens),
            Dialect::Trino => clauses::drop_for_of_versions(&mut tokens),
            _ => {}
        }
        Self {
            tokens,
            tail,
            strictness,
        }
    }

    /// What the parser reads.
    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Whether a limit may be added at the end of the query.
    pub(super) fn takes_limit(&self) -> bool {
        self.tail.is_none()
    }

    /// Turns the printed text into the dialect's own words again.
    pub(super) fn undo(&self, printed: &str, dialect: Dialect) -> Result<String, Refusal> {
        let mut text = match dialect {
            Dialect::ClickHouse => {
                let text = clauses::tables_as_scalars(printed, dialect)?;
                text::in_code(&text, dialect, clauses::TUPLE_INDEX, ".")?.replace("ktx__]", "")
            }
            Dialect::BigQuery => text::in_code(printed, dialect, clauses::SAFE_NAME, "SAFE.")?,
            Dialect::DuckDb => pivot::undo(printed, dialect)?,
            Dialect::Redshift => {
                text::in_code(printed, dialect, clauses::APPROXIMATE_NAME, "APPROXIMATE ")?
            }
            Dialect::Trino => clauses::restore_for_of_versions(printed, dialect)?,
            _ => printed.to_owned(),
        };
        if let Some(strictness) = self.strictness {
            text = text::in_code(&text, dialect, "GLOBAL ", strictness.words())?;
        }
        if let Some(tail) = &self.tail {
            text.push(' ');
            text.push_str(tail);
        }
        Ok(text)
    }
}

/// Whether the token is this unquoted word, in any case of letters.
fn is_word(token: Option<&Token>, word: &str) -> bool {
    unquoted(token).is_some_and(|text| text.eq_ignore_ascii_case(word))
}

fn is_any_word(token: Option<&Token>, words: &[&str]) -> bool {
    words.iter().any(|word| is_word(token, word))
}

fn unquoted(token: Option<&Token>) -> Option<&str> {
    match token {
        Some(Token::Word(Word {
            value,
            quote_style: None,
            ..
        })) => Some(value),
        _ => None,
    }
}

fn word(text: &str) -> Token {
    Token::make_word(text, None)
}

/// The change of depth that a token makes.
fn step(token: &Token) -> isize {
    match token {
        Token::LParen | Token::LBracket | Token::LBrace => 1,
        Token::RParen | Token::RBracket | Token::RBrace => -1,
        _ => 0,
    }
}

/// The first index from `start` whose token is at the depth of `start` and fits. The search ends
/// where that depth is left.
fn find_level(
    tokens: &[Token],
    start: usize,
    fits: impl Fn(usize, &Token) -> bool,
) -> Option<usize> {
    let mut depth = 0_isize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        if depth == 0 && fits(index, token) {
            return Some(index);
        }
        depth += step(token);
        if depth < 0 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests;
