//! Resolves names in the expressions of queries and measures.

use sqlparser::ast::{Expr, Function};

use super::Evaluator;
use crate::model::error::{ErrorKind, QueryError};
use crate::names::bound::Meaning;
use crate::names::{MeasureAt, Names, Scope};
use crate::plan::formulas::SnapshotTrees;
use crate::plan::refusals::no_measure;
use crate::sql::expression::whole;

pub(super) struct InQuery<'e, 'a> {
    pub(super) evaluator: &'e mut Evaluator<'a>,
    /// Its own name has another meaning within it.
    pub(super) own: Option<usize>,
}

impl Meaning for InQuery<'_, '_> {
    fn outside(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        let names = self.evaluator.names;
        if let [name] = parts
            && let Some(at) = self.evaluator.named_request(name)
            && (Some(at) != self.own || names.known_measure(parts).is_none())
        {
            return self.evaluator.request(at).map(whole);
        }
        if let Some(at) = names.measure(parts)? {
            return self.evaluator.predefined(at, &[]);
        }
        Err(no_measure(names, parts))
    }

    fn inside(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        let names = self.evaluator.names;
        names
            .column(parts, Scope::QueryAggregate)
            .map_err(|error| measure_in_aggregate(names, parts, error))
    }

    fn aggregate(&mut self, call: Function) -> Result<Expr, QueryError> {
        self.evaluator.atom(&call, None, &[], None)
    }
}

fn measure_in_aggregate(names: Names<'_>, parts: &[&str], error: QueryError) -> QueryError {
    let is_measure = error.kind == ErrorKind::UnknownColumn
        && names.measure(parts).is_ok_and(|found| found.is_some());
    if !is_measure {
        return error;
    }
    let name = parts.join(".");
    let message = format!("measure `{name}` inside an aggregate; a measure aggregates by itself");
    QueryError::new(ErrorKind::NestedAggregate, message)
        .about(&name)
        .suggest([name])
}

pub(in crate::plan) struct InSource<'e, 'a> {
    pub(in crate::plan) evaluator: &'e mut Evaluator<'a>,
    pub(in crate::plan) at: MeasureAt<'a>,
    pub(in crate::plan) filters: Vec<Expr>,
    pub(in crate::plan) snapshot: Option<SnapshotTrees>,
}

impl Meaning for InSource<'_, '_> {
    fn outside(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        let names = self.evaluator.names;
        let source = names.source(self.at.node)?;
        let own = match parts {
            [name] => source.measure(name),
            [front, name] if *front == source.name => source.measure(name),
            _ => None,
        };
        let found = match own {
            Some(measure) => Some(MeasureAt {
                node: self.at.node,
                measure,
            }),
            // A bare name can mean a column here and a measure elsewhere.
            None if parts.len() == 1 && names.is_column(parts) => None,
            None => names.measure(parts)?,
        };
        match found {
            Some(_) if self.snapshot.is_some() => {
                let message = format!(
                    "`semi_additive` goes with an aggregate of its own, not with the measure `{}`",
                    parts.join(".")
                );
                Err(QueryError::new(ErrorKind::BadSnapshot, message).about(parts.join(".")))
            }
            Some(at) => self.evaluator.predefined(at, &self.filters.clone()),
            None => Err(no_measure(names, parts)),
        }
    }

    fn inside(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        self.evaluator
            .names
            .column(parts, Scope::Source(self.at.node))
    }

    fn aggregate(&mut self, call: Function) -> Result<Expr, QueryError> {
        let filters = self.filters.clone();
        let snapshot = self.snapshot.clone();
        self.evaluator
            .atom(&call, Some(self.at.node), &filters, snapshot.as_ref())
    }
}
