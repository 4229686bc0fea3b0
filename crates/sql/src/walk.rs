//! Visits SQL trees. sqlparser compiles its walk of the whole tree again for each type of visitor;
//! these functions share one copy.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that compiles sqlparser's walk"
)]

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, ObjectName, OrderBy, OrderByExpr, Query, Select, SelectItem,
    Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};

/// A part of SQL that can be visited.
pub trait Tree {
    /// Visits every part in order of the text, until the visitor breaks.
    fn walk(&self, visitor: &mut dyn Visitor<Break = ()>) -> ControlFlow<()>;

    /// Like [`Self::walk`], with parts that can be changed.
    fn walk_mut(&mut self, visitor: &mut dyn VisitorMut<Break = ()>) -> ControlFlow<()>;
}

/// Visits every part of a tree until the visitor breaks.
pub fn visit<V: Visitor>(tree: &(impl Tree + ?Sized), visitor: &mut V) -> ControlFlow<V::Break> {
    let mut kept = Keeping {
        visitor,
        reason: None,
    };
    match (tree.walk(&mut kept), kept.reason) {
        (ControlFlow::Break(()), Some(reason)) => ControlFlow::Break(reason),
        _ => ControlFlow::Continue(()),
    }
}

/// Like [`visit`], with parts that can be changed.
pub fn visit_mut<V: VisitorMut>(
    tree: &mut (impl Tree + ?Sized),
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    let mut kept = Keeping {
        visitor,
        reason: None,
    };
    match (tree.walk_mut(&mut kept), kept.reason) {
        (ControlFlow::Break(()), Some(reason)) => ControlFlow::Break(reason),
        _ => ControlFlow::Continue(()),
    }
}

/// Visits expressions, each before its operands.
pub fn visit_expressions<B>(
    tree: &(impl Tree + ?Sized),
    each: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Expressions<F>(F);

    impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<F> {
        type Break = B;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
            (self.0)(expr)
        }
    }

    visit(tree, &mut Expressions(each))
}

/// Visits the names of tables.
pub fn visit_relations<B>(
    tree: &(impl Tree + ?Sized),
    each: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Relations<F>(F);

    impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<F> {
        type Break = B;

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<B> {
            (self.0)(relation)
        }
    }

    visit(tree, &mut Relations(each))
}

/// Keeps the reason of a visitor's break, so that all visitors break alike.
struct Keeping<'v, V, B> {
    visitor: &'v mut V,
    reason: Option<B>,
}

impl<V, B> Keeping<'_, V, B> {
    fn kept(&mut self, flow: ControlFlow<B>) -> ControlFlow<()> {
        flow.map_break(|reason| self.reason = Some(reason))
    }
}

/// The one type for which sqlparser's walk is compiled.
struct Shared<V>(V);

/// Implements both traits for [`Keeping`] and [`Shared`] by calling the visitor within.
macro_rules! forward {
    ($($name:ident: $part:ty),* $(,)?) => {
        impl<V: Visitor> Visitor for Keeping<'_, V, V::Break> {
            type Break = ();

            $(fn $name(&mut self, part: &$part) -> ControlFlow<()> {
                let flow = self.visitor.$name(part);
                self.kept(flow)
            })*
        }

        impl<V: VisitorMut> VisitorMut for Keeping<'_, V, V::Break> {
            type Break = ();

            $(fn $name(&mut self, part: &mut $part) -> ControlFlow<()> {
                let flow = self.visitor.$name(part);
                self.kept(flow)
            })*
        }

        impl Visitor for Shared<&mut dyn Visitor<Break = ()>> {
            type Break = ();

            $(fn $name(&mut self, part: &$part) -> ControlFlow<()> {
                self.0.$name(part)
            })*
        }

        impl VisitorMut for Shared<&mut dyn VisitorMut<Break = ()>> {
            type Break = ();

            $(fn $name(&mut self, part: &mut $part) -> ControlFlow<()> {
                self.0.$name(part)
            })*
        }
    };
}

forward! {
    pre_visit_query: Query,
    post_visit_query: Query,
    pre_visit_select: Select,
    post_visit_select: Select,
    pre_visit_relation: ObjectName,
    post_visit_relation: ObjectName,
    pre_visit_table_factor: TableFactor,
    post_visit_table_factor: TableFactor,
    pre_visit_expr: Expr,
    post_visit_expr: Expr,
    pre_visit_statement: Statement,
    post_visit_statement: Statement,
    pre_visit_value: ValueWithSpan,
    post_visit_value: ValueWithSpan,
    pre_visit_ident: Ident,
    post_visit_ident: Ident,
    pre_visit_order_by: OrderBy,
    post_visit_order_by: OrderBy,
    pre_visit_order_by_expr: OrderByExpr,
    post_visit_order_by_expr: OrderByExpr,
    pre_visit_group_by: GroupByExpr,
    post_visit_group_by: GroupByExpr,
}

macro_rules! trees {
    ($($part:ty),* $(,)?) => {
        $(impl Tree for $part {
            fn walk(&self, visitor: &mut dyn Visitor<Break = ()>) -> ControlFlow<()> {
                Visit::visit(self, &mut Shared(visitor))
            }

            fn walk_mut(&mut self, visitor: &mut dyn VisitorMut<Break = ()>) -> ControlFlow<()> {
                VisitMut::visit(self, &mut Shared(visitor))
            }
        })*
    };
}

trees!(Expr, Query, SelectItem, Statement);

impl<T: Tree> Tree for Vec<T> {
    fn walk(&self, visitor: &mut dyn Visitor<Break = ()>) -> ControlFlow<()> {
        self.iter().try_for_each(|part| part.walk(visitor))
    }

    fn walk_mut(&mut self, visitor: &mut dyn VisitorMut<Break = ()>) -> ControlFlow<()> {
        self.iter_mut().try_for_each(|part| part.walk_mut(visitor))
    }
}

#[cfg(test)]
mod tests;
