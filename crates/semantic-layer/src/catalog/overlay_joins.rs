//! Joins of overlays: each changes, names or excludes a scanned join.

use std::collections::BTreeMap;

use ktx_sql::Dialect;

use super::back_joins::is_scanned;
use super::resolve;
use crate::model::authored::{Found, Join, JoinSource, Overlay, OverlayJoin};
use crate::model::composed::{Composed, Element, Misfit};

#[derive(Default)]
pub(super) struct Settled {
    pub(super) joins: Vec<Join>,
    pub(super) excluded: Vec<Join>,
    /// Excluded joins that the scan no longer has.
    pub(super) gone: Vec<Misfit>,
}

/// Fails for a join that neither the overlay nor the scan describes.
pub(super) fn settle(
    tables: &BTreeMap<String, Composed>,
    overlay: &Overlay,
    dialect: Dialect,
) -> Result<Settled, Misfit> {
    let mut settled = Settled::default();
    let Some(base) = tables.get(&overlay.name) else {
        return Ok(settled);
    };
    for (at, written) in overlay.joins.iter().enumerate() {
        let element = Element::entry("joins", at);
        let beside = Beside {
            base,
            written,
            dialect,
        };
        if written.exclude == Some(true) {
            beside
                .check_exclusion()
                .map_err(|message| Misfit { message, element })?;
            let found = beside.scanned();
            if found.is_empty() {
                let message = beside.unknown();
                settled.gone.push(Misfit { message, element });
            }
            settled.excluded.extend(found.into_iter().cloned());
        } else {
            let join = beside
                .completed()
                .map_err(|message| Misfit { message, element })?;
            settled.joins.push(join);
        }
    }
    Ok(settled)
}

struct Beside<'a> {
    base: &'a Composed,
    written: &'a OverlayJoin,
    dialect: Dialect,
}

impl<'a> Beside<'a> {
    fn check_exclusion(&self) -> Result<(), String> {
        let extra: [Option<&str>; 4] = [
            self.written.relationship.map(|_| "relationship"),
            self.written.alias.as_ref().map(|_| "alias"),
            self.written.source.map(|_| "source"),
            self.written.weight.as_ref().map(|_| "weight"),
        ];
        match extra.into_iter().flatten().next() {
            None => Ok(()),
            Some(key) => Err(format!(
                "a join with `exclude: true` has `to` and `on` only: take `{key}` out, or `exclude`"
            )),
        }
    }

    fn known(&self) -> impl Iterator<Item = &'a Join> {
        let joins = self.base.source.joins.iter();
        joins.filter(|join| join.to == self.written.to && join.alias.is_none())
    }

    /// Matches by condition, else by source.
    fn scanned(&self) -> Vec<&'a Join> {
        let Some(on) = &self.written.on else {
            return self.known().collect();
        };
        let own = self.base.source.name.as_str();
        let written = Join {
            on: on.clone(),
            ..self.join(
                String::new(),
                crate::model::authored::Relationship::ManyToOne,
            )
        };
        let Ok(wanted) = resolve::condition(own, &written, self.dialect) else {
            return Vec::new();
        };
        let is_meant = |join: &&Join| {
            resolve::condition(own, join, self.dialect).is_ok_and(|pairs| is_same(&pairs, &wanted))
        };
        self.known().filter(is_meant).collect()
    }

    fn completed(&self) -> Result<Join, String> {
        let scanned = self.scanned();
        let on = match (&self.written.on, scanned.as_slice()) {
            (Some(on), _) => on.clone(),
            (None, [only]) => only.on.clone(),
            (None, []) => return Err(self.unknown()),
            (None, several) => {
                return Err(format!(
                    "several scanned joins lead to `{}`: say which one with `on`: {}",
                    self.written.to,
                    conditions(several)
                ));
            }
        };
        let only = match scanned.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let relationship = self
            .written
            .relationship
            .or_else(|| only.map(|join| join.relationship));
        let Some(relationship) = relationship else {
            return Err(format!(
                "{}; a join that the scan does not have needs `relationship`",
                self.unknown()
            ));
        };
        let found = only.map(|join| join.found.clone());
        Ok(Join {
            found: found.unwrap_or_default(),
            ..self.join(on, relationship)
        })
    }

    fn join(&self, on: String, relationship: crate::model::authored::Relationship) -> Join {
        Join {
            to: self.written.to.clone(),
            on,
            relationship,
            alias: self.written.alias.clone(),
            source: self.written.source,
            weight: self.written.weight.clone(),
            found: Found::default(),
        }
    }

    fn unknown(&self) -> String {
        let to = &self.written.to;
        let missing = match &self.written.on {
            Some(on) => format!("no scanned join `{on}` leads to `{to}`"),
            None => format!("no scanned join leads to `{to}`"),
        };
        let known: Vec<&Join> = self.known().collect();
        if !known.is_empty() {
            return format!("{missing}; those there are {}", conditions(&known));
        }
        let mut others: Vec<&str> = self
            .base
            .source
            .joins
            .iter()
            .map(|join| join.to.as_str())
            .collect();
        others.sort_unstable();
        others.dedup();
        match others.as_slice() {
            [] => missing,
            others => format!(
                "{missing}; scanned joins of `{}` lead to `{}`",
                self.base.source.name,
                others.join("`, `")
            ),
        }
    }
}

fn conditions(joins: &[&Join]) -> String {
    let shown: Vec<String> = joins.iter().map(|join| format!("`{}`", join.on)).collect();
    shown.join(", ")
}

fn is_same(one: &[(String, String)], other: &[(String, String)]) -> bool {
    one.len() == other.len() && one.iter().all(|pair| other.contains(pair))
}

/// Removes scanned joins from both tables.
pub(super) fn exclude(
    tables: &mut BTreeMap<String, Composed>,
    (name, excluded): (&str, &[Join]),
    dialect: Dialect,
) {
    for join in excluded {
        let Ok(pairs) = resolve::condition(name, join, dialect) else {
            continue;
        };
        let turned: Vec<(String, String)> = pairs
            .iter()
            .map(|(near, far)| (far.clone(), near.clone()))
            .collect();
        for (from, to, pairs) in [
            (name, join.to.as_str(), &pairs),
            (join.to.as_str(), name, &turned),
        ] {
            let Some(table) = tables.get_mut(from) else {
                continue;
            };
            table.source.joins.retain(|other| {
                // At its own table, only the scan and imports have added joins so far.
                let is_removable = is_scanned(other) || (from == name && other.alias.is_none());
                let is_it = is_removable
                    && other.to == to
                    && resolve::condition(from, other, dialect)
                        .is_ok_and(|found| is_same(&found, pairs));
                !is_it
            });
        }
    }
}

/// Removes inferred joins that the user also writes; keeps their measurements.
pub(super) fn confirm(base: &mut Composed, written: &[Join], dialect: Dialect) {
    let name = base.source.name.clone();
    for own in written.iter().filter(|join| join.alias.is_none()) {
        let Ok(pairs) = resolve::condition(&name, own, dialect) else {
            continue;
        };
        base.source.joins.retain(|join| {
            let is_it = join.source == Some(JoinSource::Inferred)
                && join.alias.is_none()
                && join.to == own.to
                && join.relationship == own.relationship
                && resolve::condition(&name, join, dialect)
                    .is_ok_and(|found| is_same(&found, &pairs));
            !is_it
        });
    }
}
