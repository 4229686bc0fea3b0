//! Corrects refused queries.

use ktx_diagnostics::{Failure, Hint, nearest};
use ktx_semantic_layer::{
    Catalog, ColumnType, ErrorKind, Query, QueryError, Source, Visibility, compile,
};
use serde_json::Value;

use super::reshaped::{is_admitted, reshaped};
use crate::reader::Reader;

const MOST_QUERIES: usize = 2;

const MOST_NAMES: usize = 4;

const MOST_MEMBERS: usize = 12;

/// Adds queries that compile, and always a next step.
pub(super) fn taught(
    error: QueryError,
    query: &Query,
    catalog: &Catalog,
    reader: Reader,
) -> Failure {
    let mut queries = Vec::new();
    if error.remedy.queries.is_empty() {
        correct(&query.to_value(), &error, catalog, MOST_NAMES, &mut queries);
        if queries.is_empty() {
            let shapes = reshaped(query, &error, catalog, MOST_QUERIES);
            queries.extend(shapes.iter().map(Query::to_value));
        }
    }
    let next = match reader {
        Reader::Agent => next_step(&error, catalog),
        Reader::Person => None,
    };
    let advice = error.kind.advice();
    let mut failure = Failure::from(error);
    let texts = queries.iter().map(ToString::to_string);
    failure.detail.requests.extend(texts);
    // Members of the named source go before those of others.
    failure.hints.splice(0..0, next.map(Hint::new));
    if failure.hints.is_empty() && failure.detail.requests.is_empty() {
        failure
            .hints
            .extend(advice.map(|advice| Hint::new(advice.next)));
    }
    failure
}

/// Every suggestion of these refusals is a possible meaning.
const ALL_FIT: [ErrorKind; 6] = [
    ErrorKind::AmbiguousColumn,
    ErrorKind::AmbiguousMeasure,
    ErrorKind::BadGranularity,
    ErrorKind::NotAMeasure,
    ErrorKind::SegmentNotQualified,
    ErrorKind::UnqualifiedColumn,
];

/// Returns suggestions that can replace a name; of the same source if the name has one.
fn replacements<'a>(wrong: &str, error: &'a QueryError, catalog: &Catalog) -> Vec<&'a str> {
    // An aggregate over the column begins with its function.
    let is_aggregate = error.kind == ErrorKind::NotAMeasure;
    let named = wrong.split_once('.').map(|(source, _)| source);
    let named = named.filter(|name| !is_aggregate && catalog.source(name).is_some());
    let is_of_named =
        |right: &&str| named.is_none_or(|source| right.split('.').next() == Some(source));
    let all = error.suggestions.iter().map(String::as_str);
    let all: Vec<&str> = all.filter(is_of_named).collect();
    let near = nearest(last_part(wrong), all.iter().map(|right| last_part(right)));
    if all.len() == 1 || near.is_empty() && ALL_FIT.contains(&error.kind) {
        return all;
    }
    let is_near = |right: &&str| near.contains(&last_part(right));
    all.into_iter().filter(is_near).collect()
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn correct(
    query: &Value,
    error: &QueryError,
    catalog: &Catalog,
    names_left: usize,
    found: &mut Vec<Value>,
) {
    let Some(wrong) = error.offending.as_deref().filter(|wrong| !wrong.is_empty()) else {
        return;
    };
    let wrong = match error.kind {
        ErrorKind::UnknownSource => wrong.split('.').next().unwrap_or(wrong),
        _ => wrong,
    };
    if names_left == 0 {
        return;
    }
    for right in replacements(wrong, error, catalog)
        .into_iter()
        .take(MOST_QUERIES)
    {
        if found.len() >= MOST_QUERIES {
            return;
        }
        let mut value = query.clone();
        if !replace(&mut value, wrong, right) {
            continue;
        }
        let Ok(corrected) = Query::from_value(&value) else {
            continue;
        };
        match compile(catalog, &corrected, catalog.dialect()) {
            Ok(compiled) if !found.contains(&value) && is_admitted(&compiled, catalog) => {
                found.push(value);
            }
            Ok(_) => {}
            Err(next) if next.offending.as_deref() == Some(wrong) => {}
            Err(next) => correct(&value, &next, catalog, names_left - 1, found),
        }
    }
}

fn replace(value: &mut Value, wrong: &str, right: &str) -> bool {
    match value {
        Value::String(text) => {
            let replaced = with_name(text, wrong, right);
            let is_other = replaced != *text;
            *text = replaced;
            is_other
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| replace(item, wrong, right) | any),
        Value::Object(map) => map
            .values_mut()
            .fold(false, |any, item| replace(item, wrong, right) | any),
        _ => false,
    }
}

