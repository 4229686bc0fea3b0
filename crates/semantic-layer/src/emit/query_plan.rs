//! The plan as data, in the shape of answers.

mod explain;

use serde::Serialize;

pub use explain::explain;

use crate::catalog::graph::{Edge, NodeId};
use crate::emit::Written;
use crate::model::resolved::Measure;
use crate::names::aggregates::Call;
use crate::names::bound::{self, Printer};
use crate::plan::{Part, PartKind, Planned, PlannedMeasure, Sees};

/// The caller that runs the SQL adds `execution`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Sources and roles, in order.
    pub sources_used: Vec<String>,
    /// One line per look-up path, home first.
    pub join_paths: Vec<String>,
    pub joins: Vec<PlannedJoin>,
    /// The home of the first part.
    pub anchor_source: String,
    pub anchor_grain: Vec<String>,
    pub fan_out_description: Option<String>,
    /// True if measures of several homes meet.
    pub has_fan_out: bool,
    pub measure_groups: Vec<MeasureGroup>,
    pub aggregate_locality: Vec<String>,
    pub where_filters: Vec<String>,
    /// Row filters that measures over other periods ignore.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub period_filters: Vec<String>,
    pub having_filters: Vec<String>,
    pub columns: Vec<PlannedColumn>,
    pub measures: Vec<MeasureInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub periods: Option<String>,
    pub parts: Vec<PartInfo>,
}

