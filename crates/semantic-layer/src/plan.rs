//! The planner: resolves a query over a catalog, before any SQL is written.

pub(crate) mod atoms;
mod bridges;
mod dimensions;
mod filters;
mod formulas;
mod frames;
pub(crate) mod group_functions;
mod groups;
pub(crate) mod levels;
mod naming;
mod notes;
mod order;
mod parts;
pub(crate) mod predicates;
mod refusals;
mod roads;
pub(crate) mod scalars;
pub(crate) mod sides;
mod spine;
mod time;
mod ways;
pub(crate) mod weights;
pub(crate) use ktx_sql::Dialect;
use sqlparser::ast::Expr;

use crate::catalog::graph::{Edge, NodeId};
use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::names::Names;
use crate::names::aggregates::{self, Call};
use crate::names::query::{DEFAULT_LIMIT, Direction, MissingPeriods, Others, Query};
use crate::sql::sql_text::table_parts;
use atoms::{Atom, Averages, Evaluator};
pub(crate) use bridges::Bridge;
pub(crate) use filters::{RowFilter, Sees};
pub(crate) use formulas::SnapshotTrees;
pub(crate) use frames::{Frame, Reading, Shift, Span};
pub(crate) use group_functions::{GroupWindow, WindowFunction};
use levels::GroupFilters;
pub(crate) use naming::{sanitized, unique};
pub(crate) use spine::Spine;
pub(crate) use time::TimeAxis;
pub(crate) use ways::spelled_graph;

#[derive(Debug, Clone)]
pub(crate) struct Dimension {
    pub(crate) node: NodeId,
    pub(crate) column: String,
    pub(crate) unit: Option<Granularity>,
    pub(crate) native_type: Option<String>,
    /// Not truncated to its unit.
    pub(crate) tree: Expr,
    pub(crate) name: String,
    pub(crate) reference: String,
    pub(crate) request: usize,
}

impl Dimension {
    fn written(&self) -> &str {
        let whole = self.reference.as_str();
        let field = whole.rsplit_once(" via ").map_or(whole, |(field, _)| field);
        field.split(':').next().unwrap_or_default()
    }

    /// Matches the result name or the column.
    fn is_called(&self, names: Names<'_>, text: &str) -> bool {
        let full = format!("{}.{}", names.node_name(self.node), self.column);
        let mut known = vec![self.name.as_str(), &self.column, self.written()];
        known.extend([full.as_str(), &self.reference]);
        let unit = self.unit.map(Granularity::name);
        // The unit distinguishes two dimensions of one column.
        let without_unit = unit.and_then(|unit| text.strip_suffix(unit)?.strip_suffix(':'));
        let is_known = |text: &str| known.iter().any(|known| known.eq_ignore_ascii_case(text));
        is_known(text) || without_unit.is_some_and(is_known)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct PlannedMeasure {
    pub(crate) tree: Expr,
    pub(crate) name: String,
    pub(crate) reference: String,
    pub(crate) predefined: Option<(NodeId, String)>,
    pub(crate) request: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PartKind {
    Groups,
    Ranked,
    Members,
    /// Dimension tuples of a home with values only from other periods.
    Present,
    Snapshot,
}

#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    pub(crate) home: NodeId,
    pub(crate) frame: Frame,
    pub(crate) atoms: Vec<usize>,
    /// Each starts at a node that is already joined.
    pub(crate) joins: Vec<Edge>,
    /// Dimensions of which a row can have several values.
    pub(crate) bridge: Option<Bridge>,
}

#[derive(Debug, Clone)]
pub(crate) struct SortKey {
    pub(crate) name: String,
    pub(crate) role: ColumnRole,
    pub(crate) direction: Direction,
}

#[derive(Debug)]
pub(crate) struct Planned<'a> {
    pub(crate) names: Names<'a>,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) measures: Vec<PlannedMeasure>,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) windows: Vec<GroupWindow>,
    pub(crate) row_filters: Vec<RowFilter>,
    pub(crate) group_filters: Vec<(String, Expr)>,
    /// Plain frames first.
    pub(crate) parts: Vec<Part>,
    pub(crate) time: Option<TimeAxis>,
    pub(crate) order: Vec<SortKey>,
    /// True if the query has its own order.
    pub(crate) is_ordered: bool,
    pub(crate) limit: u64,
    /// Each combination of their values has its own limit.
    pub(crate) limit_per: Vec<usize>,
    pub(crate) others: Others,
    pub(crate) mark: Option<String>,
    pub(crate) notes: Vec<String>,
}

impl Planned<'_> {
    pub(crate) fn has_rest(&self) -> bool {
        self.others == Others::OneRow
    }

