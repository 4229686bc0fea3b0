//! MySQL's own logical operators: `&&` is AND, and `||` and `XOR` bind weaker than the parser
//! assumes.

use ktx_sql::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Rewrites `&&` to AND. Refuses `||` and `XOR` next to other operators: the parser binds them
/// stronger than comparisons, MySQL weaker than AND, and `||` concatenates if the server's
/// `sql_mode` says so.
pub(crate) fn settled(
    mut tokens: Vec<TokenWithSpan>,
    dialect: Dialect,
) -> Result<Vec<TokenWithSpan>, ParserError> {
    if !matches!(dialect, Dialect::MySql | Dialect::MariaDb) {
        return Ok(tokens);
    }
    for token in &mut tokens {
        if token.token == Token::Overlap {
            token.token = Token::Word(Word {
                value: "AND".to_owned(),
                quote_style: None,
                keyword: Keyword::AND,
            });
        }
    }
    // One entry per open pair of parentheses.
    let mut open: Vec<Operators> = vec![Operators::default()];
    for token in &tokens {
        match Role::of(&token.token) {
            Role::Opens => open.push(Operators::default()),
            Role::Closes => {
                open.pop().unwrap_or_default().check()?;
            }
            role => {
                let mut fresh = Operators::default();
                let operators = open.last_mut().unwrap_or(&mut fresh);
                match role {
                    Role::Parts => std::mem::take(operators).check()?,
                    Role::Weak(word) => operators.add_weak(word),
                    Role::Other => operators.has_other = true,
                    _ => {}
                }
            }
        }
    }
    open.into_iter().try_for_each(Operators::check)?;
    Ok(tokens)
}

#[derive(Clone, Copy)]
enum Role {
    Opens,
    Closes,
    /// Separates independent operands.
    Parts,
    Weak(&'static str),
    Other,
    Nothing,
}

impl Role {
    fn of(token: &Token) -> Self {
        match token {
            Token::LParen => Self::Opens,
            Token::RParen => Self::Closes,
            Token::Comma => Self::Parts,
            Token::StringConcat => Self::Weak("||"),
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::XOR => Self::Weak("XOR"),
                Keyword::CASE | Keyword::WHEN | Keyword::THEN | Keyword::ELSE | Keyword::END => {
                    Self::Parts
                }
                Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::RLIKE
                | Keyword::REGEXP
                | Keyword::BETWEEN
                | Keyword::DIV => Self::Other,
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
    weak: Option<&'static str>,
    has_other: bool,
}

impl Operators {
    fn add_weak(&mut self, word: &'static str) {
        self.has_other |= self.weak.is_some_and(|known| known != word);
        self.weak = Some(word);
    }

    fn check(self) -> Result<(), ParserError> {
        match self.weak {
            Some(word) if self.has_other => {
                let instead = if word == "||" {
                    ", or write `OR` or `CONCAT`"
                } else {
                    ""
                };
                Err(ParserError::ParserError(format!(
                    "`{word}` beside other operators is read in more than one way; put parentheses around each side of it{instead}"
                )))
            }
            _ => Ok(()),
        }
    }
}
