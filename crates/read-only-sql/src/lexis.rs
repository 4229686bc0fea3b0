//! How each server splits a text into quoted pieces, comments and code.
//!
//! The parser's tokenizer differs from the servers in where a string ends, so only this module
//! finds quotes.

mod escapes;
mod numbers;

use crate::refusal::{Refusal, refuse};
pub(super) use escapes::plain_name;
use ktx_diagnostics::Code;
use ktx_sql::Dialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Code(&'a str),
    Text(&'a str),
    Name(&'a str),
    /// As `U&"…"`; [`plain_name`] decodes it.
    EscapedName(&'a str),
    Comment(&'a str),
    Semicolon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backslash {
    Escapes,
    Plain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DoubledQuote {
    /// One quote inside the literal.
    Quote,
    /// The end of one literal and the start of the next.
    End,
}

pub(super) fn pieces(sql: &str, dialect: Dialect) -> Result<Vec<Piece<'_>>, Refusal> {
    let mut scanner = Scanner {
        text: sql,
        at: 0,
        dialect,
    };
    let mut found = Vec::new();
    let mut code_start = 0;
    loop {
        let start = scanner.at;
        let piece = scanner.take_special()?;
        let at_end = piece.is_none() && scanner.rest().is_empty();
        if piece.is_some() || at_end {
            let code = sql.get(code_start..start).unwrap_or_default();
            if !code.is_empty() {
                found.push(Piece::Code(code));
            }
            found.extend(piece);
            code_start = scanner.at;
        }
        if at_end {
            return Ok(found);
        }
        if piece.is_none() {
            scanner.take_code_letter()?;
            scanner.skip_rest_of_word();
        }
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = self.rest().get(..length).unwrap_or_default();
        self.at += taken.len();
        taken
    }

    fn is_after_word(&self) -> bool {
        let before = self
            .text
            .get(..self.at)
            .unwrap_or_default()
            .chars()
            .next_back();
        before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '@'))
    }

    fn take_special(&mut self) -> Result<Option<Piece<'a>>, Refusal> {
        if self.rest().starts_with(';') {
            self.take(1);
            return Ok(Some(Piece::Semicolon));
        }
        if let Some(length) = self.comment_length()? {
            return Ok(Some(Piece::Comment(self.take(length))));
        }
        if let Some(length) = self.escaped_name_length()? {
            return Ok(Some(Piece::EscapedName(self.take(length))));
        }
        if let Some(length) = self.literal_length()? {
            return Ok(Some(Piece::Text(self.take(length))));
        }
        if let Some(length) = self.name_length()? {
            return Ok(Some(Piece::Name(self.take(length))));
        }
        Ok(None)
    }

    fn take_code_letter(&mut self) -> Result<(), Refusal> {
        let Some(letter) = self.rest().chars().next() else {
            return Ok(());
        };
        let plain = letter.is_ascii_graphic() && letter != '\\' && letter != '`';
        let white = matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{c}');
        let foreign = letter.is_alphanumeric() && !letter.is_ascii();
        if !(plain || white || foreign) {
            return refuse(
                Code::UnusualCharacter,
                format!(
                    "the character U+{:04X} is only allowed inside quotes",
                    u32::from(letter)
                ),
            );
        }
        self.take(letter.len_utf8());
        Ok(())
    }

    fn skip_rest_of_word(&mut self) {
        if self.is_after_word() {
            let in_word = |letter: &u8| letter.is_ascii_alphanumeric() || *letter == b'_';
            let length = self.rest().bytes().take_while(|byte| in_word(byte)).count();
            self.take(length);
        }
    }

    fn comment_length(&self) -> Result<Option<usize>, Refusal> {
        let rest = self.rest();
        if rest.starts_with("/*") {
            return self.block_comment_length(rest).map(Some);
        }
        let line = rest.starts_with("--") && dashes_start_comment(rest, self.dialect)
            || rest.starts_with('#') && hash_starts_comment(rest, self.dialect)
            || rest.starts_with("//") && self.dialect == Dialect::Snowflake;
        if !line {
            return Ok(None);
        }
        let length = rest.find('\n').unwrap_or(rest.len());
        let body = rest.get(..length).unwrap_or_default();
        if body.strip_suffix('\r').unwrap_or(body).contains('\r') {
            return refuse(
                Code::UnusualCharacter,
                "a line comment contains a carriage return",
            );
        }
        Ok(Some(length))
    }

    fn block_comment_length(&self, rest: &str) -> Result<usize, Refusal> {
        let executed = matches!(self.dialect, Dialect::MySql | Dialect::MariaDb)
            && (rest.starts_with("/*!") || rest.starts_with("/*M!"));
        if executed {
            return refuse(
                Code::ExecutableComment,
                "the server runs the text of `/*! … */` comments",
            );
        }
        let nests = nests_comments(self.dialect);
        let mut depth = 1_usize;
        let mut at = 2;
        while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
            if tail.starts_with("*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Ok(at);
                }
            } else if nests && tail.starts_with("/*") {
                depth += 1;
                at += 2;
            } else {
                at += tail.chars().next().map_or(1, char::len_utf8);
            }
        }
        refuse(Code::Unterminated, "a comment has no end")
    }

    fn escaped_name_length(&self) -> Result<Option<usize>, Refusal> {
        let rest = self.rest();
        let is_one = escapes::starts_escaped_name(rest) && !self.is_after_word();
        if !is_one || double_quotes_are_text(self.dialect) {
            return Ok(None);
        }
        if self.dialect != Dialect::Postgres {
            return refuse(
                Code::UnusualCharacter,
                "names with escapes, `U&\"…\"`, are not supported; write the letters themselves",
            );
        }
        let quote = rest.get(2..).unwrap_or_default();
        quoted_length(quote, '"', Backslash::Plain, DoubledQuote::Quote)
            .map(|length| Some(2 + length))
    }

    fn literal_length(&self) -> Result<Option<usize>, Refusal> {
        let rest = self.rest();
        if is_null_sign(rest, self.dialect) {
            return Ok(Some(2));
        }
        if let Some(length) = self.dollar_literal_length(rest)? {
            return Ok(Some(length));
        }
        if !self.is_after_word() {
            if let Some(length) = numbers::number_length(rest, self.dialect) {
                return Ok(Some(length));
            }
            for &(prefix, backslash) in prefixes(self.dialect) {
                let Some((head, tail)) = rest.split_at_checked(prefix.len()) else {
                    continue;
                };
                if head.eq_ignore_ascii_case(prefix)
                    && let Some(quote) = self.text_quote(tail)
                {
                    return self
                        .text_length(tail, quote, backslash)
                        .map(|length| Some(prefix.len() + length));
                }
            }
        }
        let backslash = if backslash_escapes(self.dialect) {
            Backslash::Escapes
        } else {
            Backslash::Plain
        };
        match self.text_quote(rest) {
            Some(quote) => self.text_length(rest, quote, backslash).map(Some),
            None => Ok(None),
        }
    }

    fn text_quote(&self, rest: &str) -> Option<char> {
        let first = rest.chars().next()?;
        (first == '\'' || first == '"' && double_quotes_are_text(self.dialect)).then_some(first)
    }

    fn text_length(&self, rest: &str, quote: char, backslash: Backslash) -> Result<usize, Refusal> {
        if self.dialect == Dialect::BigQuery {
            return bigquery_text_length(rest, quote, backslash);
        }
        quoted_length(rest, quote, backslash, DoubledQuote::Quote)
    }

    fn dollar_literal_length(&self, rest: &str) -> Result<Option<usize>, Refusal> {
        let tagged = matches!(
            self.dialect,
            Dialect::Postgres | Dialect::Redshift | Dialect::DuckDb | Dialect::ClickHouse
        );
        if !tagged && self.dialect != Dialect::Snowflake || self.is_after_word() {
            return Ok(None);
        }
        let Some(tail) = rest.strip_prefix('$') else {
            return Ok(None);
        };
        let Some(tag_length) = tail.find('$') else {
            return Ok(None);
        };
        let tag = tail.get(..tag_length).unwrap_or_default();
        let is_tag = tag
            .chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_')
            && !tag.starts_with(|first: char| first.is_ascii_digit());
        if !is_tag || (!tagged && !tag.is_empty()) {
            return Ok(None);
        }
        let fence = rest.get(..tag_length + 2).unwrap_or_default();
        match rest.get(fence.len()..).and_then(|body| body.find(fence)) {
            Some(body) => Ok(Some(body + 2 * fence.len())),
            None => refuse(Code::Unterminated, "a dollar-quoted text has no end"),
        }
    }

    fn name_length(&self) -> Result<Option<usize>, Refusal> {
        let rest = self.rest();
        let Some(open) = rest.chars().next() else {
            return Ok(None);
        };
        let (close, doubled) = match open {
            '"' => ('"', DoubledQuote::Quote),
            '`' if backticks_quote(self.dialect) => ('`', DoubledQuote::Quote),
            '[' if self.dialect == Dialect::SqlServer => (']', DoubledQuote::Quote),
            '[' if self.dialect == Dialect::Sqlite => (']', DoubledQuote::End),
            _ => return Ok(None),
        };
        let length = quoted_length(rest, close, Backslash::Plain, doubled)?;
        let name = rest.get(..length).unwrap_or_default();
        let escapes = matches!(self.dialect, Dialect::BigQuery | Dialect::ClickHouse);
        if name.contains(char::is_control) || escapes && name.contains('\\') {
            return refuse(
                Code::UnusualCharacter,
                format!("the quoted name {name:?} is not allowed"),
            );
        }
        Ok(Some(length))
    }
}

