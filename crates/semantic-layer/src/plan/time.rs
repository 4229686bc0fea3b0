//! The time axis: the dimension that provides periods.

use ktx_sql::Dialect;
use sqlparser::ast::Expr;

use super::atoms::Atom;
use super::filters::{RowFilter, Sees};
use super::spine::{self, Spine};
use super::{Dimension, PlannedMeasure, Reading};
use crate::catalog::graph::NodeId;
use crate::model::authored::ColumnType;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::model::resolved::{Column, Relation, column_type};
use crate::names::query::{MissingPeriods, Query};
use crate::names::{Names, bound};

#[derive(Debug, Clone)]
pub(crate) struct TimeAxis {
    pub(crate) dimension: usize,
    pub(crate) unit: Granularity,
    pub(crate) spine: Option<Spine>,
}

#[derive(Clone, Copy)]
struct Need<'a> {
    what: &'a str,
    home: Option<NodeId>,
}

pub(super) fn axis(
    names: Names<'_>,
    query: &Query,
    dimensions: &[Dimension],
    measures: &[PlannedMeasure],
    atoms: &[Atom],
) -> Result<Option<TimeAxis>, QueryError> {
    let framed = atoms
        .iter()
        .enumerate()
        .find(|(_, atom)| !atom.frame.is_plain());
    let need = match (framed, query.missing_periods) {
        (Some((number, atom)), _) => Need {
            what: named(measures, number),
            home: Some(atom.home),
        },
        (None, MissingPeriods::Fill) => Need {
            what: "fill",
            home: atoms.first().map(|atom| atom.home),
        },
        (None, MissingPeriods::LeaveOut) => return Ok(None),
    };
    let (place, dimension, unit) = only_time(names, dimensions, need)?;
    check_unit(names, dimension, unit)?;
    for (number, atom) in atoms.iter().enumerate() {
        if atom.frame.reading(unit).is_none()
            && let Some(longer) = atom.frame.units().find(|longer| !unit.divides(*longer))
        {
            return Err(no_whole_units(
                dimension,
                unit,
                longer,
                named(measures, number),
            ));
        }
    }
    Ok(Some(TimeAxis {
        dimension: place,
        unit,
        spine: None,
    }))
}

