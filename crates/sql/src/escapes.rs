//! Backslashes in text literals that a warehouse keeps but the parser drops: ClickHouse keeps that
//! of an unknown escape, Spark that of `\%` and `\_`.

use std::borrow::Cow;

use crate::dialect::Dialect;

/// Escapes of ClickHouse (`parseEscapeSequence` in its `ReadHelpers.cpp`).
const CLICKHOUSE: &str = "abefnrtv0\\'\"`/=xN";

pub fn double_backslashes(text: &str, dialect: Dialect) -> Cow<'_, str> {
    let stays: fn(char) -> bool = match dialect {
        Dialect::ClickHouse => |letter| !CLICKHOUSE.contains(letter),
        Dialect::Databricks => |letter| matches!(letter, '%' | '_'),
        _ => return Cow::Borrowed(text),
    };
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 8);
    let mut inside = LexState::Code;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        written.push(letter);
        match (inside, letter, next) {
            (LexState::Code, '\'' | '"' | '`', _) => inside = LexState::Quotes(letter),
            (LexState::Code, '-', Some('-')) => inside = LexState::LineComment,
            (LexState::Code, '/', Some('*')) => inside = LexState::BlockComment,
            (LexState::LineComment, '\n', _) => inside = LexState::Code,
            (LexState::BlockComment, '*', Some('/')) => {
                written.extend(letters.next());
                inside = LexState::Code;
            }
            (LexState::Quotes(_), '\\', Some(escaped)) => {
                if inside == LexState::Quotes('\'') && stays(escaped) {
                    written.push('\\');
                }
                written.extend(letters.next());
            }
            (LexState::Quotes(quote), _, _) if letter == quote => inside = LexState::Code,
            _ => {}
        }
    }
    Cow::Owned(written)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LexState {
    Code,
    Quotes(char),
    LineComment,
    BlockComment,
}

#[cfg(test)]
mod tests {
    use crate::dialect::Dialect;

    use super::double_backslashes;

    #[test]
    fn backslashes_that_a_warehouse_keeps_are_doubled() {
        let cases = [
            (Dialect::ClickHouse, r"a like '100\%'", r"a like '100\\%'"),
            (
                Dialect::ClickHouse,
                r"match(a, '^\w+\\d\n\'\d') -- it's \d",
                r"match(a, '^\\w+\\d\n\'\\d') -- it's \d",
            ),
            (
                Dialect::ClickHouse,
                r#""a\d" = 'it''s \d' /* '\d */ and `b\d` = '\_'"#,
                r#""a\d" = 'it''s \\d' /* '\d */ and `b\d` = '\\_'"#,
            ),
            (
                Dialect::Databricks,
                r"a like '\%\d\_'",
                r"a like '\\%\d\\_'",
            ),
            (Dialect::MySql, r"a like '\%\d'", r"a like '\%\d'"),
            (Dialect::ClickHouse, r"'\", r"'\"),
        ];
        for (dialect, text, expected) in cases {
            assert_eq!(double_backslashes(text, dialect), expected);
        }
    }
}
