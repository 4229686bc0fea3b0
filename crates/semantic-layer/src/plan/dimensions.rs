//! Resolves dimensions to columns and units.

use std::fmt::Write as _;

use ktx_sql::Dialect;
use sqlparser::ast::Expr;

use super::{Dimension, ways};
use crate::catalog::graph::NodeId;
use crate::model::authored::{ColumnType, Visibility};
use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::model::resolved::Column;
use crate::names::query::{DimensionRequest, Query};
use crate::names::{Names, Scope, bound};
use crate::sql::expression;
use crate::sql::sql_text::{has_empty_part, table_parts};

/// Duplicates yield one column.
pub(super) fn resolve(names: Names<'_>, query: &Query) -> Result<Vec<Dimension>, QueryError> {
    let mut all: Vec<Dimension> = Vec::new();
    for (at, request) in query.dimensions.iter().enumerate() {
        let dimension = Dimension {
            request: at,
            ..dimension(names, request)?
        };
        let same = |known: &Dimension| {
            known.node == dimension.node
                && known.column == dimension.column
                && known.unit == dimension.unit
        };
        if !all.iter().any(same) {
            all.push(dimension);
        }
    }
    Ok(all)
}

fn dimension(names: Names<'_>, request: &DimensionRequest) -> Result<Dimension, QueryError> {
    let field = request.field.trim();
    if field.contains('(') && !plain_field(names, field) {
        return Err(not_a_dimension(names, field));
    }
    let parts = table_parts(field);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (node, name, fields) = match parts.as_slice() {
        [] => return Err(not_a_dimension(names, field)),
        [name] => match names.only_holder(name) {
            Ok(node) => (node, *name, &[] as &[&str]),
            Err(error) => return Err(bare_error(names, name, error)),
        },
        parts => {
            let (node, rest) = names
                .split(parts)
                .map_err(|error| not_a_column(names, field, error))?;
            let (name, fields) = rest.split_first().unwrap_or((&"", &[]));
            (node, *name, fields)
        }
    };
    let node = ways::role(names, node, request)?;
    let source = names.source(node)?;
    let Some((_, column)) = source.column(name) else {
        if source.measure(name).is_some() {
            let message = format!("`{field}` is a measure, not a dimension");
            return Err(QueryError::new(ErrorKind::NotADimension, message).about(field));
        }
        return Err(names.unknown_column(node, name));
    };
    if column.visibility == Visibility::Hidden {
        return Err(names.hidden(node, &column.name));
    }
    if !fields.is_empty() {
        return Err(beyond_a_column(names, (node, column), fields, field));
    }
    if has_empty_part(field) {
        let whole = format!("{}.{}", names.node_name(node), names.member(&column.name));
        let message = format!("`{field}` has a dot without a name before or after it");
        return Err(QueryError::new(ErrorKind::NotADimension, message)
            .about(field)
            .suggest([whole]));
    }
    let unit = request
        .granularity
        .as_deref()
        .map(granularity)
        .transpose()?;
    if unit.is_some() && column.kind != ColumnType::Time {
        return Err(not_a_time(names, node, column, field));
    }
    Ok(Dimension {
        node,
        column: column.name.clone(),
        unit,
        native_type: column.native_type.clone(),
        tree: names.own_column(node, &column.name)?,
        name: String::new(),
        reference: DimensionRequest {
            granularity: None,
            ..request.clone()
        }
        .text(),
        request: 0,
    })
}

fn not_a_time(names: Names<'_>, node: NodeId, column: &Column, field: &str) -> QueryError {
    let mut message = format!("`{field}` is not a time column; it has no granularity");
    let owner = names.source(node);
    let times = owner
        .iter()
        .flat_map(|source| &source.columns)
        .filter(|other| other.kind == ColumnType::Time && other.visibility != Visibility::Hidden);
    let times: Vec<String> = times
        .map(|other| format!("{}.{}", names.node_name(node), names.member(&other.name)))
        .collect();
    if let Ok(source) = owner
        && column.kind == ColumnType::String
    {
        let name = &column.name;
        // SQLite has no type for dates; elsewhere only a cast makes a time of a text.
        let expr = match names.dialect {
            Dialect::Sqlite => name.clone(),
            _ => format!("CAST({name} AS date)"),
        };
        let _ = write!(
            message,
            "; if its texts are dates, add `columns: [{{name: {name}_time, type: time, expr: {expr}}}]` to the overlay \
             of `{}`",
            source.name
        );
    }
    QueryError::new(ErrorKind::NotATimeColumn, message)
        .about(field)
        .suggest(times)
}

