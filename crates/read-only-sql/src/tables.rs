//! The tables that a statement reads.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Query, Statement, TableFactor, Visitor};

pub(super) fn tables_of(statement: &Statement) -> BTreeSet<String> {
    let mut names = TableNames::default();
    let flow = ktx_sql::visit(statement, &mut names);
    debug_assert!(flow.is_continue());
    let defined = names.defined;
    names
        .read
        .retain(|name| !defined.contains(&name.to_lowercase()));
    names.read
}

#[derive(Default)]
struct TableNames {
    read: BTreeSet<String>,
    /// In lower case. Hides tables of the same name.
    defined: BTreeSet<String>,
}

impl Visitor for TableNames {
    type Break = std::convert::Infallible;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        let expressions = query.with.iter().flat_map(|with| &with.cte_tables);
        self.defined
            .extend(expressions.map(|one| one.alias.name.value.to_lowercase()));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<Self::Break> {
        if let TableFactor::Table {
            name, args: None, ..
        } = table
        {
            self.read.extend(dotted_name(name));
        }
        ControlFlow::Continue(())
    }
}

fn dotted_name(name: &ObjectName) -> Option<String> {
    let parts: Option<Vec<&str>> = name
        .0
        .iter()
        .map(|part| part.as_ident().map(|ident| ident.value.as_str()))
        .collect();
    parts.map(|parts| parts.join("."))
}