pub(super) fn ends_of_periods(unit: Granularity, atoms: &[Atom]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for atom in atoms {
        if atom.frame.reading(unit) == Some(Reading::Days) {
            let note = format!(
                "values {} are those at the end of each {}",
                atom.frame.words(),
                unit.name()
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

fn named(measures: &[PlannedMeasure], number: usize) -> &str {
    let has = |measure: &&PlannedMeasure| bound::atoms(&measure.tree).contains(&number);
    measures
        .iter()
        .find(has)
        .map_or("a filter", |measure| measure.reference.as_str())
}

fn only_time<'d>(
    names: Names<'_>,
    dimensions: &'d [Dimension],
    need: Need<'_>,
) -> Result<(usize, &'d Dimension, Granularity), QueryError> {
    let mut cut = dimensions
        .iter()
        .enumerate()
        .filter_map(|(place, dimension)| Some((place, dimension, dimension.unit?)));
    let Some(found) = cut.next() else {
        let message = format!(
            "`{}` goes by the periods of a time dimension, and the query has none with a granularity",
            need.what
        );
        return Err(QueryError::new(ErrorKind::NoTimeDimension, message)
            .about(need.what)
            .suggest(time_columns(names, need.home)));
    };
    let (_, axis, _) = found;
    let same_time = |other: &&Dimension| other.unit.is_none() && other.tree == axis.tree;
    let other = cut
        .next()
        .map(|(_, other, _)| other)
        .or_else(|| dimensions.iter().find(same_time));
    match other {
        None => Ok(found),
        Some(other) => {
            let message = format!(
                "`{}` goes by one time dimension, and the query has two: `{}` and `{}`",
                need.what, axis.name, other.name
            );
            Err(QueryError::new(ErrorKind::AmbiguousTimeDimension, message).about(need.what))
        }
    }
}

fn time_columns(names: Names<'_>, home: Option<NodeId>) -> Vec<String> {
    let Some((node, source)) = home.and_then(|node| Some((node, names.source(node).ok()?))) else {
        return Vec::new();
    };
    let is_time = |column: &&Column| {
        column.kind == ColumnType::Time
            && column.visibility != crate::model::authored::Visibility::Hidden
    };
    let words = source.columns.iter().filter(is_time).map(|column| {
        let unit = match column.natural_granularity {
            Some(natural) if !natural.divides(Granularity::Month) => natural,
            _ => Granularity::Month,
        };
        format!("{}.{}:{}", names.node_name(node), column.name, unit.name())
    });
    words.take(8).collect()
}

/// The coarsest unit that distinguishes the column's times.
fn natural_unit(names: Names<'_>, dimension: &Dimension) -> Option<Granularity> {
    let source = names.source(dimension.node).ok()?;
    let (_, column) = source.column(&dimension.column)?;
    let is_date = column
        .native_type
        .as_deref()
        .is_some_and(|native| native.eq_ignore_ascii_case("date"));
    column
        .natural_granularity
        .or(is_date.then_some(Granularity::Day))
}

fn check_unit(
    names: Names<'_>,
    dimension: &Dimension,
    unit: Granularity,
) -> Result<(), QueryError> {
    match natural_unit(names, dimension) {
        Some(natural) if natural < unit => {
            let message = format!(
                "`{}` comes by {}: it has no {}s to go by",
                dimension.reference,
                natural.name(),
                unit.name()
            );
            Err(QueryError::new(ErrorKind::BadGranularity, message)
                .about(dimension.reference.as_str())
                .suggest([format!("{}:{}", dimension.reference, natural.name())]))
        }
        _ => Ok(()),
    }
}

fn no_whole_units(
    dimension: &Dimension,
    unit: Granularity,
    longer: Granularity,
    measure: &str,
) -> QueryError {
    let message = format!(
        "`{measure}` looks back by the {}, and a {} is not a whole number of {}s",
        longer.name(),
        longer.name(),
        unit.name()
    );
    let fitting = Granularity::ALL
        .into_iter()
        .filter(|fitting| fitting.divides(longer))
        .map(|fitting| format!("{}:{}", dimension.reference, fitting.name()));
    QueryError::new(ErrorKind::BadWindow, message)
        .about(measure)
        .suggest(fitting)
}

/// Refuses filters that mix it with other columns.
pub(super) fn mark_filters(
    names: Names<'_>,
    dimension: &Dimension,
    filters: &mut [RowFilter],
    notes: &mut Vec<String>,
) -> Result<(), QueryError> {
    let own = bound::columns(&dimension.tree);
    for filter in filters {
        let columns = bound::columns(&filter.tree);
        let is_own = |column: &(NodeId, String)| own.contains(column);
        let message = if columns.is_empty() || !columns.iter().any(is_own) {
            if !columns.iter().any(|column| is_time(names, column)) {
                continue;
            }
            format!(
                "filter `{}` is on another time than `{}`: measures over other periods see only rows that pass it",
                filter.text, dimension.name
            )
        } else if columns.iter().all(is_own) {
            filter.sees = Sees::Periods;
            format!(
                "filter `{}` picks the periods shown: measures over other periods look past it and see whole periods",
                filter.text
            )
        } else {
            let message = format!(
                "filter `{}` mixes the time dimension with other columns; measures over other periods cannot tell which rows it means",
                filter.text
            );
            return Err(
                QueryError::new(ErrorKind::MixedTimeFilter, message).about(filter.text.as_str())
            );
        };
        if !notes.contains(&message) {
            notes.push(message);
        }
    }
    Ok(())
}

/// SQLite has no time type: unreadable values fall into no period, without an error.
pub(super) fn not_read_as_times(names: Names<'_>, dimensions: &[Dimension]) -> Vec<String> {
    if names.dialect != Dialect::Sqlite {
        return Vec::new();
    }
    let note = |dimension: &Dimension| {
        dimension.unit?;
        let source = names.source(dimension.node).ok()?;
        let (_, column) = source.column(&dimension.column)?;
        let Relation::Table(table) = &source.relation else {
            return None;
        };
        if column.expr.is_some() {
            return None;
        }
        let scanned = names
            .catalog
            .manifest
            .only_match(table)?
            .entry
            .columns
            .iter();
        let mut scanned = scanned.filter(|one| one.name.eq_ignore_ascii_case(&column.name));
        let found = column_type(&scanned.next()?.kind);
        let held = match found {
            ColumnType::String => "texts",
            ColumnType::Number => "numbers",
            ColumnType::Time | ColumnType::Boolean => return None,
        };
        Some(format!(
            "`{}` holds {held} in the warehouse: those that SQLite does not read as a time, such as \
             seconds since 1970, count under NULL; a computed column can turn them into times",
            dimension.reference
        ))
    };
    dimensions.iter().filter_map(note).collect()
}

fn is_time(names: Names<'_>, (node, column): &(NodeId, String)) -> bool {
    let source = names.source(*node).ok();
    let column = source.and_then(|source| source.column(column));
    column.is_some_and(|(_, column)| column.kind == ColumnType::Time)
}

pub(super) fn filled(
    names: Names<'_>,
    dimension: &Dimension,
    unit: Granularity,
    filters: &[RowFilter],
) -> Result<Spine, QueryError> {
    let instants = match natural_unit(names, dimension) {
        Some(natural) if natural <= Granularity::Day => spine::Instants::Days,
        _ => spine::Instants::Any,
    };
    let trees: Vec<&Expr> = filters.iter().map(|filter| &filter.tree).collect();
    spine::between(&dimension.tree, &trees, unit, instants)
        .map_err(|problem| problem.error(&dimension.reference))
}
