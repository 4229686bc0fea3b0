//! Adds a row limit to a query that has none.

use sqlparser::ast::{Expr, LimitClause, Query, SetExpr, Statement, Top, TopQuantity, Value};

use ktx_sql::Dialect;

pub(super) fn add(statement: &mut Statement, rows: u64, dialect: Dialect) {
    let Statement::Query(query) = statement else {
        return;
    };
    if has_limit(query) {
        return;
    }
    if dialect == Dialect::SqlServer {
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.top = Some(Top {
                with_ties: false,
                percent: false,
                quantity: Some(TopQuantity::Constant(rows)),
            });
        }
        return;
    }
    query.limit_clause = Some(LimitClause::LimitOffset {
        limit: Some(Expr::Value(
            Value::Number(rows.to_string(), false).with_empty_span(),
        )),
        offset: None,
        limit_by: Vec::new(),
    });
}

fn has_limit(query: &Query) -> bool {
    let body_has = match query.body.as_ref() {
        SetExpr::Select(select) => select.top.is_some(),
        SetExpr::Query(_) => true,
        _ => false,
    };
    body_has
        || query.limit_clause.is_some()
        || query.fetch.is_some()
        || query.for_clause.is_some()
        || !query.pipe_operators.is_empty()
}
