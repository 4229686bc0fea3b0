//! Reshapes a refused query as its refusal suggests.

use ktx_semantic_layer::{
    Catalog, ColumnType, Compiled, DimensionRequest, ErrorKind, MeasureRequest, MissingPeriods,
    Query, QueryError, Source, Visibility, compile,
};

/// The most usual first.
const UNITS: [&str; 5] = ["month", "day", "week", "quarter", "year"];

/// Functions over groups; their first argument is a measure.
const GROUP_FUNCTIONS: [&str; 6] = [
    "share",
    "rank",
    "running_total",
    "previous",
    "change",
    "growth",
];

/// Returns at most `most` queries that compile.
pub(super) fn reshaped(
    query: &Query,
    error: &QueryError,
    catalog: &Catalog,
    most: usize,
) -> Vec<Query> {
    let shapes = match error.kind {
        ErrorKind::TotalFilter => grouped(query, error),
        ErrorKind::UnknownOrderField => without_order(query, error),
        ErrorKind::FillTooLong | ErrorKind::UnboundedFill => vec![Query {
            missing_periods: MissingPeriods::LeaveOut,
            ..query.clone()
        }],
        ErrorKind::AsymmetricDimensions => each_measure(query),
        ErrorKind::NotADimension => as_measure(query, error),
        ErrorKind::NotATimeColumn => without_unit(query, error),
        ErrorKind::NoTimeDimension => by_time(query, catalog),
        ErrorKind::AmbiguousTimeDimension => one_time(query),
        ErrorKind::BadWindow => in_other_units(query),
        ErrorKind::NotAdditive => ungrouped(query),
        ErrorKind::SegmentNoMeasure => with_count(query),
        _ => Vec::new(),
    };
    let compiles = |shape: &Query| {
        shape != query
            && keeps_first_rows(query, shape)
            && compile(catalog, shape, catalog.dialect())
                .is_ok_and(|compiled| is_admitted(&compiled, catalog))
    };
    shapes.into_iter().filter(compiles).take(most).collect()
}

/// The gate refuses misspelled functions, which compile as the warehouse's own.
pub(super) fn is_admitted(compiled: &Compiled, catalog: &Catalog) -> bool {
    ktx_read_only_sql::check(&compiled.sql, catalog.dialect()).is_ok()
}

fn grouped(query: &Query, error: &QueryError) -> Vec<Query> {
    let mut shaped = query.clone();
    let keys = error.suggestions.iter();
    shaped
        .dimensions
        .extend(keys.map(|key| DimensionRequest::parse(key)));
    vec![shaped]
}

/// A limit needs the order that selects its rows.
fn keeps_first_rows(query: &Query, shape: &Query) -> bool {
    let is_cut = shape.limit.is_some() || !shape.limit_per.is_empty();
    !is_cut || shape.order_by.len() == query.order_by.len()
}

fn without_order(query: &Query, error: &QueryError) -> Vec<Query> {
    let wrong = error.offending.as_deref();
    let mut shaped = query.clone();
    shaped
        .order_by
        .retain(|order| Some(order.field.as_str()) != wrong);
    vec![shaped]
}

/// Other measures may lack the groups.
fn each_measure(query: &Query) -> Vec<Query> {
    let alone = |measure: &MeasureRequest| {
        let mut shaped = query.clone();
        shaped.measures = vec![measure.clone()];
        // Only these fields can sort the answer.
        shaped.order_by.retain(|order| {
            order.field == measure.expr
                || measure.name.as_ref() == Some(&order.field)
                || query
                    .dimensions
                    .iter()
                    .any(|dimension| dimension.text() == order.field)
        });
        shaped
    };
    query.measures.iter().map(alone).collect()
}

