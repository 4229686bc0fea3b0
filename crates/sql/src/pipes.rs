//! MySQL's `||`: an OR or a concatenation, depending on the server's `sql_mode`.

use crate::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Its precedence depends on its meaning, so mixed operators are refused.
pub fn check(tokens: &[TokenWithSpan], dialect: Dialect) -> Result<(), ParserError> {
    if !matches!(dialect, Dialect::MySql | Dialect::MariaDb) {
        return Ok(());
    }
    let mut open: Vec<Operators> = vec![Operators::default()];
    for token in tokens {
        match TokenRole::of(&token.token) {
            TokenRole::Opens => open.push(Operators::default()),
            TokenRole::Closes => {
                open.pop().unwrap_or_default().check()?;
            }
            role => {
                let mut fresh = Operators::default();
                let operators = open.last_mut().unwrap_or(&mut fresh);
                match role {
                    TokenRole::Parts => std::mem::take(operators).check()?,
                    TokenRole::Pipes => operators.has_pipes = true,
                    TokenRole::Other => operators.has_other = true,
                    _ => {}
                }
            }
        }
    }
    open.into_iter().try_for_each(Operators::check)
}

#[derive(Clone, Copy)]
enum TokenRole {
    Opens,
    Closes,
    Parts,
    Pipes,
    Other,
    Nothing,
}

impl TokenRole {
    fn of(token: &Token) -> Self {
        match token {
            Token::LParen => Self::Opens,
            Token::RParen => Self::Closes,
            Token::Comma => Self::Parts,
            Token::StringConcat => Self::Pipes,
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::CASE | Keyword::WHEN | Keyword::THEN | Keyword::ELSE | Keyword::END => {
                    Self::Parts
                }
                Keyword::AND
                | Keyword::OR
                | Keyword::XOR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::RLIKE
                | Keyword::REGEXP
                | Keyword::BETWEEN
                | Keyword::DIV => Self::Other,
                _ if word.value.eq_ignore_ascii_case("MOD") => Self::Other,
                _ => Self::Nothing,
            },
            Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::Period
            | Token::Whitespace(_)
            | Token::EOF => Self::Nothing,
            _ => Self::Other,
        }
    }
}

#[derive(Default)]
struct Operators {
    has_pipes: bool,
    has_other: bool,
}

impl Operators {
    fn check(self) -> Result<(), ParserError> {
        if self.has_pipes && self.has_other {
            let message = "`||` beside other operators is read in more than one way; put parentheses around \
                           each side of it, or write `OR` or `CONCAT`";
            return Err(ParserError::ParserError(message.to_owned()));
        }
        Ok(())
    }
}