fn with_name(text: &str, wrong: &str, right: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(wrong) {
        let (before, from) = rest.split_at(at);
        let after = from.get(wrong.len()..).unwrap_or_default();
        let last = before.chars().next_back().or(written.chars().next_back());
        let begins = !last.is_some_and(|last| is_part(last) || last == '.');
        let ends = !after.chars().next().is_some_and(is_part);
        written.push_str(before);
        written.push_str(if begins && ends { right } else { wrong });
        rest = after;
    }
    written.push_str(rest);
    written
}

fn next_step(error: &QueryError, catalog: &Catalog) -> Option<String> {
    let wrong = error.offending.as_deref().unwrap_or_default();
    let source = wrong
        .split('.')
        .next()
        .and_then(|name| catalog.source(name));
    match (error.kind, source) {
        (ErrorKind::UnknownMeasure | ErrorKind::NotAMeasure, Some(source)) => {
            let is_near = !replacements(wrong, error, catalog).is_empty();
            (!is_near).then(|| measures_of(source))
        }
        (ErrorKind::UnknownColumn | ErrorKind::HiddenColumn, Some(source)) => {
            let is_near = !replacements(wrong, error, catalog).is_empty();
            (!is_near).then(|| {
                let columns = listed(public(source).map(|column| column.name.as_str()));
                format!(
                    "take a column of `{}`: {columns}; `discover_data` finds those of other sources",
                    source.name
                )
            })
        }
        (ErrorKind::UnknownSegment | ErrorKind::SegmentNotQualified, _) => {
            let segments: Vec<String> = catalog
                .sources()
                .iter()
                .flat_map(|source| {
                    let of = source.segments.iter();
                    of.map(|segment| format!("{}.{}", source.name, segment.name))
                })
                .collect();
            Some(if segments.is_empty() {
                "leave out `segments`, no source has any; write the condition into `filters`".to_owned()
            } else {
                format!("take one of {}", listed(segments.iter().map(String::as_str)))
            })
        }
        (ErrorKind::UnknownSource, _) => error.suggestions.is_empty().then(|| format!(
            "take a source: {}",
            listed(catalog.sources().iter().map(|source| source.name.as_str()))
        )),
        (ErrorKind::UnknownMeasure | ErrorKind::UnknownColumn | ErrorKind::UnqualifiedColumn, None) => {
            Some("write it with its source, as `discover_data` lists it for the words that you mean".to_owned())
        }
        (ErrorKind::NoSource, _) => {
            Some("count a column of a source, such as `count(orders.id)`".to_owned())
        }
        (ErrorKind::ParseError, _) => Some(
            "write a measure as `orders.revenue` or `sum(orders.amount)`, a filter as `orders.status = 'paid'`"
                .to_owned(),
        ),
        (ErrorKind::BadGranularity, _) => {
            Some("write `:year`, `:quarter`, `:month`, `:week`, `:day`, `:hour` or `:minute` after a time".to_owned())
        }
        _ if error.suggestions.is_empty() => Some(match source {
            Some(source) => format!(
                "read `{}` with `sl_read_source`, and ask with its columns, joins and measures",
                source.name
            ),
            None => "read the sources of the query with `sl_read_source`, and ask with their columns and joins"
                .to_owned(),
        }),
        _ => None,
    }
}

fn measures_of(source: &Source) -> String {
    let name = &source.name;
    let number = public(source)
        .filter(|column| column.kind == ColumnType::Number)
        .find(|column| !source.grain.contains(&column.name) && !column.name.ends_with("id"));
    let aggregate = match (number, public(source).next()) {
        (Some(column), _) => format!("`sum({name}.{})`", column.name),
        (None, Some(column)) => format!("`count({name}.{})`", column.name),
        (None, None) => format!("`count({name}.*)`"),
    };
    if source.measures.is_empty() {
        return format!("take an aggregate over columns of `{name}`, such as {aggregate}");
    }
    let measures = source.measures.iter().map(|measure| measure.name.as_str());
    let measures = listed(measures);
    format!("take a measure of `{name}` ({measures}), or an aggregate such as {aggregate}")
}

fn public(source: &Source) -> impl Iterator<Item = &ktx_semantic_layer::Column> {
    let columns = source.columns.iter();
    columns.filter(|column| column.visibility == Visibility::Public)
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let shown = names.get(..MOST_MEMBERS).unwrap_or(&names);
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}