fn as_measure(query: &Query, error: &QueryError) -> Vec<Query> {
    let Some(wrong) = error.offending.as_deref() else {
        return Vec::new();
    };
    let mut shaped = query.clone();
    shaped
        .dimensions
        .retain(|dimension| dimension.field != wrong);
    if !shaped.measures.iter().any(|measure| measure.expr == wrong) {
        shaped.measures.push(measure(wrong));
    }
    vec![shaped]
}

fn measure(expr: &str) -> MeasureRequest {
    MeasureRequest {
        expr: expr.to_owned(),
        name: None,
        via: Vec::new(),
    }
}

fn without_unit(query: &Query, error: &QueryError) -> Vec<Query> {
    let wrong = error.offending.as_deref().unwrap_or_default();
    let mut shaped = query.clone();
    for dimension in &mut shaped.dimensions {
        if dimension.field == wrong || dimension.text() == wrong {
            dimension.granularity = None;
        }
    }
    vec![shaped]
}

fn by_time(query: &Query, catalog: &Catalog) -> Vec<Query> {
    let mut times: Vec<String> = Vec::new();
    for name in mentioned(query) {
        let source = catalog.source(&name);
        times.extend(source.into_iter().flat_map(times_of));
    }
    let with = |time: &String, unit: &str| {
        let mut shaped = query.clone();
        let text = format!("{time}:{unit}");
        shaped.dimensions.push(DimensionRequest::parse(&text));
        shaped
    };
    let pairs = UNITS
        .iter()
        .flat_map(|unit| times.iter().map(move |time| with(time, unit)));
    pairs.collect()
}

fn times_of(source: &Source) -> Vec<String> {
    let columns = source.columns.iter();
    let times = columns.filter(|column| {
        column.kind == ColumnType::Time && column.visibility == Visibility::Public
    });
    times
        .map(|column| format!("{}.{}", source.name, column.name))
        .collect()
}

fn mentioned(query: &Query) -> Vec<String> {
    let mut names: Vec<String> = query.mentioned().into_iter().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names
}

fn one_time(query: &Query) -> Vec<Query> {
    let timed = |dimension: &DimensionRequest| dimension.granularity.is_some();
    let places: Vec<usize> = query
        .dimensions
        .iter()
        .enumerate()
        .filter(|(_, dimension)| timed(dimension))
        .map(|(at, _)| at)
        .collect();
    let only = |kept: &usize| {
        let mut shaped = query.clone();
        let mut at = 0;
        shaped.dimensions.retain(|dimension| {
            at += 1;
            at - 1 == *kept || !timed(dimension)
        });
        shaped
    };
    places.iter().map(only).collect()
}

fn in_other_units(query: &Query) -> Vec<Query> {
    let with = |unit: &&str| {
        let mut shaped = query.clone();
        for dimension in &mut shaped.dimensions {
            if dimension.granularity.is_some() {
                dimension.granularity = Some((*unit).to_owned());
            }
        }
        shaped
    };
    UNITS.iter().map(with).collect()
}

fn ungrouped(query: &Query) -> Vec<Query> {
    let mut shaped = query.clone();
    for measure in &mut shaped.measures {
        if let Some(inner) = inner(&measure.expr) {
            measure.expr = inner;
            measure.name = None;
        }
    }
    vec![shaped]
}

fn inner(expr: &str) -> Option<String> {
    let (function, rest) = expr.trim().split_once('(')?;
    let function = function.trim().to_lowercase();
    if !GROUP_FUNCTIONS.contains(&function.as_str()) {
        return None;
    }
    let rest = rest.strip_suffix(')')?;
    let mut depth = 0_usize;
    let end = rest.find(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    rest.get(..end.unwrap_or(rest.len()))
        .map(|inner| inner.trim().to_owned())
}

fn with_count(query: &Query) -> Vec<Query> {
    let mut shaped = query.clone();
    for segment in &query.segments {
        if let Some((source, _)) = segment.rsplit_once('.') {
            shaped.measures.push(measure(&format!("count({source}.*)")));
        }
    }
    vec![shaped]
}
