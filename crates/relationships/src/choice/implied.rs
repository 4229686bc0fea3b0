//! Implied links, and what would disprove the accepted ones.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;

use crate::composite::names_own_rows;
use crate::facts::Facts;
use crate::links::link::{Endpoint, Link, Origin, Status};
use crate::weights as w;

/// Marks a single-column link as implied if a multi-column link reaches the same table for all rows
/// through a part of it, such as order lines. A user is not a part: a task belongs to the tenant
/// and to its user.
pub fn mark_implied(facts: &Facts<'_>, links: &mut [Link]) {
    let single: BTreeMap<(TableRef, String), (Endpoint, f64)> = links
        .iter()
        .filter(|link| link.status == Status::Accepted && link.from.columns.len() == 1)
        .filter_map(|link| {
            Some((
                (link.from.table.clone(), link.from.columns.first()?.clone()),
                (link.to.clone(), link.evidence.covered()),
            ))
        })
        .collect();
    let mut implied: BTreeSet<(TableRef, String)> = BTreeSet::new();
    for wide in links
        .iter()
        .filter(|link| link.status == Status::Accepted && link.from.columns.len() > 1)
        .filter(|link| facts.is_filled(&link.from))
    {
        for (child, parent) in wide.from.columns.iter().zip(&wide.to.columns) {
            let own = single.get(&(wide.from.table.clone(), child.clone()));
            let far = single.get(&(wide.to.table.clone(), parent.clone()));
            if let (Some((own, covered)), Some((far, _))) = (own, far)
                && own == far
                && wide.evidence.covered() >= *covered - w::IMPLIED.get()
                && !names_own_rows(facts, &wide.to, parent)
            {
                implied.insert((wide.from.table.clone(), child.clone()));
            }
        }
    }
    for link in links
        .iter_mut()
        .filter(|link| link.origin != Origin::Formal && link.status == Status::Accepted)
    {
        let [column] = link.from.columns.as_slice() else {
            continue;
        };
        if implied.contains(&(link.from.table.clone(), column.clone())) {
            link.status = Status::Implied;
            link.reasons
                .push("a link over several columns leads there for all of its rows".to_owned());
        }
    }
}

pub fn tell_disproof(links: &mut [Link]) {
    let inferred = |link: &&mut Link| {
        link.origin != Origin::Formal && matches!(link.status, Status::Accepted | Status::Implied)
    };
    for link in links.iter_mut().filter(inferred) {
        let complete = link.evidence.coverage.is_some_and(|share| share >= 1.0);
        let more = if complete { "values" } else { "more values" };
        link.reasons.push(format!(
            "{more} of `{}` that `{}` lacks would disprove it",
            link.from, link.to
        ));
    }
}
