//! Tests of keys: grains and joins.

use sqlparser::ast::{BinaryOperator, Expr};

use super::{Expectation, OnePart, Scope, SelfTest, SelfTestKind, own_rows, with};
use crate::catalog::graph::NodeId;
use crate::model::authored::Relationship;
use crate::model::error::QueryError;
use crate::model::resolved::{Join, Source};
use crate::names::Names;
use crate::sql::expression::nested;
use crate::sql::sql_text::identifier;

pub(super) fn tests(names: Names<'_>, source: &Source, scope: Scope) -> Vec<SelfTest> {
    let mut tests: Vec<SelfTest> = Vec::new();
    let claim = format!("{}: one row per {}", source.name, source.grain.join(", "));
    let grain = Claim {
        name: claim,
        source,
        kind: SelfTestKind::GrainUnique,
    };
    let Some(own) = names.graph.node_id(&source.name) else {
        return tests;
    };
    tests.extend(grain.unique(names, own, &source.grain));
    for join in &source.joins {
        tests.extend(join_tests(names, (source, own), join, scope));
    }
    tests
}

struct Claim<'a> {
    name: String,
    source: &'a Source,
    kind: SelfTestKind,
}

impl Claim<'_> {
    fn test(self, sql: String, expectation: Expectation) -> SelfTest {
        SelfTest {
            name: self.name,
            source: self.source.name.clone(),
            kind: self.kind,
            sql,
            expectation,
        }
    }

    /// A grain must also distinguish rows without keys; a join never finds them.
    fn unique(self, names: Names<'_>, node: NodeId, keys: &[String]) -> Option<SelfTest> {
        let part =
            sound(own_rows(names, node, keys, Vec::new()).and_then(|plan| OnePart::of(&plan)))?;
        let mut conditions = vec![format!("{} > 1", part.value)];
        if self.kind != SelfTestKind::GrainUnique {
            conditions.extend(
                part.dimensions
                    .iter()
                    .map(|key| format!("{key} IS NOT NULL")),
            );
        }
        let select = format!(
            "SELECT COUNT(*) AS repeated_keys\nFROM {}\nWHERE {}",
            identifier(names.dialect, &part.name),
            conditions.join(" AND ")
        );
        let mut tables = part.lifted;
        tables.push((part.name, part.sql));
        Some(self.test(with(names.dialect, &tables, &select), Expectation::Zero))
    }

    fn present(self, names: Names<'_>, node: NodeId, keys: &[String]) -> Option<SelfTest> {
        let missing = sound(missing(names, node, keys).map(Some))?;
        let part =
            sound(own_rows(names, node, &[], vec![missing]).and_then(|plan| OnePart::of(&plan)))?;
        let select = format!(
            "SELECT {} AS missing_keys\nFROM {}",
            part.value,
            identifier(names.dialect, &part.name)
        );
        let mut tables = part.lifted;
        tables.push((part.name, part.sql));
        Some(self.test(
            with(names.dialect, &tables, &select),
            Expectation::ZeroOrWarning,
        ))
    }
}

/// The validator reports what does not compile.
fn sound<T>(compiled: Result<Option<T>, QueryError>) -> Option<T> {
    compiled.unwrap_or_default()
}

fn missing(names: Names<'_>, node: NodeId, keys: &[String]) -> Result<Expr, QueryError> {
    let mut all: Option<Expr> = None;
    for key in keys {
        let clause = Expr::IsNull(Box::new(nested(names.own_column(node, key)?)));
        all = Some(match all {
            None => clause,
            Some(left) => Expr::BinaryOp {
                left: Box::new(left),
                op: BinaryOperator::Or,
                right: Box::new(clause),
            },
        });
    }
    all.ok_or_else(|| {
        QueryError::new(
            crate::model::error::ErrorKind::InvalidJoinCondition,
            "the join has no condition",
        )
    })
}

fn join_tests(
    names: Names<'_>,
    (source, own): (&Source, NodeId),
    join: &Join,
    scope: Scope,
) -> Vec<SelfTest> {
    let Some(target) = names.graph.node_id(&join.to) else {
        return Vec::new();
    };
    let local: Vec<String> = join.pairs.iter().map(|(local, _)| local.clone()).collect();
    let remote: Vec<String> = join
        .pairs
        .iter()
        .map(|(_, remote)| remote.clone())
        .collect();
    let here = (source.name.as_str(), own, &local);
    let there = (join.to.as_str(), target, &remote);
    let (looking, found) = match join.relationship {
        Relationship::ManyToOne => (here, vec![there]),
        Relationship::OneToMany => (there, vec![here]),
        Relationship::OneToOne => (here, vec![there, here]),
    };
    let label = format!(
        "{} -> {}",
        source.name,
        join.alias.as_deref().unwrap_or(&join.to)
    );
    let mut tests = Vec::new();
    for (name, node, keys) in found {
        let is_grain = names
            .source(node)
            .is_ok_and(|found| same_keys(&found.grain, keys));
        if is_grain && (node == own || scope == Scope::Everything) {
            continue;
        }
        let claim = Claim {
            name: format!("{label}: at most one row of {name} per {}", keys.join(", ")),
            source,
            kind: SelfTestKind::JoinTargetUnique,
        };
        tests.extend(claim.unique(names, node, keys));
    }
    let (name, node, keys) = looking;
    let claim = Claim {
        name: format!("{label}: every row of {name} has {}", keys.join(", ")),
        source,
        kind: SelfTestKind::JoinKeysPresent,
    };
    tests.extend(claim.present(names, node, keys));
    tests
}

fn same_keys(left: &[String], right: &[String]) -> bool {
    let sorted = |keys: &[String]| {
        let mut keys = keys.to_vec();
        keys.sort();
        keys
    };
    sorted(left) == sorted(right)
}
