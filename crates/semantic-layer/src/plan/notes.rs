//! What the reader of an answer should know about its joins.

use super::parts::Asked;
use super::refusals::spelled;
use super::{Dimension, Part, PartKind};
use crate::catalog::graph::{Edge, Grounds};
use crate::model::authored::Relationship;
use crate::model::resolved::{Counted, JoinOrigin};
use crate::names::Names;

pub(super) fn note_bridges(
    names: Names<'_>,
    asked: &Asked<'_>,
    parts: &[Part],
    notes: &mut Vec<String>,
) {
    for part in parts {
        let Some(bridge) = &part.bridge else { continue };
        let home = names.node_name(part.home);
        let along = spelled(names, part.home, &bridge.joins);
        let fields = bridge
            .dimensions
            .iter()
            .filter_map(|at| asked.dimensions.get(*at));
        let fields: Vec<String> = fields.map(|one| format!("`{}`", one.reference)).collect();
        let note = if bridge.weight.is_some() {
            format!(
                "each row of `{home}` is divided by weights along {along}; the groups add up to the total only where the \
                 weights of a row add up to 1"
            )
        } else if fields.is_empty() {
            format!(
                "a row of `{home}` counts once if one of the rows along {along} meets the filters"
            )
        } else {
            format!(
                "a row of `{home}` counts once in each of its {}, along {along}; the groups can add up to more than the \
                 total",
                fields.join(" and ")
            )
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

pub(super) fn note_filled(asked: &Asked<'_>, notes: &mut Vec<String>) {
    if asked.time.is_some_and(|time| time.spine.is_some()) && asked.dimensions.len() > 1 {
        notes.push(
            "periods are filled in for each combination of the other dimensions that the answer has"
                .to_owned(),
        );
    }
}

pub(super) fn note_lookups(
    names: Names<'_>,
    asked: &Asked<'_>,
    parts: &[Part],
    notes: &mut Vec<String>,
) {
    for part in parts.iter().filter(|part| part.kind != PartKind::Members) {
        for edge in &part.joins {
            let note = note_lookup(names, asked, part, edge);
            notes.extend(note.filter(|note| !notes.contains(note)));
        }
    }
}

/// Without a match, a dimension from the look-up is NULL.
fn note_lookup(names: Names<'_>, asked: &Asked<'_>, part: &Part, edge: &Edge) -> Option<String> {
    let (from_there, others): (Vec<&Dimension>, Vec<&Dimension>) = asked
        .dimensions
        .iter()
        .partition(|dimension| dimension.node == edge.to);
    if from_there.is_empty() {
        return None;
    }
    let mut steps: Vec<(String, u8)> = Vec::new();
    let mut step = Some(edge);
    let mut is_complete = true;
    while let Some(edge) = step {
        is_complete &= always_matches(names, edge);
        let owner = if edge.from == part.home {
            String::new()
        } else {
            format!("{}.", names.node_name(edge.from))
        };
        let keys = edge
            .pairs
            .iter()
            .map(|(from, _)| format!("`{owner}{from}`"));
        steps.insert(
            0,
            (keys.collect::<Vec<_>>().join(", "), edge.counted.percent()),
        );
        step = part.joins.iter().find(|before| before.to == edge.from);
    }
    if is_complete {
        return None;
    }
    let become_of = if others.is_empty() {
        "count under NULL".to_owned()
    } else {
        let names: Vec<&str> = from_there.iter().map(|one| one.name.as_str()).collect();
        format!("have no `{}`", names.join("`, `"))
    };
    let (path, share) = told(&steps);
    Some(format!(
        "rows of `{}` whose {path} has no match in `{}` {become_of}{share}",
        names.node_name(part.home),
        names.node_name(edge.to)
    ))
}

fn told(steps: &[(String, u8)]) -> (String, String) {
    let share = |coverage: u8| match coverage {
        Counted::ALL.. => String::new(),
        coverage => format!(" ({} % of those with a key)", Counted::ALL - coverage),
    };
    match steps {
        [(keys, coverage)] => (keys.clone(), share(*coverage)),
        steps => {
            let each = steps.iter();
            let each = each.map(|(keys, coverage)| format!("{keys}{}", share(*coverage)));
            (each.collect::<Vec<_>>().join(", then "), String::new())
        }
    }
}

/// No row lacks the key, and the warehouse or a scan's counts prove the match.
fn always_matches(names: Names<'_>, edge: &Edge) -> bool {
    let is_counted = match edge.origin {
        JoinOrigin::Confirmed | JoinOrigin::Queried | JoinOrigin::Measured => {
            edge.counted.coverage.is_some()
        }
        JoinOrigin::Declared => {
            edge.counted.coverage.is_some() || names.dialect.enforces_foreign_keys()
        }
        JoinOrigin::Written | JoinOrigin::Named => false,
    };
    let source = names.source(edge.from).ok();
    let is_required = |column: &str| {
        let found = source.and_then(|source| source.column(column));
        found.is_some_and(|(_, column)| column.is_required)
    };
    // A one-to-one join does not say which side refers to the other.
    let is_referring = edge.relationship == Relationship::ManyToOne;
    let is_keyed =
        edge.counted.is_keyed || is_referring && edge.pairs.iter().all(|(own, _)| is_required(own));
    is_counted && edge.counted.percent() == Counted::ALL && is_keyed
}

pub(super) fn note_unproven(names: Names<'_>, parts: &[Part], notes: &mut Vec<String>) {
    for part in parts.iter().filter(|part| part.kind != PartKind::Members) {
        for edge in &part.joins {
            let Ok(found) = names.source(edge.to) else {
                continue;
            };
            if edge.grounds == Grounds::Known {
                continue;
            }
            let columns: Vec<&str> = edge.pairs.iter().map(|(_, to)| to.as_str()).collect();
            let note = format!(
                "the join from `{}` to `{}` is not verified: {}; if several rows match, numbers come out too \
                 high; check it with `ktx sl validate --live`",
                names.node_name(edge.from),
                names.node_name(edge.to),
                found.doubt_about(&columns)
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
}