fn quoted_length(
    rest: &str,
    close: char,
    backslash: Backslash,
    doubled: DoubledQuote,
) -> Result<usize, Refusal> {
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' && backslash == Backslash::Escapes {
            letters.next();
        } else if letter == close {
            let again = letters.peek().is_some_and(|(_, next)| *next == close);
            if !again || doubled == DoubledQuote::End {
                return Ok(at + close.len_utf8());
            }
            letters.next();
        }
    }
    refuse(Code::Unterminated, "a quote has no end")
}

/// Parsers disagree about the end of a raw text with a backslash before a quote.
fn bigquery_text_length(rest: &str, quote: char, backslash: Backslash) -> Result<usize, Refusal> {
    let triple: String = [quote; 3].iter().collect();
    let (length, body) = if rest.starts_with(&triple) {
        let length = triple_quoted_length(rest, &triple)?;
        (
            length,
            rest.get(3..length.saturating_sub(3)).unwrap_or_default(),
        )
    } else {
        let length = quoted_length(rest, quote, Backslash::Escapes, DoubledQuote::End)?;
        let body = rest.get(1..length.saturating_sub(1)).unwrap_or_default();
        if body.contains(['\n', '\r']) {
            return refuse(
                Code::Unterminated,
                "a text literal continues past the end of its line",
            );
        }
        (length, body)
    };
    if backslash == Backslash::Plain && body.contains(&format!("\\{quote}")) {
        return refuse(
            Code::UnusualCharacter,
            "a raw text has a backslash before a quote",
        );
    }
    Ok(length)
}

