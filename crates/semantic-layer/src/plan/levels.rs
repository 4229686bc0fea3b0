//! Totals over the last dimensions, and the rest beyond the limit.
//!
//! A total is the same query with fewer dimensions.

use super::atoms::Evaluator;
use super::{ColumnRole, Dimension, Part, Planned, PlannedMeasure};
use crate::model::error::{ErrorKind, QueryError};
use crate::names::aggregates::{self, Call};
use crate::names::query::{EmptyMembers, MissingPeriods, Others, Query, Totals};
use crate::names::{Names, bound};

const MOST_DIMENSIONS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupFilters {
    Apply,
    Ignore,
}

#[derive(Debug)]
pub(crate) struct LevelQuery {
    pub(crate) query: Query,
    /// Names of the other dimensions.
    pub(crate) over: String,
    /// Per measure of the query, its index in the total.
    pub(crate) measures: Vec<Option<usize>>,
}

/// The last dimension first. Fails for too many dimensions.
pub(crate) fn level_queries(
    names: Names<'_>,
    query: &Query,
    planned: &Planned<'_>,
) -> Result<Vec<LevelQuery>, QueryError> {
    let mut levels = Vec::new();
    if query.totals == Totals::LeaveOut {
        return Ok(levels);
    }
    let dimensions: Vec<usize> = planned.dimensions.iter().map(|one| one.request).collect();
    if dimensions.is_empty() {
        let message = "`totals` go over the groups of dimensions, and the query has none";
        return Err(QueryError::new(ErrorKind::InvalidQuery, message).about("totals"));
    }
    if dimensions.len() > MOST_DIMENSIONS {
        let message = format!("`totals` go over at most {MOST_DIMENSIONS} dimensions");
        return Err(QueryError::new(ErrorKind::InvalidQuery, message).about("totals"));
    }
    let is_ranked = query.limit.is_some()
        && planned
            .order
            .first()
            .is_some_and(|key| key.role == ColumnRole::Measure);
    for kept in (0..dimensions.len()).rev() {
        let requests = dimensions.iter().take(kept);
        let requests = requests.filter_map(|at| query.dimensions.get(*at).cloned());
        let has_time = planned
            .dimensions
            .iter()
            .take(kept)
            .any(|one| one.unit.is_some());
        let whole = Query {
            dimensions: requests.collect(),
            order_by: Vec::new(),
            limit: None,
            limit_per: Vec::new(),
            totals: Totals::LeaveOut,
            others: Others::LeaveOut,
            missing_periods: if has_time {
                query.missing_periods
            } else {
                MissingPeriods::LeaveOut
            },
            empty_members: match query.empty_members {
                EmptyMembers::UnlessRanked if is_ranked => EmptyMembers::Exclude,
                asked => asked,
            },
            ..query.clone()
        };
        levels.extend(level(names, whole, kept, planned)?);
    }
    Ok(levels)
}

fn level(
    names: Names<'_>,
    whole: Query,
    kept: usize,
    planned: &Planned<'_>,
) -> Result<Option<LevelQuery>, QueryError> {
    let asked: Vec<usize> = planned.measures.iter().map(|one| one.request).collect();
    let over: Vec<&str> = planned
        .dimensions
        .iter()
        .skip(kept)
        .map(|one| one.name.as_str())
        .collect();
    let over = over.join(", ");
    let needs_dimension =
        |query: &Query| match super::plan_level(names, query, GroupFilters::Ignore) {
            Ok(_) => Ok(false),
            Err(error) => match error.kind {
                ErrorKind::NoTimeDimension | ErrorKind::NotADimension | ErrorKind::BadWindow => {
                    Ok(true)
                }
                _ => Err(error),
            },
        };
    if !needs_dimension(&whole)? {
        let measures = (0..asked.len()).map(Some).collect();
        return Ok(Some(LevelQuery {
            query: whole,
            over,
            measures,
        }));
    }
    let mut measures = Vec::new();
    let mut requests = Vec::new();
    for at in asked {
        let only = whole.measures.get(at).cloned();
        let alone = Query {
            measures: only.clone().into_iter().collect(),
            ..whole.clone()
        };
        measures.push(if needs_dimension(&alone)? {
            None
        } else {
            requests.extend(only);
            Some(requests.len() - 1)
        });
    }
    Ok((!requests.is_empty()).then_some(LevelQuery {
        query: Query {
            measures: requests,
            ..whole
        },
        over,
        measures,
    }))
}

