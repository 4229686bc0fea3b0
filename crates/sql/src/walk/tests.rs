//! Tests of visits: every hook is reached, changes arrive, and a break carries its reason.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, ObjectName, OrderBy, OrderByExpr, Query, Select, Statement,
    TableFactor, Value, ValueWithSpan, Visitor, VisitorMut,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::{visit, visit_expressions, visit_mut, visit_relations};

const SQL: &str = "SELECT a + 1 FROM t GROUP BY b ORDER BY c";

fn statements(sql: &str) -> Vec<Statement> {
    Parser::parse_sql(&GenericDialect {}, sql).unwrap_or_default()
}

#[derive(Default)]
struct Log(Vec<String>);

impl Log {
    fn note(&mut self, hook: &str, part: &impl ToString) -> ControlFlow<()> {
        self.0.push(format!("{hook} {}", part.to_string()));
        ControlFlow::Continue(())
    }
}

macro_rules! logged {
    ($($hook:ident: $part:ty),* $(,)?) => {
        impl Visitor for Log {
            type Break = ();

            $(fn $hook(&mut self, part: &$part) -> ControlFlow<()> {
                self.note(stringify!($hook), part)
            })*
        }

        impl VisitorMut for Log {
            type Break = ();

            $(fn $hook(&mut self, part: &mut $part) -> ControlFlow<()> {
                self.note(stringify!($hook), part)
            })*
        }
    };
}

logged! {
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

/// A hook that is not forwarded would be missing from the list of sqlparser's own walk.
#[test]
#[expect(clippy::disallowed_methods, reason = "compares both walks")]
fn each_hook_is_reached_as_in_the_walk_of_the_library() {
    let mut tree = statements(SQL);
    let mut expected = Log::default();
    let flow = sqlparser::ast::Visit::visit(&tree, &mut expected);
    assert!(flow.is_continue());
    assert_eq!(
        hooks(&expected.0),
        22,
        "the statement reaches every hook: {:?}",
        expected.0
    );
    let mut found = Log::default();
    assert!(visit(&tree, &mut found).is_continue());
    assert_eq!(found.0, expected.0);
    let mut found = Log::default();
    assert!(visit_mut(&mut tree, &mut found).is_continue());
    assert_eq!(found.0, expected.0);
}

fn hooks(log: &[String]) -> usize {
    let names = log.iter().filter_map(|line| line.split(' ').next());
    names.collect::<std::collections::BTreeSet<_>>().len()
}

struct Doubled;

impl VisitorMut for Doubled {
    type Break = String;

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<String> {
        match &value.value {
            Value::Number(number, _) if number == "13" => ControlFlow::Break(number.clone()),
            Value::Number(number, is_long) => {
                value.value = Value::Number(format!("{number}{number}"), *is_long);
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn changes_before_a_break_stay_and_the_break_has_its_reason() {
    let mut tree = statements("SELECT 1, 13, 2");
    let flow = visit_mut(&mut tree, &mut Doubled);
    assert_eq!(flow, ControlFlow::Break("13".to_owned()));
    assert_eq!(tree[0].to_string(), "SELECT 11, 13, 2");
}

#[test]
fn expressions_and_relations_are_visited_in_order() {
    let tree = statements("SELECT a FROM t JOIN u ON t.x = u.x");
    let mut seen = Vec::new();
    let flow: ControlFlow<()> = visit_expressions(&tree, |part| {
        seen.push(part.to_string());
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    assert_eq!(seen, ["a", "t.x = u.x", "t.x", "u.x"]);
    let flow = visit_relations(&tree, |name| match name.to_string().as_str() {
        "u" => ControlFlow::Break("found"),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(flow, ControlFlow::Break("found"));
}
