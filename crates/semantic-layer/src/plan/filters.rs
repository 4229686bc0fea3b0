//! Classifies filters: on rows or on groups.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, VisitorMut};

use super::atoms::Evaluator;
use super::group_functions::is_marker;
use super::levels::GroupFilters;
use crate::catalog::graph::NodeId;
use crate::model::error::{ErrorKind, QueryError};
use crate::names::bound::{self, Meaning};
use crate::names::query::Query;
use crate::names::{Names, Scope, aggregates, times};
use crate::sql::expression::{self, conjuncts};

#[derive(Debug, Clone)]
pub(crate) struct RowFilter {
    pub(crate) text: String,
    pub(crate) tree: Expr,
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) sees: Sees,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sees {
    Rows,
    Periods,
}

/// Text as requested, and tree over atoms.
pub(crate) type GroupFilter = (String, Expr);

pub(super) fn classify(
    evaluator: &mut Evaluator<'_>,
    query: &Query,
    groups_apply: GroupFilters,
) -> Result<(Vec<RowFilter>, Vec<GroupFilter>), QueryError> {
    let mut rows = Vec::new();
    let mut groups = Vec::new();
    for text in &query.filters {
        let tree = evaluator.names.parse(text, None)?;
        for mut clause in conjuncts(tree) {
            let names = evaluator.names;
            let shown = readable(&clause);
            names.write_constants(&mut clause)?;
            evaluator.mark_group_functions(&mut clause)?;
            let (has_measure, has_column) = sides(evaluator, &clause)?;
            match (has_measure, has_column) {
                (true, true) => {
                    // Names are reported before their combination.
                    evaluator.query_tree_in_filter(clause)?;
                    let message = format!("`{shown}` mixes measures and columns in one clause");
                    return Err(
                        QueryError::new(ErrorKind::MixedOrFilter, message).about(text.as_str())
                    );
                }
                (true, false) if groups_apply == GroupFilters::Ignore => {}
                (true, false) => groups.push((shown, evaluator.query_tree(clause, None)?)),
                (false, _) => {
                    let tree = bound::bind_rows(clause, names.dialect, &mut |parts| {
                        names.column(parts, Scope::QueryFilter)
                    })
                    .and_then(|tree| times::of_rows(tree, names))
                    .map_err(|error| QueryError {
                        offending: error.offending.or_else(|| Some(shown.clone())),
                        ..error
                    })?;
                    let nodes = bound::nodes(&tree);
                    rows.push(RowFilter {
                        text: shown,
                        tree,
                        nodes,
                        sees: Sees::Rows,
                    });
                }
            }
        }
    }
    Ok((rows, groups))
}

fn readable(clause: &Expr) -> String {
    clause.to_string()
}

/// Whether a clause names measures or aggregates, and columns outside them.
fn sides(evaluator: &Evaluator<'_>, clause: &Expr) -> Result<(bool, bool), QueryError> {
    let mut sides = Sides {
        evaluator,
        depth: 0,
        has_measure: false,
        has_column: false,
    };
    match ktx_sql::visit_mut(&mut clause.clone(), &mut sides) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok((sides.has_measure, sides.has_column)),
    }
}

struct Sides<'e, 'a> {
    evaluator: &'e Evaluator<'a>,
    depth: usize,
    has_measure: bool,
    has_column: bool,
}

impl Sides<'_, '_> {
    fn reference(&mut self, parts: &[&str]) -> Result<(), QueryError> {
        let names: Names<'_> = self.evaluator.names;
        let is_measure = match parts {
            [name] if self.evaluator.named_request(name).is_some() => true,
            parts if names.is_column(parts) => false,
            parts => names.measure(parts)?.is_some(),
        };
        self.has_measure |= is_measure;
        self.has_column |= !is_measure;
        Ok(())
    }
}

impl VisitorMut for Sides<'_, '_> {
    type Break = QueryError;

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        let checked = match tree {
            Expr::Function(call) if is_about_groups(call) => {
                self.has_measure = true;
                self.depth += 1;
                Ok(())
            }
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) if self.depth == 0 => {
                match expression::reference(tree) {
                    Some(parts) => self.reference(&parts),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        };
        match checked {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        if let Expr::Function(call) = tree
            && is_about_groups(call)
        {
            self.depth -= 1;
        }
        ControlFlow::Continue(())
    }
}

/// True if a call has one value per group.
fn is_about_groups(call: &Function) -> bool {
    aggregates::is_aggregate(call) || is_marker(call)
}

impl Evaluator<'_> {
    fn query_tree_in_filter(&mut self, clause: Expr) -> Result<Expr, QueryError> {
        let dialect = self.names.dialect;
        bound::bind(clause, dialect, &mut Mixed { names: self.names })
    }
}

struct Mixed<'a> {
    names: Names<'a>,
}

impl Meaning for Mixed<'_> {
    fn outside(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        if self.names.is_column(parts) {
            return self.names.column(parts, Scope::QueryFilter);
        }
        Ok(expression::raw("measure"))
    }

    fn inside(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        self.names.column(parts, Scope::QueryAggregate)
    }

    fn aggregate(&mut self, call: sqlparser::ast::Function) -> Result<Expr, QueryError> {
        Ok(Expr::Function(call))
    }
}
