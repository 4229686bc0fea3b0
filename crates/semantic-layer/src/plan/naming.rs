//! Names result columns: short if possible, always unambiguous.

use super::{Dimension, PlannedMeasure};
use crate::names::Names;
use crate::names::query::{Others, Query, Totals};

/// Keeps names given by the query.
pub(super) fn assign(
    names: Names<'_>,
    dimensions: &mut [Dimension],
    measures: &mut [PlannedMeasure],
) {
    let mut taken: Vec<String> = measures
        .iter()
        .filter(|one| !one.name.is_empty())
        .map(|one| one.name.to_lowercase())
        .collect();
    let short: Vec<String> = dimensions
        .iter()
        .map(|one| with_unit(&one.column, one))
        .collect();
    for (at, dimension) in dimensions.iter_mut().enumerate() {
        let own = with_unit(&dimension.column, dimension);
        let collides = short
            .iter()
            .enumerate()
            .any(|(other, name)| other != at && name.eq_ignore_ascii_case(&own));
        let node = names.node_name(dimension.node);
        let node = match node.split_once(" via ") {
            Some(_) => node.replace(", ", "_").replace(' ', "_"),
            None => node.to_owned(),
        };
        let qualified = format!("{node}_{}", dimension.column);
        let wanted = if collides {
            with_unit(&qualified, dimension)
        } else {
            own
        };
        dimension.name = unique(wanted, &with_unit(&qualified, dimension), &mut taken);
    }
    let plain: Vec<Option<String>> = measures
        .iter()
        .map(|one| {
            one.predefined
                .as_ref()
                .filter(|_| one.name.is_empty())
                .map(|(_, name)| name.to_lowercase())
        })
        .collect();
    for (at, measure) in measures.iter_mut().enumerate() {
        if !measure.name.is_empty() {
            continue;
        }
        let (wanted, second) = if let Some((node, name)) = &measure.predefined {
            let lowered = name.to_lowercase();
            let same = |(other, known): (usize, &Option<String>)| {
                other != at && *known == Some(lowered.clone())
            };
            let collides = plain.iter().enumerate().any(same);
            let qualified = format!("{}_{name}", names.node_name(*node));
            (
                if collides {
                    qualified.clone()
                } else {
                    name.clone()
                },
                qualified,
            )
        } else {
            let text = sanitized(&measure.reference);
            (text.clone(), text)
        };
        measure.name = unique(wanted, &second, &mut taken);
    }
}

pub(super) fn mark(
    query: &Query,
    dimensions: &[Dimension],
    measures: &[PlannedMeasure],
) -> Option<String> {
    if query.totals == Totals::LeaveOut && query.others == Others::LeaveOut {
        return None;
    }
    let dimensions = dimensions.iter().map(|one| one.name.to_lowercase());
    let measures = measures.iter().map(|one| one.name.to_lowercase());
    let mut taken: Vec<String> = dimensions.chain(measures).collect();
    Some(unique(MARK.to_owned(), MARK, &mut taken))
}

const MARK: &str = "total_over";

fn with_unit(name: &str, dimension: &Dimension) -> String {
    match dimension.unit {
        Some(unit) => format!("{name}_{}", unit.name()),
        None => name.to_owned(),
    }
}

pub(crate) fn unique(wanted: String, second: &str, taken: &mut Vec<String>) -> String {
    let is_free = |name: &str, taken: &[String]| !taken.contains(&name.to_lowercase());
    let mut name = if is_free(&wanted, taken) {
        wanted
    } else {
        second.to_owned()
    };
    let mut number = 2;
    while !is_free(&name, taken) {
        name = format!("{second}_{number}");
        number += 1;
    }
    taken.push(name.to_lowercase());
    name
}

/// Converts an expression to lower-case words joined by underscores.
pub(crate) fn sanitized(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for letter in text.to_lowercase().chars() {
        if letter.is_alphanumeric() {
            name.push(letter);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let name: String = name.trim_matches('_').chars().take(120).collect();
    if name.is_empty() {
        "measure".to_owned()
    } else {
        name
    }
}
