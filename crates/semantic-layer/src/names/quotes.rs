//! Double quotes that mean a name to the author and a string to the warehouse.

use sqlparser::ast::Expr;

use super::Names;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::Source;
use crate::sql::expression;

impl Names<'_> {
    /// Refuses a double-quoted string that is a column's name: a constant would yield a wrong
    /// number.
    pub(crate) fn parse(&self, text: &str, own: Option<&Source>) -> Result<Expr, QueryError> {
        let tree = match expression::parse(text, self.dialect) {
            Ok(tree) => tree,
            Err(error) if own.is_none() => self.parse_quoted(text).ok_or(error)?,
            Err(error) => return Err(error),
        };
        for quoted in expression::double_quoted(text, self.dialect) {
            let is_column = match own {
                Some(source) => source.column(&quoted).is_some(),
                None => self.is_column(&[quoted.as_str()]),
            };
            if is_column {
                let name = self.dialect.quote(&quoted);
                let message = format!(
                    "`\"{quoted}\"` is a text in {}, and a column has that name; write {name} for the \
                     column or '{quoted}' for the text",
                    self.dialect.name()
                );
                return Err(QueryError::new(ErrorKind::ParseError, message)
                    .about(text)
                    .suggest([name, format!("'{quoted}'")]));
            }
        }
        Ok(tree)
    }

    /// Parses an expression that names sources such as `Order Details` without quotes.
    fn parse_quoted(&self, text: &str) -> Option<Expr> {
        let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_';
        let sources = self
            .catalog
            .sources
            .iter()
            .map(|source| source.name.as_str());
        let mut names: Vec<&str> = sources.filter(|name| !name.chars().all(is_plain)).collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let mut quoted = String::new();
        let mut closing: Option<char> = None;
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let begins = |name: &&&str| {
                let after = rest.strip_prefix(**name);
                after.is_some_and(|after| after.starts_with('.'))
            };
            let is_start = closing.is_none() && !quoted.ends_with(is_plain);
            if let Some(name) = names.iter().filter(|_| is_start).find(begins) {
                quoted.push_str(&self.dialect.quote(name));
                rest = rest.get(name.len()..)?;
                continue;
            }
            closing = match closing {
                Some(end) => Some(end).filter(|end| *end != letter),
                None if letter == '[' => Some(']'),
                None => Some(letter).filter(|letter| matches!(letter, '\'' | '"' | '`')),
            };
            quoted.push(letter);
            rest = rest.get(letter.len_utf8()..)?;
        }
        (quoted != text).then(|| expression::parse(&quoted, self.dialect).ok())?
    }
}