pub(crate) fn note_levels(planned: &mut Planned<'_>, levels: &[LevelQuery]) {
    if levels.is_empty() {
        return;
    }
    if let Some((text, _)) = planned.group_filters.first() {
        planned.notes.push(format!(
            "totals go over all groups, also those that filter `{text}` drops"
        ));
    }
    let is_never = |at: usize| {
        levels
            .iter()
            .any(|level| level.measures.get(at).is_some_and(Option::is_none))
    };
    for (at, measure) in planned.measures.iter().enumerate() {
        if is_never(at) {
            planned.notes.push(format!(
                "`{}` goes by the dimensions of the query: it has no total over them",
                measure.name
            ));
        }
    }
}

/// Fails without a limit, or if a text names no dimension.
pub(super) fn limit_per(
    names: Names<'_>,
    query: &Query,
    dimensions: &[Dimension],
) -> Result<Vec<usize>, QueryError> {
    if query.limit_per.is_empty() {
        return Ok(Vec::new());
    }
    if query.limit.is_none_or(|limit| limit == 0) {
        let message = "`limit_per` gives each value the first rows of its own: give the query a `limit`, the number of \
                       these rows";
        return Err(QueryError::new(ErrorKind::InvalidQuery, message).about("limit_per"));
    }
    let mut found: Vec<usize> = Vec::new();
    for text in &query.limit_per {
        let is_it = |dimension: &Dimension| dimension.is_called(names, text.trim());
        let mut places = (0..dimensions.len()).filter(|at| dimensions.get(*at).is_some_and(is_it));
        match (places.next(), places.next()) {
            (Some(at), None) => found.push(at),
            (first, _) => {
                let what = match first {
                    None => "which is not a dimension of the query",
                    Some(_) => "which two dimensions show",
                };
                let message = format!("`limit_per` names `{text}`, {what}");
                let known = dimensions.iter().map(|one| one.reference.clone());
                return Err(QueryError::new(ErrorKind::NotADimension, message)
                    .about(text)
                    .suggest(known));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Groups must add up to the rest.
pub(super) fn check_others(
    evaluator: &Evaluator<'_>,
    query: &Query,
    measures: &[PlannedMeasure],
    parts: &[Part],
) -> Result<(), QueryError> {
    if query.others == Others::LeaveOut {
        return Ok(());
    }
    let refuse = |kind, message: String| Err(QueryError::new(kind, message).about("others"));
    if query.limit.is_none_or(|limit| limit == 0) {
        let message = "`others` is the row for everything beyond `limit`: give the query a `limit`"
            .to_owned();
        return refuse(ErrorKind::InvalidQuery, message);
    }
    if query.dimensions.is_empty() || measures.is_empty() {
        let message =
            "`others` adds up groups: give the query a measure and a dimension".to_owned();
        return refuse(ErrorKind::InvalidQuery, message);
    }
    if parts.iter().any(|part| part.bridge.is_some()) {
        let message = "`others` adds up groups, and a row may belong to several groups of this answer: ask without it"
            .to_owned();
        return refuse(ErrorKind::NotAdditive, message);
    }
    for measure in measures {
        let atoms = bound::atoms(&measure.tree);
        let adds_up = |at: &usize| {
            evaluator.atoms.get(*at).is_some_and(|atom| {
                atom.frame.is_plain() && atom.snapshot.is_none() && again_by(&atom.call).is_some()
            })
        };
        if super::group_functions::has_window(&measure.tree) || !atoms.iter().all(adds_up) {
            let message = format!(
                "`others` adds up groups, and the values of `{}` do not add up: it goes with counts, sums, averages, \
                 minima and maxima, and with arithmetic over them",
                measure.reference
            );
            return refuse(ErrorKind::NotAdditive, message);
        }
    }
    Ok(())
}

/// Returns the aggregate that combines partial results.
pub(crate) fn again_by(call: &Call) -> Option<&'static str> {
    let function = match call {
        Call::Rows => return Some("SUM"),
        Call::Percentile { .. } => return None,
        Call::Function(function) => function,
    };
    if aggregates::is_distinct(function) || !function.within_group.is_empty() {
        return None;
    }
    match aggregates::name_of(function).as_str() {
        "sum" | "count" => Some("SUM"),
        "min" => Some("MIN"),
        "max" => Some("MAX"),
        _ => None,
    }
}