/// Columns of composite keys are separated by commas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedJoin {
    pub from_source: String,
    pub to_source: String,
    pub from_column: String,
    pub to_column: String,
    pub relationship: &'static str,
    /// Why at most one row of `to_source` matches, if no key proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeasureGroup {
    pub source: String,
    pub measures: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedColumn {
    pub name: String,
    /// `dimension`, `predefined` or `runtime`.
    pub provenance: &'static str,
    pub expr: String,
    pub description: Option<String>,
    pub granularity: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeasureInfo {
    pub name: String,
    /// A predefined measure's own, otherwise as requested.
    pub expr: String,
    pub source_name: Option<String>,
    pub original_name: Option<String>,
    pub qualified_ref: Option<String>,
    pub filter: Option<String>,
    /// `predefined` or `runtime`.
    pub provenance: &'static str,
    /// True if it is computed from other values of its group.
    pub is_derived: bool,
    pub depends_on: Vec<String>,
    pub description: Option<String>,
    /// Over the merged columns.
    pub sql: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartInfo {
    pub name: String,
    /// `groups`, `percentile`, `members`, `present` or `snapshot`.
    pub kind: &'static str,
    /// If not the periods of each group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub periods: Option<String>,
    /// The source whose rows it reads, each once.
    pub home: String,
    pub lookups: Vec<String>,
    /// All are also joins of the plan.
    #[serde(skip)]
    pub joins: Vec<PlannedJoin>,
    pub sql: String,
}

impl Plan {
    pub(crate) fn of(planned: &Planned<'_>, written: &Written) -> Self {
        let name = |node: NodeId| planned.names.node_name(node).to_owned();
        let mut sources_used: Vec<String> = Vec::new();
        let mut joins: Vec<PlannedJoin> = Vec::new();
        let mut join_paths: Vec<String> = Vec::new();
        for part in &planned.parts {
            push_new(&mut sources_used, name(part.home));
            let bridge = part.bridge.iter().flat_map(|bridge| &bridge.joins);
            for edge in part.joins.iter().chain(bridge) {
                push_new(&mut sources_used, name(edge.to));
                push_new(&mut joins, join(planned, edge));
            }
            for edge in &part.joins {
                push_new(&mut join_paths, path(planned, part, edge.to));
            }
        }
        sources_used.sort();
        let groups = measure_groups(planned);
        let anchor = planned.parts.first().map(|part| part.home);
        let grain = anchor.and_then(|node| planned.names.source(node).ok());
        let homes: Vec<&str> = groups.iter().map(|group| group.source.as_str()).collect();
        let has_fan_out = homes.len() > 1;
        Self {
            sources_used,
            join_paths,
            joins,
            anchor_source: anchor.map(name).unwrap_or_default(),
            anchor_grain: grain.map(|source| source.grain.clone()).unwrap_or_default(),
            fan_out_description: has_fan_out.then(|| {
                format!(
                    "`{}` are aggregated apart and meet on the dimensions",
                    homes.join("`, `")
                )
            }),
            has_fan_out,
            aggregate_locality: aggregate_locality(planned),
            measure_groups: groups,
            where_filters: planned
                .row_filters
                .iter()
                .map(|filter| filter.text.clone())
                .collect(),
            period_filters: planned
                .row_filters
                .iter()
                .filter(|filter| filter.sees == Sees::Periods)
                .map(|filter| filter.text.clone())
                .collect(),
            having_filters: planned
                .group_filters
                .iter()
                .map(|(text, _)| text.clone())
                .collect(),
            columns: columns(planned),
            measures: measures(planned, written),
            periods: periods(planned),
            parts: parts(planned, written),
        }
    }
}

fn periods(planned: &Planned<'_>) -> Option<String> {
    let time = planned.time.as_ref()?;
    let dimension = planned.dimensions.get(time.dimension)?;
    let which = match &time.spine {
        Some(spine) => format!("all {} from {}", spine.count, spine.first),
        None => "those that have rows".to_owned(),
    };
    Some(format!(
        "{}s of `{}`: {which}",
        time.unit.name(),
        dimension.reference
    ))
}

fn push_new<T: PartialEq>(all: &mut Vec<T>, item: T) {
    if !all.contains(&item) {
        all.push(item);
    }
}

fn join(planned: &Planned<'_>, edge: &Edge) -> PlannedJoin {
    let side = |of: fn(&(String, String)) -> &String| -> String {
        edge.pairs
            .iter()
            .map(|pair| of(pair).as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    PlannedJoin {
        from_source: planned.names.node_name(edge.from).to_owned(),
        to_source: planned.names.node_name(edge.to).to_owned(),
        from_column: side(|pair| &pair.0),
        to_column: side(|pair| &pair.1),
        relationship: edge.relationship.name(),
        proof: proof(planned, edge),
    }
}

fn proof(planned: &Planned<'_>, edge: &Edge) -> Option<&'static str> {
    let is_counted = edge.origin.is_inferred() && edge.counted.coverage.is_some();
    let far: Vec<&str> = edge.pairs.iter().map(|(_, far)| far.as_str()).collect();
    let found = planned.names.source(edge.to).ok();
    let is_key = found.is_some_and(|found| found.is_told_apart_by(&far));
    (edge.relationship.is_safe() && is_counted && !is_key)
        .then_some("no value repeats in the scanned rows")
}

/// Such as `visits -> doctors -> wards`.
fn path(planned: &Planned<'_>, part: &Part, to: NodeId) -> String {
    let mut steps = vec![planned.names.node_name(to)];
    let mut at = to;
    while let Some(edge) = part.joins.iter().find(|edge| edge.to == at) {
        at = edge.from;
        steps.push(planned.names.node_name(at));
    }
    steps.reverse();
    steps.join(" -> ")
}

fn homes_of(planned: &Planned<'_>, measure: &PlannedMeasure) -> Vec<NodeId> {
    let mut homes: Vec<NodeId> = Vec::new();
    for at in bound::atoms(&measure.tree) {
        if let Some(atom) = planned.atoms.get(at) {
            push_new(&mut homes, atom.home);
        }
    }
    homes
}

fn measure_groups(planned: &Planned<'_>) -> Vec<MeasureGroup> {
    let mut groups: Vec<MeasureGroup> = Vec::new();
    for atom in &planned.atoms {
        let source = planned.names.node_name(atom.home).to_owned();
        let has = |measure: &&PlannedMeasure| homes_of(planned, measure).contains(&atom.home);
        let measures = planned
            .measures
            .iter()
            .filter(has)
            .map(|measure| measure.name.clone())
            .collect();
        push_new(&mut groups, MeasureGroup { source, measures });
    }
    groups
}

fn aggregate_locality(planned: &Planned<'_>) -> Vec<String> {
    let lines = planned.parts.iter().map(|part| {
        let home = planned.names.node_name(part.home);
        match part.kind {
            PartKind::Groups if !part.frame.is_plain() => format!(
                "each row of `{home}` is counted once in every period whose frame contains it: {}",
                part.frame.words()
            ),
            PartKind::Groups => format!("each row of `{home}` is counted once"),
            PartKind::Ranked => format!("a percentile is computed over the rows of `{home}`"),
            PartKind::Members => format!("members of `{home}` are added"),
            PartKind::Present => format!("groups that have rows of `{home}` are added"),
            PartKind::Snapshot => format!("of each group of `{home}` one moment is counted"),
        }
    });
    lines.collect()
}

fn columns(planned: &Planned<'_>) -> Vec<PlannedColumn> {
    let dimensions = planned.dimensions.iter().map(|dimension| {
        let source = planned.names.source(dimension.node).ok();
        let column = source.and_then(|source| source.column(&dimension.column));
        PlannedColumn {
            name: dimension.name.clone(),
            provenance: "dimension",
            expr: format!(
                "{}.{}",
                planned.names.node_name(dimension.node),
                dimension.column
            ),
            description: column.and_then(|(_, column)| column.description.clone()),
            granularity: dimension
                .unit
                .map(crate::model::granularity::Granularity::name),
        }
    });
    let measures = planned.measures.iter().map(|measure| PlannedColumn {
        name: measure.name.clone(),
        provenance: provenance(measure),
        expr: qualified(planned, measure).unwrap_or_else(|| measure.reference.clone()),
        description: predefined(planned, measure).and_then(|known| known.description.clone()),
        granularity: None,
    });
    dimensions.chain(measures).collect()
}

fn provenance(measure: &PlannedMeasure) -> &'static str {
    if measure.predefined.is_some() {
        "predefined"
    } else {
        "runtime"
    }
}

fn qualified(planned: &Planned<'_>, measure: &PlannedMeasure) -> Option<String> {
    let (node, name) = measure.predefined.as_ref()?;
    Some(format!("{}.{name}", planned.names.node_name(*node)))
}

fn predefined<'p>(planned: &'p Planned<'_>, measure: &PlannedMeasure) -> Option<&'p Measure> {
    let (node, name) = measure.predefined.as_ref()?;
    planned.names.source(*node).ok()?.measure(name)
}

fn measures(planned: &Planned<'_>, written: &Written) -> Vec<MeasureInfo> {
    let infos = planned.measures.iter().enumerate().map(|(at, measure)| {
        let homes = homes_of(planned, measure);
        let known = predefined(planned, measure);
        let mut depends_on: Vec<String> = Vec::new();
        for number in bound::atoms(&measure.tree) {
            push_new(&mut depends_on, atom_text(planned, number));
        }
        MeasureInfo {
            name: measure.name.clone(),
            expr: known.map_or_else(|| measure.reference.clone(), |known| known.expr.clone()),
            source_name: match homes.as_slice() {
                [home] => Some(planned.names.node_name(*home).to_owned()),
                _ => None,
            },
            original_name: measure.predefined.as_ref().map(|(_, name)| name.clone()),
            qualified_ref: qualified(planned, measure),
            filter: known.and_then(|known| known.filter.clone()),
            provenance: provenance(measure),
            is_derived: bound::atom_of(&measure.tree).is_none(),
            depends_on,
            description: known.and_then(|known| known.description.clone()),
            sql: written.measures.get(at).cloned().unwrap_or_default(),
        }
    });
    infos.collect()
}

fn printer<'p>(planned: &'p Planned<'_>, node: &'p dyn Fn(NodeId) -> String) -> Printer<'p> {
    Printer {
        dialect: planned.names.dialect,
        node,
        atom: &|_| String::new(),
        mark: &|_| String::new(),
    }
}

/// Such as `visits.kind = 'first'`.
pub(crate) fn filter_text(planned: &Planned<'_>, filter: &sqlparser::ast::Expr) -> String {
    let node = |node| planned.names.node_name(node).to_owned();
    printer(planned, &node).print(filter)
}

pub(crate) fn atom_text(planned: &Planned<'_>, at: usize) -> String {
    let Some(atom) = planned.atoms.get(at) else {
        return String::new();
    };
    let node = |node| planned.names.node_name(node).to_owned();
    let printer = printer(planned, &node);
    let home = planned.names.node_name(atom.home);
    let call = match &atom.call {
        Call::Rows => format!("count({home}.*)"),
        Call::Function(function) => {
            printer.print(&sqlparser::ast::Expr::Function(function.clone()))
        }
        Call::Percentile { value, fraction } => {
            format!("percentile({}, {fraction})", printer.print(value))
        }
    };
    let filters: Vec<String> = atom
        .filters
        .iter()
        .map(|filter| printer.print(filter))
        .collect();
    let mut text = call;
    if !filters.is_empty() {
        text = format!("{text} where {}", filters.join(" and "));
    }
    if let Some(snapshot) = &atom.snapshot {
        let per: Vec<String> = snapshot
            .per
            .iter()
            .map(|tree| printer.print(tree))
            .collect();
        let of = if per.is_empty() {
            String::new()
        } else {
            format!(" of each {}", per.join(", "))
        };
        text = format!(
            "{text} at the {} {}{of}",
            snapshot.at.name(),
            printer.print(&snapshot.moment)
        );
    }
    match atom.frame.words() {
        words if words.is_empty() => text,
        words => format!("{text} {words}"),
    }
}

fn parts(planned: &Planned<'_>, written: &Written) -> Vec<PartInfo> {
    let infos = planned
        .parts
        .iter()
        .zip(&written.parts)
        .map(|(part, (name, sql))| PartInfo {
            name: name.clone(),
            kind: match part.kind {
                PartKind::Groups => "groups",
                PartKind::Ranked => "percentile",
                PartKind::Members => "members",
                PartKind::Present => "present",
                PartKind::Snapshot => "snapshot",
            },
            periods: (!part.frame.is_plain()).then(|| part.frame.words()),
            home: planned.names.node_name(part.home).to_owned(),
            lookups: part
                .joins
                .iter()
                .map(|edge| planned.names.node_name(edge.to).to_owned())
                .collect(),
            joins: part.joins.iter().map(|edge| join(planned, edge)).collect(),
            sql: sql.clone(),
        });
    infos.collect()
}
