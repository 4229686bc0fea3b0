//! Numbers over all rows: `overall(avg(customers.balance))`.

use std::ops::ControlFlow;

use ktx_sql::Dialect;
use sqlparser::ast::{Expr, Function, Value, VisitorMut};

use crate::model::authored::ColumnType;
use crate::model::error::{ErrorKind, QueryError};
use crate::names::Names;
use crate::names::aggregates::{self, name_of};

pub(crate) const OVERALL: &str = "overall";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constant {
    /// As the parsed call is printed.
    pub(crate) text: String,
    pub(crate) sql: String,
    pub(crate) kind: Option<ColumnType>,
}

pub(crate) fn is_overall(call: &Function) -> bool {
    call.over.is_none() && name_of(call) == OVERALL
}

impl Names<'_> {
    /// Fails outside a query, or in an aggregate where the warehouse allows no query.
    pub(crate) fn write_constants(&self, tree: &mut Expr) -> Result<(), QueryError> {
        let mut writing = Writing {
            names: *self,
            depth: 0,
        };
        match ktx_sql::visit_mut(tree, &mut writing) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }
}

struct Writing<'a> {
    names: Names<'a>,
    depth: usize,
}

impl Writing<'_> {
    fn written(&self, call: &Function) -> Result<Expr, QueryError> {
        let text = call.to_string();
        let refuse = |message: String| {
            Err(QueryError::new(ErrorKind::InvalidQuery, message).about(text.as_str()))
        };
        if self.depth > 0 && self.names.dialect == Dialect::SqlServer {
            return refuse(format!(
                "`{text}` is a query of its own, which SQL Server does not allow in an aggregate: put the condition into \
                 a filter"
            ));
        }
        let mut known = self.names.constants.iter();
        match known.find(|constant| constant.text == text) {
            Some(constant) if constant.kind == Some(ColumnType::Number) => {
                Ok(Expr::value(Value::Number(constant.sql.clone(), false)))
            }
            Some(constant) => Ok(Expr::value(Value::Placeholder(constant.sql.clone()))),
            None => refuse(format!(
                "`{text}` is a number over all rows: it goes into a query"
            )),
        }
    }
}

impl VisitorMut for Writing<'_> {
    type Break = QueryError;

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        if let Expr::Function(call) = tree
            && is_overall(call)
        {
            match self.written(call) {
                Ok(written) => *tree = written,
                Err(error) => return ControlFlow::Break(error),
            }
        }
        self.depth += usize::from(is_aggregate(tree));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        self.depth -= usize::from(is_aggregate(tree));
        ControlFlow::Continue(())
    }
}

fn is_aggregate(tree: &Expr) -> bool {
    matches!(tree, Expr::Function(call) if aggregates::is_aggregate(call))
}
