//! `per(entity, measure)`: a measure of one source as a column of another.
//!
//! Each call becomes a source with one row per row of the entity.

use ktx_sql::Dialect;
use serde_json::Value;

use super::compile::inner_sql;
use crate::catalog::Catalog;
use crate::model::authored::{
    Column, ColumnType, Found, Join, JoinSource, Relationship, Standalone,
};
use crate::model::error::{ErrorKind, QueryError};
use crate::names::query::{DimensionRequest, EmptyMembers, MeasureRequest, Query};
use crate::plan::{sanitized, unique};
use crate::sql::sql_text::identifier;

const FUNCTION: &str = "per";

const DEEPEST: usize = 3;

pub(super) struct Expanded {
    pub(super) catalog: Catalog,
    pub(super) query: Query,
    columns: Vec<ValueColumn>,
}

struct ValueColumn {
    call: String,
    reference: String,
    source: String,
    entity: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call<'t> {
    pub(super) whole: &'t str,
    pub(super) arguments: Vec<&'t str>,
}

/// `None` if the query has no calls.
pub(super) fn expanded(
    catalog: &Catalog,
    query: &Query,
    dialect: Dialect,
) -> Result<Option<Expanded>, QueryError> {
    expanded_within(catalog, query, dialect, &[])
}

fn expanded_within(
    catalog: &Catalog,
    query: &Query,
    dialect: Dialect,
    within: &[Call<'_>],
) -> Result<Option<Expanded>, QueryError> {
    let mut found: Vec<Call<'_>> = Vec::new();
    for text in texts(query) {
        for call in calls(text, FUNCTION) {
            if !found.iter().any(|known| known.whole == call.whole) {
                found.push(call);
            }
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    if within.len() >= DEEPEST {
        let message = format!("`{FUNCTION}` is nested more than {DEEPEST} times");
        return Err(QueryError::new(ErrorKind::InvalidQuery, message).about(FUNCTION));
    }
    let mut taken: Vec<String> = catalog
        .sources()
        .iter()
        .map(|source| source.name.to_lowercase())
        .collect();
    let mut columns = Vec::new();
    let mut sources = Vec::new();
    for call in found {
        let source = value_source(catalog, dialect, &call, within, &mut taken)?;
        let value = source.columns.last().map_or("", |column| &column.name);
        columns.push(ValueColumn {
            call: call.whole.to_owned(),
            reference: format!("{}.{value}", source.name),
            entity: source
                .joins
                .first()
                .map_or_else(String::new, |join| join.to.clone()),
            source: source.name.clone(),
        });
        sources.push(source);
    }
    let query = replaced(query, &columns);
    Ok(Some(Expanded {
        catalog: catalog.with_sources(sources),
        query,
        columns,
    }))
}

fn value_source(
    catalog: &Catalog,
    dialect: Dialect,
    call: &Call<'_>,
    within: &[Call<'_>],
    taken: &mut Vec<String>,
) -> Result<Standalone, QueryError> {
    let invalid =
        |message: String| Err(QueryError::new(ErrorKind::InvalidQuery, message).about(call.whole));
    let [entity, measure] = call.arguments.as_slice() else {
        return invalid(format!(
            "`{FUNCTION}` is written `{FUNCTION}(source, measure)`: `{}`",
            call.whole
        ));
    };
    let entity = entity.trim_matches(['"', '`']);
    let source = catalog
        .source(entity)
        .ok_or_else(|| catalog.unknown_source(entity))?;
    check_levels(entity, measure, call, within)?;
    let grain = catalog.row_key(source);
    if grain.is_empty() {
        return invalid(format!(
            "`{FUNCTION}` needs the columns that tell the rows of `{entity}` apart: declare its `grain`"
        ));
    }
    let spelled = |name: &str| identifier(dialect, name);
    let inner = Query {
        measures: vec![MeasureRequest {
            expr: (*measure).to_owned(),
            name: None,
            via: Vec::new(),
        }],
        dimensions: grain
            .iter()
            .map(|key| DimensionRequest {
                field: format!("{}.{}", spelled(entity), spelled(key)),
                granularity: None,
                via: Vec::new(),
            })
            .collect(),
        // Facts without a row of the entity do not count.
        filters: grain
            .iter()
            .map(|key| format!("{}.{} is not null", spelled(entity), spelled(key)))
            .collect(),
        empty_members: EmptyMembers::Include,
        ..Query::default()
    };
    let levels: Vec<Call<'_>> = within.iter().chain([call]).cloned().collect();
    let inner = match expanded_within(catalog, &inner, dialect, &levels)? {
        Some(deeper) => inner_sql(&deeper.catalog, &deeper.query, dialect),
        None => inner_sql(catalog, &inner, dialect),
    };
    let inner = inner.map_err(|mut error| {
        error.remedy.queries.clear();
        error.offending.get_or_insert_with(|| call.whole.to_owned());
        error
    })?;
    let name = unique(
        format!("per_{}", sanitized(entity)),
        &format!("per_{}", sanitized(entity)),
        taken,
    );
    let key = |key: &String| {
        let kind = source.column(key).map(|(_, column)| column.kind);
        column(key, kind.unwrap_or(ColumnType::String))
    };
    let mut columns: Vec<Column> = grain.iter().map(key).collect();
    let value = inner.columns.last().cloned().unwrap_or_default();
    columns.push(column(&value, inner.kind.unwrap_or(ColumnType::Number)));
    let on = grain
        .iter()
        .map(|key| format!("{0} = {1}.{0}", spelled(key), spelled(entity)));
    Ok(Standalone {
        name,
        descriptions: None,
        description: None,
        source_type: None,
        table: None,
        sql: Some(inner.sql),
        inherits_columns_from: None,
        grain: grain.clone(),
        columns,
        joins: vec![Join {
            to: entity.to_owned(),
            on: on.collect::<Vec<_>>().join(" AND "),
            relationship: Relationship::OneToOne,
            alias: None,
            source: Some(JoinSource::Formal),
            weight: None,
            found: Found::default(),
        }],
        measures: Vec::new(),
        segments: Vec::new(),
        default_time_dimension: None,
        tags: None,
        owners: None,
        freshness: None,
        exposures: None,
        usage: None,
    })
}

/// A level cannot return to an outer source, and its values must be aggregated.
fn check_levels(
    entity: &str,
    measure: &str,
    call: &Call<'_>,
    within: &[Call<'_>],
) -> Result<(), QueryError> {
    let of = |call: &Call<'_>| {
        let entity = call.arguments.first().copied().unwrap_or_default();
        entity.trim_matches(['"', '`']).to_owned()
    };
    if let Some(at) = within.iter().position(|outer| of(outer) == entity) {
        let outer = within.get(at).map_or(call.whole, |outer| outer.whole);
        let levels = within.iter().skip(at).chain([call]);
        let levels: Vec<String> = levels.map(|call| format!("`{}`", of(call))).collect();
        let message = format!(
            "the levels of `{FUNCTION}` go in a circle, {}: each level needs a source that is not around it",
            levels.join(" over ")
        );
        return Err(QueryError::new(ErrorKind::InvalidQuery, message)
            .about(outer)
            .suggest([call.whole]));
    }
    let calls = calls(measure, FUNCTION);
    let Some(inner) = calls.iter().find(|inner| inner.whole == measure.trim()) else {
        return Ok(());
    };
    if of(inner) == entity {
        return Ok(());
    }
    let message = format!(
        "`{}` is a value of each row of `{}`: say what each row of `{entity}` takes of them, such as their average",
        inner.whole,
        of(inner)
    );
    let aggregate = |function: &str| format!("{function}({})", inner.whole);
    Err(QueryError::new(ErrorKind::NotAMeasure, message)
        .about(inner.whole)
        .suggest(["avg", "sum"].map(aggregate)))
}

fn column(name: &str, kind: ColumnType) -> Column {
    Column {
        name: name.to_owned(),
        kind: Some(kind),
        role: None,
        visibility: None,
        descriptions: None,
        description: None,
        expr: None,
        natural_granularity: None,
        constraints: None,
        enum_values: None,
        tests: None,
    }
}

pub(super) fn texts(query: &Query) -> impl Iterator<Item = &str> {
    let measures = query.measures.iter().map(|one| one.expr.as_str());
    let dimensions = query.dimensions.iter().map(|one| one.field.as_str());
    let filters = query.filters.iter().map(String::as_str);
    let order = query.order_by.iter().map(|one| one.field.as_str());
    let apart = query.limit_per.iter().map(String::as_str);
    measures
        .chain(dimensions)
        .chain(filters)
        .chain(order)
        .chain(apart)
        .chain(query.weight.as_deref())
}

fn replaced(query: &Query, columns: &[ValueColumn]) -> Query {
    let replace = |text: &mut String| {
        for column in columns {
            *text = text.replace(&column.call, &column.reference);
        }
    };
    let mut query = query.clone();
    for measure in &mut query.measures {
        let before = measure.expr.clone();
        replace(&mut measure.expr);
        if measure.expr != before && measure.name.is_none() {
            measure.name = Some(sanitized(&before));
        }
    }
    for dimension in &mut query.dimensions {
        replace(&mut dimension.field);
    }
    query.filters.iter_mut().for_each(replace);
    query.limit_per.iter_mut().for_each(replace);
    query.weight.iter_mut().for_each(replace);
    for order in &mut query.order_by {
        replace(&mut order.field);
    }
    query
}

impl Expanded {
    pub(super) fn restored(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for column in &self.columns {
            text = text.replace(&column.reference, &column.call);
        }
        text
    }

    /// True for a note that doubts the match of an entity and its values.
    pub(super) fn is_moot(&self, note: &str) -> bool {
        self.columns
            .iter()
            .any(|ValueColumn { source, entity, .. }| {
                [(source, entity), (entity, source)]
                    .iter()
                    .any(|(from, to)| {
                        note.starts_with(&format!("rows of `{from}` whose"))
                            && note.contains(&format!("has no match in `{to}`"))
                    })
            })
    }

    pub(super) fn restored_error(&self, mut error: QueryError) -> QueryError {
        error.message = self.restored(&error.message);
        error.offending = error.offending.map(|text| self.restored(&text));
        for candidate in &mut error.suggestions {
            *candidate = self.restored(candidate);
        }
        for query in &mut error.remedy.queries {
            self.restore_value(query);
        }
        error
    }

    fn restore_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.restored(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.restore_value(item)),
            Value::Object(fields) => fields
                .values_mut()
                .for_each(|item| self.restore_value(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

pub(super) fn calls<'t>(text: &'t str, function: &str) -> Vec<Call<'t>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        if let Some(behind) = quoted(rest) {
            at += rest.len() - behind.len();
        } else if is_word(first) {
            let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            let is_part = text.get(..at).is_some_and(|before| before.ends_with('.'));
            let open = behind.trim_start();
            match call(rest, open) {
                Some(call) if word.eq_ignore_ascii_case(function) && !is_part => {
                    at += call.whole.len();
                    found.push(call);
                }
                _ => at += end,
            }
        } else {
            at += first.len_utf8();
        }
    }
    found
}

fn call<'t>(whole: &'t str, open: &'t str) -> Option<Call<'t>> {
    let inner = open.strip_prefix('(')?;
    let mut depth = 0_usize;
    let mut arguments = Vec::new();
    let mut begin = 0;
    let mut at = 0;
    while let Some(rest) = inner.get(at..) {
        let letter = rest.chars().next()?;
        if let Some(behind) = quoted(rest) {
            at += rest.len() - behind.len();
            continue;
        }
        match letter {
            '(' | '[' => depth += 1,
            ')' if depth == 0 => {
                arguments.push(inner.get(begin..at)?.trim());
                let length = whole.len() - inner.len() + at + 1;
                return Some(Call {
                    whole: whole.get(..length)?,
                    arguments,
                });
            }
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                arguments.push(inner.get(begin..at)?.trim());
                begin = at + 1;
            }
            _ => {}
        }
        at += letter.len_utf8();
    }
    None
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text
        .chars()
        .next()
        .filter(|letter| "'\"`".contains(*letter))?;
    let inner = text.get(1..)?;
    let end = inner.find(quote)?;
    inner.get(end + 1..)
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests;