fn beyond_a_column(
    names: Names<'_>,
    (node, column): (NodeId, &Column),
    fields: &[&str],
    field: &str,
) -> QueryError {
    let whole = format!("{}.{}", names.node_name(node), names.member(&column.name));
    if let ([unit], ColumnType::Time) = (fields, column.kind)
        && let Some(unit) = Granularity::parse(unit)
    {
        let unit = unit.name();
        let message = format!(
            "`{field}` is not a column: write the unit of `{whole}` after a colon, or as `granularity: {unit}`"
        );
        return QueryError::new(ErrorKind::BadGranularity, message)
            .about(field)
            .suggest([format!("{whole}:{unit}")]);
    }
    let message = format!(
        "`{field}` is not a column: the column is `{whole}`; to group by a part of its values, add a computed column \
         to its source"
    );
    QueryError::new(ErrorKind::UnknownColumn, message)
        .about(field)
        .suggest([whole])
}

fn granularity(text: &str) -> Result<Granularity, QueryError> {
    Granularity::parse(text).ok_or_else(|| {
        QueryError::new(
            ErrorKind::BadGranularity,
            format!("unknown granularity `{text}`"),
        )
        .about(text)
        .suggest(Granularity::ALL.map(Granularity::name))
    })
}

fn plain_field(names: Names<'_>, field: &str) -> bool {
    let parts = table_parts(field);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    names.is_column(&parts)
}

/// A bare name can be a measure.
fn bare_error(names: Names<'_>, name: &str, error: QueryError) -> QueryError {
    let is_measure = names
        .catalog
        .sources
        .iter()
        .any(|source| source.measure(name).is_some());
    if error.kind == ErrorKind::UnknownColumn && is_measure {
        let message = format!("`{name}` is a measure, not a dimension");
        return QueryError::new(ErrorKind::NotADimension, message).about(name);
    }
    if error.kind == ErrorKind::UnknownColumn && expression::parse(name, names.dialect).is_err() {
        return not_a_dimension(names, name);
    }
    error
}

fn not_a_column(names: Names<'_>, field: &str, error: QueryError) -> QueryError {
    match expression::parse(field, names.dialect) {
        Ok(tree) if expression::reference(&tree).is_some() => error,
        Err(_)
            if field
                .chars()
                .all(|letter| letter.is_alphanumeric() || "._".contains(letter)) =>
        {
            error
        }
        _ => not_a_dimension(names, field),
    }
}

fn not_a_dimension(names: Names<'_>, field: &str) -> QueryError {
    if let Err(error) = refuse_hidden(names, field) {
        return error;
    }
    if let Err(error) = expression::parse(field, names.dialect)
        && error.kind == ErrorKind::SubqueryNotAllowed
    {
        return error;
    }
    let message = format!("`{field}` is not a column; add a computed column to its source");
    QueryError::new(ErrorKind::NotADimension, message).about(field)
}

/// Refuses a hidden column before any other error.
pub(super) fn refuse_hidden(names: Names<'_>, text: &str) -> Result<(), QueryError> {
    let Ok(tree) = expression::parse(text, names.dialect) else {
        return Ok(());
    };
    let mut hidden: Option<QueryError> = None;
    let checked = bound::bind_rows(tree, names.dialect, &mut |parts| {
        if let Err(error) = names.column(parts, Scope::QueryFilter)
            && error.kind == ErrorKind::HiddenColumn
        {
            hidden.get_or_insert(error);
        }
        Ok(Expr::value(sqlparser::ast::Value::Null))
    });
    match (hidden, checked) {
        (Some(error), _) => Err(error),
        // The caller refuses aggregates.
        (None, Ok(_) | Err(_)) => Ok(()),
    }
}
