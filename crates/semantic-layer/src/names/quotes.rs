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
        let tree = expression::parse(text, self.dialect)?;
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
}
