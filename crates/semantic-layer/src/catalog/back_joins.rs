//! Adds the reverse direction of scanned joins, which a scan writes on one side only.

use std::collections::BTreeMap;

use ktx_sql::Dialect;
use sqlparser::ast::{BinaryOperator, Expr};

use super::resolve;
use crate::model::authored::{Join, JoinSource};
use crate::model::composed::Composed;
use crate::sql::expression;

pub(super) fn complete(tables: &mut BTreeMap<String, Composed>, dialect: Dialect) -> bool {
    let mut missing: Vec<(String, Join)> = Vec::new();
    for (name, table) in &*tables {
        for join in &table.source.joins {
            if !is_scanned(join) || join.to == *name {
                continue;
            }
            let Some(target) = tables.get(&join.to) else {
                continue;
            };
            let Some(on) = mirrored(&join.on, dialect) else {
                continue;
            };
            let mut known = target.source.joins.iter().filter(|known| known.to == *name);
            let own = JoinSide { table: name, join };
            let is_known = known.any(|known| {
                let far = JoinSide {
                    table: &join.to,
                    join: known,
                };
                known.on == on || is_mirrored(far, own, dialect)
            });
            if !is_known {
                let back = Join {
                    to: name.clone(),
                    on,
                    relationship: join.relationship.inverted(),
                    ..join.clone()
                };
                missing.push((join.to.clone(), back));
            }
        }
    }
    let has_added = !missing.is_empty();
    for (name, join) in missing {
        if let Some(table) = tables.get_mut(&name) {
            table.source.joins.push(join);
            sort(&mut table.source.joins);
        }
    }
    has_added
}

pub(super) fn is_scanned(join: &Join) -> bool {
    let by_scan = matches!(join.source, Some(JoinSource::Formal | JoinSource::Inferred));
    by_scan && join.alias.is_none()
}

#[derive(Clone, Copy)]
struct JoinSide<'a> {
    table: &'a str,
    join: &'a Join,
}

fn is_mirrored(one: JoinSide<'_>, other: JoinSide<'_>, dialect: Dialect) -> bool {
    let pairs = |side: JoinSide<'_>| resolve::condition(side.table, side.join, dialect).ok();
    let (Some(one), Some(other)) = (pairs(one), pairs(other)) else {
        return false;
    };
    let is_there =
        |(left, right): &(String, String)| other.contains(&(right.clone(), left.clone()));
    one.len() == other.len() && one.iter().all(is_there)
}

fn mirrored(on: &str, dialect: Dialect) -> Option<String> {
    let tree = expression::parse(on, dialect).ok()?;
    let clauses = expression::conjuncts(tree).into_iter().map(|clause| {
        let clause = match clause {
            Expr::Nested(inner) => *inner,
            clause => clause,
        };
        match clause {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => Some(format!("{right} = {left}")),
            _ => None,
        }
    });
    let clauses: Option<Vec<String>> = clauses.collect();
    Some(clauses?.join(" AND "))
}

/// Sorts joins as a scan does: hand-written, then declared, then inferred.
fn sort(joins: &mut [Join]) {
    let rank = |join: &Join| match join.source {
        Some(JoinSource::Formal) => 1,
        Some(JoinSource::Inferred) => 2,
        Some(JoinSource::Manual) | None => 0,
    };
    joins.sort_by(|one, other| {
        let by_rank = rank(one).cmp(&rank(other));
        if rank(one) == 0 {
            return by_rank;
        }
        by_rank.then_with(|| (&one.to, &one.on).cmp(&(&other.to, &other.on)))
    });
}