fn triple_quoted_length(rest: &str, fence: &str) -> Result<usize, Refusal> {
    let mut at = fence.len();
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with(fence) {
            return Ok(at + fence.len());
        }
        let mut letters = tail.chars();
        let first = letters.next();
        at += first.map_or(1, char::len_utf8);
        if first == Some('\\') {
            at += letters.next().map_or(0, char::len_utf8);
        }
    }
    refuse(Code::Unterminated, "a triple-quoted text has no end")
}

fn dashes_start_comment(rest: &str, dialect: Dialect) -> bool {
    if !matches!(dialect, Dialect::MySql | Dialect::MariaDb) {
        return true;
    }
    rest.chars()
        .nth(2)
        .is_none_or(|next| next.is_ascii_whitespace() || next.is_ascii_control())
}

fn hash_starts_comment(rest: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::MySql | Dialect::MariaDb | Dialect::BigQuery => true,
        Dialect::ClickHouse => rest.starts_with("# ") || rest.starts_with("#!"),
        _ => false,
    }
}

const fn nests_comments(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::Postgres
            | Dialect::Redshift
            | Dialect::DuckDb
            | Dialect::SqlServer
            | Dialect::ClickHouse
            | Dialect::Databricks
    )
}

const fn backslash_escapes(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::MySql
            | Dialect::MariaDb
            | Dialect::BigQuery
            | Dialect::ClickHouse
            | Dialect::Snowflake
            | Dialect::Databricks
            | Dialect::Redshift
    )
}

const fn double_quotes_are_text(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::MySql | Dialect::MariaDb | Dialect::BigQuery | Dialect::Databricks
    )
}

const fn backticks_quote(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::MySql
            | Dialect::MariaDb
            | Dialect::BigQuery
            | Dialect::ClickHouse
            | Dialect::Databricks
            | Dialect::Sqlite
    )
}

/// Longer prefixes first.
const fn prefixes(dialect: Dialect) -> &'static [(&'static str, Backslash)] {
    use Backslash::{Escapes, Plain};
    match dialect {
        Dialect::Postgres | Dialect::DuckDb => &[
            ("U&", Plain),
            ("E", Escapes),
            ("B", Plain),
            ("X", Plain),
            ("N", Plain),
        ],
        Dialect::Redshift => &[("X", Escapes), ("N", Escapes), ("B", Escapes)],
        Dialect::MySql | Dialect::MariaDb => &[("N", Escapes), ("X", Escapes), ("B", Escapes)],
        Dialect::Sqlite => &[("X", Plain)],
        Dialect::SqlServer => &[("N", Plain)],
        Dialect::ClickHouse => &[("X", Escapes), ("B", Escapes)],
        Dialect::Snowflake => &[("X", Escapes)],
        Dialect::BigQuery => &[("RB", Plain), ("BR", Plain), ("R", Plain), ("B", Escapes)],
        Dialect::Databricks => &[("R", Plain), ("X", Escapes)],
        Dialect::Trino => &[("U&", Plain), ("X", Plain)],
    }
}

/// MySQL, MariaDB: `\N` means `NULL`, which the parser does not know.
fn is_null_sign(rest: &str, dialect: Dialect) -> bool {
    let in_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    matches!(dialect, Dialect::MySql | Dialect::MariaDb)
        && rest
            .strip_prefix("\\N")
            .is_some_and(|tail| !tail.starts_with(in_word))
}

#[cfg(test)]
mod tests;