    pub(crate) fn is_numbered(&self) -> bool {
        self.has_rest() || !self.limit_per.is_empty()
    }
}

pub(crate) fn plan<'a>(names: Names<'a>, query: &'a Query) -> Result<Planned<'a>, QueryError> {
    plan_level(names, query, GroupFilters::Apply)
}

pub(crate) fn plan_level<'a>(
    names: Names<'a>,
    query: &'a Query,
    group_filters_apply: GroupFilters,
) -> Result<Planned<'a>, QueryError> {
    let dialect = names.dialect;
    if query.measures.is_empty() && query.dimensions.is_empty() {
        let message = "the query asks for no measures and no dimensions";
        return Err(QueryError::new(ErrorKind::InvalidQuery, message));
    }
    check_names(query, dialect)?;
    weights::check_words(query)?;
    let mut dimensions = dimensions::resolve(names, query)?;
    let segments = query
        .segments
        .iter()
        .map(|text| names.segment(text))
        .collect::<Result<_, _>>()?;
    let mut evaluator = Evaluator::new(names, &query.measures, segments);
    evaluator.dimensions.clone_from(&dimensions);
    evaluator.averages = match query.others {
        Others::OneRow => Averages::Split,
        Others::LeaveOut => Averages::Whole,
    };
    let mut measures = measures(&mut evaluator, query)?;
    naming::assign(names, &mut dimensions, &mut measures);
    let (mut row_filters, mut group_filters) =
        filters::classify(&mut evaluator, query, group_filters_apply)?;
    if let Some(segment) = evaluator.unused_segment() {
        let message = format!("segment `{segment}` belongs to no measure of the query");
        return Err(QueryError::new(ErrorKind::SegmentNoMeasure, message).about(segment));
    }
    let order = order::keys(names, query, &dimensions, &measures)?;
    let tested = groups::Tested {
        dimensions: &dimensions,
        measures: &measures,
        filters: &group_filters,
    };
    let mut notes = groups::check(&mut evaluator, &tested)?;
    let mut time = time::axis(names, query, &dimensions, &measures, &evaluator.atoms)?;
    if let Some(axis) = &mut time {
        let trees = measures.iter_mut().map(|one| &mut one.tree);
        let trees = trees.chain(group_filters.iter_mut().map(|(_, tree)| tree));
        let framed = Framed {
            dimensions: &dimensions,
            trees: trees.collect(),
            row_filters: &mut row_filters,
            notes: &mut notes,
        };
        by_periods(&mut evaluator, query, axis, framed)?;
    }
    notes.extend(approximations(&evaluator));
    notes.extend(time::not_read_as_times(names, &dimensions));
    let asked = parts::Asked {
        dimensions: &dimensions,
        row_filters: &row_filters,
        empty_members: query.empty_members,
        across: query.across,
        weight: query.weight.as_deref(),
        ranked_by: order::ranked_by(query, &order),
        time: time.as_ref(),
    };
    let parts = parts::build(&mut evaluator, &asked, &mut notes)?;
    evaluator.check_used(&parts)?;
    check_groups(&evaluator, &parts)?;
    levels::check_others(&evaluator, query, &measures, &parts)?;
    let limit_per = levels::limit_per(names, query, &dimensions)?;
    Ok(Planned {
        limit_per,
        mark: naming::mark(query, &dimensions, &measures),
        is_ordered: !query.order_by.is_empty(),
        others: query.others,
        names,
        dimensions,
        measures,
        atoms: evaluator.atoms,
        windows: evaluator.windows,
        row_filters,
        group_filters,
        parts,
        time,
        order,
        limit: query.limit.unwrap_or(DEFAULT_LIMIT),
        notes,
    })
}

/// Refuses to add up groups if a row may belong to several.
fn check_groups(evaluator: &Evaluator<'_>, parts: &[Part]) -> Result<(), QueryError> {
    let adds = |window: &GroupWindow| window.function.adds();
    let is_bridged = parts.iter().any(|part| part.bridge.is_some());
    if !is_bridged || !evaluator.windows.iter().any(adds) {
        return Ok(());
    }
    let message = "a row may belong to several groups of this answer, so the groups do not add up to a total: ask for \
                   the measure without a share or a running total";
    Err(QueryError::new(ErrorKind::NotAdditive, message))
}

