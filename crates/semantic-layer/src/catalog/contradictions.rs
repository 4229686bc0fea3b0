//! Joins of overlays and imports replace scanned joins, on both sides.

use std::collections::BTreeMap;

use ktx_sql::Dialect;

use super::back_joins::is_scanned;
use super::resolve::{self, Flaw};
use crate::catalog::places::Spot;
use crate::model::authored::{Join, JoinSource, Relationship};
use crate::model::composed::Composed;
use crate::model::error::ErrorKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Person,
    /// Only inferred one-to-one joins: an import can only make fewer queries safe.
    ContextSource,
}

impl Author {
    fn may_replace(self, known: &Join) -> bool {
        let is_guess = known.source == Some(JoinSource::Inferred)
            && known.relationship == Relationship::OneToOne;
        self == Self::Person || is_guess
    }
}

/// Removes scanned joins on the same columns with another relationship, and reports each.
pub(super) fn replace(
    tables: &mut BTreeMap<String, Composed>,
    (name, joins): (&str, &mut Vec<Join>),
    author: Author,
    dialect: Dialect,
) -> Vec<Flaw> {
    let mut replaced = Vec::new();
    let mut plain = Vec::new();
    for join in joins.iter() {
        let Ok(pairs) = resolve::condition(name, join, dialect) else {
            continue;
        };
        let mirrored: Vec<(String, String)> = pairs
            .iter()
            .map(|(near, far)| (far.clone(), near.clone()))
            .collect();
        let back = join.relationship.inverted();
        let here = take(
            tables,
            (name, &join.to),
            |found, known| {
                known.relationship != join.relationship
                    && author.may_replace(known)
                    && is_same(found, &pairs)
            },
            dialect,
        );
        let there = take(
            tables,
            (&join.to, name),
            |found, known| {
                known.relationship != back && author.may_replace(known) && is_same(found, &mirrored)
            },
            dialect,
        );
        let there = there.map(|mut known| {
            known.relationship = known.relationship.inverted();
            known
        });
        if let Some(known) = here.or(there) {
            if join.alias.is_some() {
                plain.push(Join {
                    alias: None,
                    ..join.clone()
                });
            }
            replaced.push(Flaw {
                kind: ErrorKind::ReplacedJoin,
                message: format!(
                    "join `{}` says {} and replaces the scanned join to `{}`, which says {}",
                    join.on,
                    join.relationship.name(),
                    join.to,
                    known.relationship.name()
                ),
                spot: Spot::Join {
                    to: join.to.clone(),
                    alias: join.alias.clone(),
                    on: join.on.clone(),
                },
                is_warning: true,
            });
        }
    }
    joins.extend(plain);
    replaced
}

fn take(
    tables: &mut BTreeMap<String, Composed>,
    (from, to): (&str, &str),
    is_meant: impl Fn(&[(String, String)], &Join) -> bool,
    dialect: Dialect,
) -> Option<Join> {
    let joins = &mut tables.get_mut(from)?.source.joins;
    let is_it = |join: &Join| {
        is_scanned(join)
            && join.to == to
            && resolve::condition(from, join, dialect).is_ok_and(|found| is_meant(&found, join))
    };
    let first = joins.iter().find(|join| is_it(join)).cloned();
    joins.retain(|join| !is_it(join));
    first
}

fn is_same(one: &[(String, String)], other: &[(String, String)]) -> bool {
    one.len() == other.len() && one.iter().all(|pair| other.contains(pair))
}
