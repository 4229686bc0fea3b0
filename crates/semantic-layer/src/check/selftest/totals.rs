//! Tests of measures: groups must add up to the total.

use sqlparser::ast::{DuplicateTreatment, FunctionArguments};

use super::{Expectation, OnePart, SelfTest, SelfTestKind, with};
use crate::catalog::graph::{Lookup, NodeId, Routes};
use crate::model::authored::Visibility;
use crate::model::error::QueryError;
use crate::model::resolved::{Measure, Source};
use crate::names::aggregates::{Call, name_of};
use crate::names::query::{DimensionRequest, EmptyMembers, MeasureRequest, Query};
use crate::names::{Names, bound};
use crate::plan::{self, PartKind, Planned};
use crate::sql::sql_text::identifier;

pub(super) fn tests(names: Names<'_>, source: &Source) -> Vec<SelfTest> {
    let mut tests = Vec::new();
    for measure in &source.measures {
        tests.extend(measure_tests(names, source, measure).unwrap_or_default());
    }
    tests
}

fn measure_tests(
    names: Names<'_>,
    source: &Source,
    measure: &Measure,
) -> Result<Vec<SelfTest>, QueryError> {
    let mut query = Query {
        measures: vec![MeasureRequest {
            expr: qualified(names, &source.name, &measure.name),
            name: None,
            via: Vec::new(),
        }],
        empty_members: EmptyMembers::Exclude,
        ..Query::default()
    };
    let whole = plan::plan(names, &query)?;
    let Some(home) = additive_home(&whole) else {
        return Ok(Vec::new());
    };
    let Some(raw) = OnePart::of(&whole)? else {
        return Ok(Vec::new());
    };
    let mut tests = Vec::new();
    for (node, column) in dimensions(names, home) {
        query.dimensions = vec![DimensionRequest {
            field: qualified(names, names.node_name(node), &column),
            granularity: None,
            via: Vec::new(),
        }];
        let plan = plan::plan(names, &query)?;
        let Some(grouped) = OnePart::of(&plan)? else {
            continue;
        };
        let Some(sql) = sql(names, &raw, grouped) else {
            continue;
        };
        tests.push(SelfTest {
            name: format!(
                "{}.{}: groups by {}.{column} add up to the total",
                source.name,
                measure.name,
                names.node_name(node)
            ),
            source: source.name.clone(),
            kind: SelfTestKind::MeasureTotal,
            sql,
            expectation: Expectation::SameTotals,
        });
    }
    Ok(tests)
}

/// Formats a reference that cannot have another meaning.
fn qualified(names: Names<'_>, node: &str, name: &str) -> String {
    let quoted = |name: &str| identifier(names.dialect, name);
    format!("{}.{}", quoted(node), quoted(name))
}

fn additive_home(planned: &Planned<'_>) -> Option<NodeId> {
    let ([measure], [atom], [part]) = (
        planned.measures.as_slice(),
        planned.atoms.as_slice(),
        planned.parts.as_slice(),
    ) else {
        return None;
    };
    let is_additive = match &atom.call {
        Call::Rows => true,
        Call::Percentile { .. } => false,
        Call::Function(call) => {
            let is_distinct = matches!(
                &call.args,
                FunctionArguments::List(list) if list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
            );
            let sums = ["sum", "sumif", "count", "count_big", "countif", "count_if"];
            !is_distinct && sums.contains(&name_of(call).as_str())
        }
    };
    let is_plain = bound::atom_of(&measure.tree) == Some(0)
        && part.kind == PartKind::Groups
        && part.frame.is_plain();
    (is_additive && is_plain).then_some(atom.home)
}

/// Returns one column per node, because the test is about the joins.
fn dimensions(names: Names<'_>, home: NodeId) -> Vec<(NodeId, String)> {
    let routes = Routes::new(names.graph, home);
    let mut found = Vec::new();
    for node in 0..names.catalog.written_nodes() {
        if node == home || !routes.reaches(node) || !matches!(routes.lookup(node), Lookup::Path(_))
        {
            continue;
        }
        let Ok(source) = names.source(node) else {
            continue;
        };
        let is_open = |name: &&String| {
            let column = source.column(name);
            column.is_some_and(|(_, column)| column.visibility != Visibility::Hidden)
        };
        let all = source.columns.iter().map(|column| &column.name);
        if let Some(column) = source.grain.iter().chain(all).find(is_open) {
            found.push((node, column.clone()));
        }
    }
    found
}

/// `None` if both use one name for different queries.
fn sql(names: Names<'_>, raw: &OnePart, grouped: OnePart) -> Option<String> {
    let mut total = format!("{}_total", raw.name);
    while raw.sql.contains(&total) || grouped.sql.contains(&total) {
        total.push('_');
    }
    let quoted = |name: &str| identifier(names.dialect, name);
    let select = format!(
        "SELECT summed.group_total AS group_total, {whole}.{value} AS raw_total\nFROM (SELECT SUM({group}) AS group_total FROM {groups}) AS summed\nCROSS JOIN {whole}",
        whole = quoted(&total),
        value = raw.value,
        group = grouped.value,
        groups = quoted(&grouped.name),
    );
    let mut tables = grouped.lifted;
    for lifted in &raw.lifted {
        match tables.iter().find(|known| known.0 == lifted.0) {
            Some(known) if known != lifted => return None,
            Some(_) => {}
            None => tables.push(lifted.clone()),
        }
    }
    tables.push((grouped.name, grouped.sql));
    tables.push((total, raw.sql.clone()));
    Some(with(names.dialect, &tables, &select))
}
