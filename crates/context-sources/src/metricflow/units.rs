//! Groups the files of a MetricFlow project into units by the dependencies of their semantic models
//! and metrics.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::{Mapping, Value};

use super::{BESIDE, SUBJECTS, holds};
use crate::grouping::{free, runs, shorten, slug};
use crate::snapshot::{Snapshot, Unit};
use crate::yaml::{mapping, maps, plain, text};

const NOTE: &str = "The files are YAML of MetricFlow. A measure aggregates its `expr`, or the column of its name without one, with \
its `agg`. A metric refers to measures or other metrics by name, and its filters narrow it: \
`{{ Dimension('entity__name') }}` is the dimension `name` of the semantic model of that entity. ktx has imported the \
metrics that it could translate: `sl_read_source` of a table shows them. Write none of those again. Describe a \
conversion metric on a page.";

const REFERRING: [&str; 16] = [
    "measure",
    "measures",
    "metric",
    "metrics",
    "numerator",
    "denominator",
    "input_measure",
    "input_measures",
    "input_metric",
    "input_metrics",
    "base_measure",
    "conversion_measure",
    "base_metric",
    "conversion_metric",
    "period_agg_metric",
    "order_by_metric",
];

#[derive(Default)]
struct DefinedNames {
    lead: Option<(bool, String)>,
    defined: BTreeSet<String>,
    referred: BTreeSet<String>,
}

pub fn units(snapshot: &Snapshot) -> Vec<Unit> {
    let is_read = |(path, text): &(&String, &String)| {
        holds(path, text, &SUBJECTS) || holds(path, text, &[BESIDE[1]])
    };
    let files: Vec<(&String, DefinedNames)> = snapshot
        .files
        .iter()
        .filter(is_read)
        .map(|(path, body)| (path, names(path, body)))
        .collect();
    let mut definers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, (_, names)) in files.iter().enumerate() {
        for name in &names.defined {
            definers.entry(name).or_default().push(index);
        }
    }
    let needed: Vec<BTreeSet<usize>> = files
        .iter()
        .map(|(_, names)| {
            let found = names.referred.iter();
            let found = found.filter_map(|name| definers.get(name.as_str()));
            found.flatten().copied().collect()
        })
        .collect();
    let mut keys = BTreeSet::new();
    let mut units = Vec::new();
    for members in components(&needed) {
        let lead = members.iter().filter_map(|at| files[*at].1.lead.as_ref());
        let lead = lead.min().map_or("all", |(_, name)| name.as_str());
        let wanted = slug("metricflow", lead);
        let paths = |of: &mut dyn Iterator<Item = usize>| -> Vec<String> {
            of.map(|at| files[at].0.clone()).collect()
        };
        let own = paths(&mut members.iter().copied());
        for part in runs(snapshot, own.iter().cloned()) {
            let is_in = |at: &usize| part.contains(files[*at].0);
            let builds_on = members.iter().filter(|at| is_in(at));
            let builds_on: BTreeSet<usize> = builds_on
                .flat_map(|at| needed[*at].iter().copied())
                .filter(|at| !is_in(at))
                .collect();
            let dependencies = paths(&mut builds_on.into_iter());
            let is_other = |path: &&String| !part.contains(path) && !dependencies.contains(path);
            let mut unit = Unit {
                key: free(&mut keys, &wanted),
                label: None,
                note: Some(NOTE),
                writes_sources: true,
                peers: own.iter().filter(is_other).cloned().collect(),
                dependencies,
                files: part,
            };
            shorten(&mut unit, snapshot);
            units.push(unit);
        }
    }
    units
}

fn root(group: &[usize], mut at: usize) -> usize {
    while group[at] != at {
        at = group[at];
    }
    at
}

fn components(needed: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..needed.len()).collect();
    for (at, others) in needed.iter().enumerate() {
        for other in others {
            let (left, right) = (root(&group, at), root(&group, *other));
            group[left.max(right)] = left.min(right);
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..needed.len() {
        members.entry(root(&group, at)).or_default().push(at);
    }
    members.into_values().collect()
}

fn names(path: &str, body: &str) -> DefinedNames {
    let mut found = DefinedNames::default();
    let Ok(map) = mapping(path, body) else {
        return found;
    };
    let mut leads: Vec<(bool, String)> = Vec::new();
    for model in maps(&map, "semantic_models") {
        leads.extend(text(model, "name").map(|name| (false, name)));
        for measure in maps(model, "measures") {
            found.defined.extend(text(measure, "name"));
        }
    }
    for metric in maps(&map, "metrics") {
        leads.extend(text(metric, "name").map(|name| (true, name)));
        found.defined.extend(text(metric, "name"));
        refer(metric, &mut found.referred);
    }
    for query in maps(&map, "saved_queries") {
        refer(query, &mut found.referred);
    }
    leads.sort();
    found.lead = leads.into_iter().next();
    found
}

fn refer(map: &Mapping, found: &mut BTreeSet<String>) {
    for (key, value) in map {
        let role = match key.as_str() {
            Some(key) if REFERRING.contains(&key) => KeyRole::Refers,
            _ => KeyRole::Other,
        };
        visit(value, role, found);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyRole {
    Refers,
    Other,
}

fn visit(value: &Value, role: KeyRole, found: &mut BTreeSet<String>) {
    match value {
        Value::Mapping(map) => {
            if role == KeyRole::Refers {
                found.extend(text(map, "name"));
            }
            refer(map, found);
        }
        Value::Sequence(list) => {
            for item in list {
                visit(item, role, found);
            }
        }
        value => {
            let Some(text) = plain(value) else { return };
            for part in text.split("Metric(").skip(1) {
                let part = part.trim_start();
                let quote = part.chars().next().filter(|letter| "'\"".contains(*letter));
                let inner = quote.and_then(|quote| part.get(1..)?.split_once(quote));
                found.extend(inner.map(|(name, _)| name.to_owned()));
            }
            if role == KeyRole::Refers {
                found.insert(text);
            }
        }
    }
}
