//! Links columns of views like those of the tables that they repeat.

use std::collections::{BTreeMap, BTreeSet};

use crate::composite::settle::accepted_single;
use crate::facts::Facts;
use crate::links::link::Link;
use crate::score::ScoredPair;
use crate::settings::RelationshipSettings;
use crate::types::ColumnId;

struct Lead {
    child: ColumnId,
    parent: ColumnId,
    covered: f64,
    odds: f64,
    strain: f64,
}

/// Uses the table that shares the most names with the view.
pub(super) fn favour_repeated(
    facts: &Facts<'_>,
    by_child: &mut BTreeMap<ColumnId, Vec<ScoredPair>>,
    declared: &[Link],
    settings: &RelationshipSettings,
) {
    if by_child.keys().all(|child| facts.is_included(*child)) {
        return;
    }
    let names = |table: usize| -> BTreeSet<String> {
        let columns = facts.table(table).into_iter();
        let columns = columns.flat_map(|table| &table.columns);
        columns
            .map(|column| column.column.name.to_lowercase())
            .collect()
    };
    let name = |at: ColumnId| Some(facts.column(at)?.column.name.to_lowercase());
    let declared = accepted_single(facts, declared.iter()).map(|(child, parent)| Lead {
        child,
        parent,
        covered: 1.0,
        odds: f64::INFINITY,
        strain: 0.0,
    });
    let tables = by_child
        .iter()
        .filter(|(child, _)| facts.is_included(**child));
    let inferred = tables.filter_map(|(child, rivals)| {
        let best = rivals
            .iter()
            .max_by(|left, right| left.rank().total_cmp(&right.rank()))?;
        (best.likelihood() >= settings.accept_threshold).then(|| Lead {
            child: *child,
            parent: best.parent,
            covered: best.evidence.covered(),
            odds: best.odds,
            strain: best.strain,
        })
    });
    let mut sure: BTreeMap<String, Vec<Lead>> = BTreeMap::new();
    for lead in inferred.chain(declared) {
        if let Some(name) = name(lead.child) {
            sure.entry(name).or_default().push(lead);
        }
    }
    for (child, rivals) in by_child
        .iter_mut()
        .filter(|(child, _)| !facts.is_included(**child))
    {
        let own = names(child.table);
        let shared = |lead: &&Lead| own.intersection(&names(lead.child.table)).count();
        let leads = name(*child).and_then(|name| sure.get(&name));
        let Some(lead) = leads.into_iter().flatten().max_by_key(shared) else {
            continue;
        };
        for rival in rivals.iter_mut() {
            if rival.parent == lead.parent
                && rival.evidence.covered() >= lead.covered
                && rival.odds < lead.odds
            {
                rival.odds = lead.odds;
                rival.strain = lead.strain;
                rival
                    .reasons
                    .push(format!("it repeats `{}`", facts.endpoint(lead.child)));
            }
        }
    }
}