struct Framed<'t> {
    dimensions: &'t [Dimension],
    trees: Vec<&'t mut Expr>,
    row_filters: &'t mut [RowFilter],
    notes: &'t mut Vec<String>,
}

fn by_periods(
    evaluator: &mut Evaluator<'_>,
    query: &Query,
    axis: &mut TimeAxis,
    framed: Framed<'_>,
) -> Result<(), QueryError> {
    let names = evaluator.names;
    let Some(dimension) = framed.dimensions.get(axis.dimension) else {
        return Ok(());
    };
    if query.missing_periods == MissingPeriods::Fill {
        let spine = time::filled(names, dimension, axis.unit, framed.row_filters)?;
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
        if i64::try_from(limit).is_ok_and(|limit| limit < spine.count) {
            framed.notes.push(format!(
                "there are {} periods, and at most {limit} rows are given",
                spine.count
            ));
        }
        axis.spine = Some(spine);
    }
    if evaluator.atoms.iter().any(|atom| !atom.frame.is_plain()) {
        time::mark_filters(names, dimension, framed.row_filters, framed.notes)?;
        let mut filters = framed.row_filters.iter();
        let cut = if filters.any(|one| one.sees == Sees::Periods) {
            frames::Periods::Cut
        } else {
            frames::Periods::Whole
        };
        let atoms = std::mem::take(&mut evaluator.atoms);
        evaluator.atoms = frames::settle(atoms, framed.trees, cut)?;
        let notes = time::ends_of_periods(axis.unit, &evaluator.atoms);
        framed.notes.extend(notes);
    }
    Ok(())
}

fn approximations(evaluator: &Evaluator<'_>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for atom in &evaluator.atoms {
        if let Call::Function(function) = &atom.call
            && aggregates::is_approximate(&atom.call, evaluator.names.dialect)
        {
            let note = format!("`{}` is approximate", aggregates::name_of(function));
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

fn check_names(query: &Query, dialect: Dialect) -> Result<(), QueryError> {
    // Warehouses and parsers read escapes in quoted names differently.
    let escapes = matches!(dialect, Dialect::BigQuery | Dialect::ClickHouse);
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for request in &query.measures {
        let Some(name) = request.name.as_deref() else {
            continue;
        };
        let is_blank = name.trim().is_empty() || name.chars().count() > 128;
        let is_unsafe =
            name.chars().any(char::is_control) || (escapes && name.contains(['`', '\\']));
        if is_blank || is_unsafe {
            let message = format!("`{}` is not a usable result name", name.escape_debug());
            return Err(QueryError::new(ErrorKind::InvalidQuery, message).about(name));
        }
        let clash = seen
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        if clash.is_some_and(|(_, expr)| *expr != request.expr) {
            let message = format!("two measures are named `{name}`");
            return Err(QueryError::new(ErrorKind::InvalidQuery, message).about(name));
        }
        seen.push((name, &request.expr));
    }
    Ok(())
}

/// Duplicates yield one column.
fn measures(
    evaluator: &mut Evaluator<'_>,
    query: &Query,
) -> Result<Vec<PlannedMeasure>, QueryError> {
    let mut measures: Vec<PlannedMeasure> = Vec::new();
    for (at, request) in query.measures.iter().enumerate() {
        if query.measures.iter().take(at).any(|known| known == request) {
            continue;
        }
        let tree = evaluator.request(at)?;
        if crate::names::bound::atoms(&tree).is_empty() {
            let message = if request.expr.contains(crate::names::constants::OVERALL) {
                format!(
                    "`{}` is the same in every group: use it in an expression with a measure, or in a filter",
                    request.expr
                )
            } else {
                format!("`{}` aggregates nothing", request.expr)
            };
            return Err(
                QueryError::new(ErrorKind::NotAMeasure, message).about(request.expr.as_str())
            );
        }
        let names = evaluator.names;
        let parts = table_parts(&request.expr);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let predefined = match parts.as_slice() {
            [name]
                if evaluator
                    .named_request(name)
                    .is_some_and(|other| other != at) =>
            {
                None
            }
            [] => None,
            parts => names.known_measure(parts),
        };
        let measure = PlannedMeasure {
            tree,
            name: request.name.clone().unwrap_or_default(),
            reference: request.text(),
            predefined: predefined.map(|at| (at.node, at.measure.name.clone())),
            request: at,
        };
        evaluator.go_through(request, &measure)?;
        measures.push(measure);
    }
    evaluator.check_ways(&query.measures, &measures)?;
    Ok(measures)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnRole {
    Dimension,
    Measure,
    /// What the row is over, if it is not a group.
    Mark,
}
