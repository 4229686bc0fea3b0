//! `overall(measure)`: a measure over all rows.

use ktx_sql::Dialect;

use super::compile::{InnerSql, inner_sql};
use super::per_entity::{calls, texts};
use crate::catalog::Catalog;
use crate::model::error::{ErrorKind, QueryError};
use crate::names::Names;
use crate::names::constants::{Constant, OVERALL};
use crate::names::query::{EmptyMembers, MeasureRequest, Query};
use crate::sql::sql_text::identifier;

pub(super) fn constants(
    catalog: &Catalog,
    query: &Query,
    dialect: Dialect,
) -> Result<Vec<Constant>, QueryError> {
    let mut found: Vec<Constant> = Vec::new();
    for text in texts(query) {
        for call in calls(text, OVERALL) {
            let tree = Names::of(catalog, dialect).parse(call.whole, None)?;
            let text = tree.to_string();
            if found.iter().any(|known| known.text == text) {
                continue;
            }
            let [measure] = call.arguments.as_slice() else {
                return Err(usage(call.whole));
            };
            if measure.is_empty() {
                return Err(usage(call.whole));
            }
            let inner = Query {
                measures: vec![MeasureRequest {
                    expr: (*measure).to_owned(),
                    name: None,
                    via: Vec::new(),
                }],
                empty_members: EmptyMembers::Exclude,
                ..Query::default()
            };
            let inner = inner_sql(catalog, &inner, dialect).map_err(|mut error| {
                error.remedy.queries.clear();
                error.offending.get_or_insert_with(|| call.whole.to_owned());
                error
            })?;
            found.push(Constant {
                text,
                sql: scalar(&inner, dialect, call.whole)?,
                kind: inner.kind,
            });
        }
    }
    Ok(found)
}

fn usage(call: &str) -> QueryError {
    let message = format!("`{OVERALL}` is written `{OVERALL}(measure)`: `{call}`");
    QueryError::new(ErrorKind::InvalidQuery, message).about(call)
}

fn scalar(inner: &InnerSql, dialect: Dialect, call: &str) -> Result<String, QueryError> {
    match &inner.only_part {
        Some((name, sql, value)) => Ok(format!(
            "(SELECT {value} FROM (\n{sql}\n) AS {})",
            identifier(dialect, name)
        )),
        // SQL Server allows WITH only at the start of a statement.
        None if dialect == Dialect::SqlServer => {
            let message = format!(
                "`{call}` takes several steps, which SQL Server does not allow within a statement: ask for this number \
                 first, and write it into the query"
            );
            Err(QueryError::new(ErrorKind::InvalidQuery, message).about(call))
        }
        None => Ok(format!("({})", inner.sql)),
    }
}
