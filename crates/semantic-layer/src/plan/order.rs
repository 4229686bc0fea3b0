//! Resolves sort keys to result columns.

use super::{ColumnRole, Dimension, PlannedMeasure, SortKey, dimensions};
use crate::model::error::{ErrorKind, QueryError};
use crate::names::Names;
use crate::names::query::{Direction, OrderRequest, Query};

/// The default order is by the dimensions.
pub(super) fn keys(
    names: Names<'_>,
    query: &Query,
    dimensions: &[Dimension],
    measures: &[PlannedMeasure],
) -> Result<Vec<SortKey>, QueryError> {
    if query.order_by.is_empty() {
        let key = |dimension: &Dimension| SortKey {
            name: dimension.name.clone(),
            role: ColumnRole::Dimension,
            direction: Direction::Ascending,
        };
        return Ok(dimensions.iter().map(key).collect());
    }
    let mut keys: Vec<SortKey> = Vec::new();
    for request in &query.order_by {
        let name = order_field(names, request, dimensions, measures)?;
        if !keys.iter().any(|key| key.name == name) {
            let is_measure = measures.iter().any(|measure| measure.name == name);
            keys.push(SortKey {
                name,
                role: if is_measure {
                    ColumnRole::Measure
                } else {
                    ColumnRole::Dimension
                },
                direction: request.direction,
            });
        }
    }
    Ok(keys)
}

pub(super) fn ranked_by<'o>(query: &Query, order: &'o [SortKey]) -> Option<&'o str> {
    let first = order.first().filter(|_| query.limit.is_some())?;
    (first.role == ColumnRole::Measure).then_some(first.name.as_str())
}

/// By full spelling, else by the last part if only one column has it.
fn order_field(
    names: Names<'_>,
    request: &OrderRequest,
    dimensions: &[Dimension],
    measures: &[PlannedMeasure],
) -> Result<String, QueryError> {
    if let Some(name) = exact_field(names, request.field.trim(), dimensions, measures) {
        return Ok(name.to_owned());
    }
    let wanted = squeezed(&request.field);
    let is_wanted = |text: &String| squeezed(text) == wanted;
    let mut short: Vec<&str> = Vec::new();
    for measure in measures {
        let mut full = vec![measure.name.clone(), measure.reference.clone()];
        if let Some((node, name)) = &measure.predefined {
            full.push(format!("{}.{name}", names.node_name(*node)));
            if is_wanted(name) {
                short.push(&measure.name);
            }
        }
        if full.iter().any(is_wanted) {
            return Ok(measure.name.clone());
        }
    }
    for dimension in dimensions {
        let full = format!("{}.{}", names.node_name(dimension.node), dimension.column);
        let mut spellings = vec![
            dimension.name.clone(),
            dimension.reference.clone(),
            dimension.written().to_owned(),
        ];
        if let Some(unit) = dimension.unit {
            spellings.push(format!("{full}_{}", unit.name()));
            spellings.push(format!("{full}:{}", unit.name()));
        }
        spellings.push(full);
        if spellings.iter().any(is_wanted) {
            return Ok(dimension.name.clone());
        }
        if is_wanted(&dimension.column) {
            short.push(&dimension.name);
        }
    }
    match short.as_slice() {
        [] => {}
        [only] => return Ok((*only).to_owned()),
        several => return Err(ambiguous_order(&request.field, several, measures)),
    }
    dimensions::refuse_hidden(names, &request.field)?;
    let known = dimensions.iter().map(|one| one.name.as_str());
    let known: Vec<&str> = known
        .chain(measures.iter().map(|one| one.name.as_str()))
        .collect();
    let mut near = ktx_diagnostics::nearest(&request.field, known.iter().copied());
    if near.is_empty() {
        near = known;
    }
    let message = format!(
        "cannot order by `{}`: it is not in the query",
        request.field
    );
    Err(QueryError::new(ErrorKind::UnknownOrderField, message)
        .about(request.field.as_str())
        .suggest(near))
}

fn exact_field<'a>(
    names: Names<'_>,
    field: &str,
    dimensions: &'a [Dimension],
    measures: &'a [PlannedMeasure],
) -> Option<&'a str> {
    let is_measure = |one: &&PlannedMeasure| one.name == field || one.reference.trim() == field;
    let is_dimension = |one: &&Dimension| {
        let full = || format!("{}.{}", names.node_name(one.node), one.column);
        one.name == field || (one.unit.is_none() && full() == field)
    };
    let measure = measures
        .iter()
        .find(is_measure)
        .map(|one| one.name.as_str());
    measure.or_else(|| {
        let dimension = dimensions.iter().find(is_dimension);
        dimension.map(|one| one.name.as_str())
    })
}

fn ambiguous_order(field: &str, columns: &[&str], measures: &[PlannedMeasure]) -> QueryError {
    let is_measure = |name: &&str| measures.iter().any(|measure| measure.name == **name);
    let kind = if columns.iter().all(is_measure) {
        ErrorKind::AmbiguousMeasure
    } else {
        ErrorKind::AmbiguousColumn
    };
    let message = format!("several columns of the result could be meant by `{field}`");
    QueryError::new(kind, message)
        .about(field)
        .suggest(columns.iter().copied())
}

fn squeezed(text: &str) -> String {
    let pieces = text
        .split('\'')
        .enumerate()
        .map(|(at, piece)| match at % 2 {
            0 => piece
                .chars()
                .filter(|letter| !letter.is_whitespace())
                .flat_map(char::to_lowercase)
                .collect(),
            _ => piece.to_owned(),
        });
    pieces.collect::<Vec<_>>().join("'")
}
