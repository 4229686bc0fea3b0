//! Gives every table the name under which a client can read it.

use std::ops::ControlFlow;

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    TableAlias, TableFactor, VisitorMut,
};

use super::Restriction;
use crate::refusal::{Refusal, refuse};

struct Scope {
    /// In lower case, with the new names.
    names: Vec<(String, String)>,
    visited: usize,
    is_recursive: bool,
}

impl Scope {
    fn find(&self, name: &str) -> Option<&str> {
        let known = if self.is_recursive {
            self.names.len()
        } else {
            self.visited
        };
        let mut known = self.names.iter().take(known);
        let found = known.find(|(old, _)| old == name)?;
        Some(&found.1)
    }
}

pub(super) struct TableRenamer<'a> {
    restriction: &'a Restriction,
    dialect: Dialect,
    scopes: Vec<Scope>,
    bodies: Vec<IsBody>,
    steps: usize,
    definitions: Vec<String>,
    refused: Option<Refusal>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IsBody {
    Yes,
    No,
}

impl<'a> TableRenamer<'a> {
    pub(super) fn new(restriction: &'a Restriction, dialect: Dialect) -> Self {
        Self {
            restriction,
            dialect,
            scopes: Vec::new(),
            bodies: Vec::new(),
            steps: 0,
            definitions: Vec::new(),
            refused: None,
        }
    }

    pub(super) fn finish(self) -> Result<Vec<String>, Refusal> {
        match self.refused {
            Some(refusal) => Err(refusal),
            None => Ok(self.definitions),
        }
    }

    fn end(&mut self, result: Result<(), Refusal>) -> ControlFlow<()> {
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(refusal) => {
                self.refused = Some(refusal);
                ControlFlow::Break(())
            }
        }
    }

    fn open(&mut self, query: &mut Query) -> Result<(), Refusal> {
        let is_body = match self.scopes.last() {
            Some(scope) if scope.visited < scope.names.len() => IsBody::Yes,
            _ => IsBody::No,
        };
        self.bodies.push(is_body);
        let mut names: Vec<(String, String)> = Vec::new();
        let mut is_recursive = self.dialect == Dialect::SqlServer;
        if let Some(with) = &mut query.with {
            is_recursive |= with.recursive;
            for table in &mut with.cte_tables {
                let old = table.alias.name.value.to_lowercase();
                if names.iter().any(|(known, _)| *known == old) {
                    return refuse(
                        Code::UnknownClause,
                        "two common table expressions have the same name",
                    );
                }
                self.steps += 1;
                let new = format!("ktx_step_{}", self.steps);
                table.alias.name = Ident::new(&new);
                names.push((old, new));
            }
        }
        self.scopes.push(Scope {
            names,
            visited: 0,
            is_recursive,
        });
        Ok(())
    }

    fn close(&mut self) {
        self.scopes.pop();
        if self.bodies.pop() == Some(IsBody::Yes)
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.visited += 1;
        }
    }

    fn renamed(&mut self, parts: &[Ident]) -> Result<ObjectName, Refusal> {
        if let [only] = parts {
            let name = only.value.to_lowercase();
            let mut scopes = self.scopes.iter().rev();
            if let Some(new) = scopes.find_map(|scope| scope.find(&name)) {
                return Ok(ObjectName::from(vec![Ident::new(new)]));
            }
        }
        let table = self.restriction.find(parts, self.dialect)?;
        if table.is_whole() {
            let quote = self.dialect.quote_open();
            let parts = table.name.iter().map(|part| Ident::with_quote(quote, part));
            return Ok(ObjectName::from(parts.collect::<Vec<_>>()));
        }
        let name = format!("ktx_only_{}", self.definitions.len() + 1);
        let definition = table.definition(&name, self.dialect);
        self.definitions.push(definition);
        Ok(ObjectName::from(vec![Ident::new(name)]))
    }

    fn factor(&mut self, factor: &mut TableFactor) -> Result<(), Refusal> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } = factor
        else {
            return Ok(());
        };
        let is_plain = with_hints.is_empty()
            && version.is_none()
            && !*with_ordinality
            && partitions.is_empty()
            && json_path.is_none()
            && sample.is_none()
            && index_hints.is_empty();
        if !is_plain {
            return refuse(
                Code::UnknownClause,
                format!("`{name}` has a clause that is not open to a client with a policy"),
            );
        }
        let parts = idents(name)?;
        let Some(own) = parts.last().cloned() else {
            return refuse(Code::DynamicName, "a table has no name");
        };
        *name = self.renamed(&parts)?;
        if alias.is_none() {
            let shown = own.value.rsplit('.').next().unwrap_or_default().to_owned();
            *alias = Some(TableAlias {
                explicit: true,
                name: Ident {
                    value: shown,
                    ..own
                },
                columns: Vec::new(),
                at: None,
            });
        }
        Ok(())
    }

    fn shorten(&self, parts: &mut Vec<Ident>, kept: usize) {
        let Some(table) = parts.len().checked_sub(kept - 1) else {
            return;
        };
        if table < 2 {
            return;
        }
        let named = parts.get(..table).unwrap_or_default();
        if self.restriction.find(named, self.dialect).is_ok() {
            parts.drain(..table - 1);
        }
    }
}

fn idents(name: &ObjectName) -> Result<Vec<Ident>, Refusal> {
    let parts: Option<Vec<Ident>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
    match parts {
        Some(parts) => Ok(parts),
        None => refuse(Code::DynamicName, "the name of a table is computed"),
    }
}

impl VisitorMut for TableRenamer<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let opened = self.open(query);
        self.end(opened)
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.close();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) = item
                && let Ok(mut parts) = idents(name)
            {
                self.shorten(&mut parts, 1);
                *name = ObjectName::from(parts);
            }
        }
        ControlFlow::Continue(())
    }

    // After its parts, so that a new name is not visited again.
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let renamed = self.factor(factor);
        self.end(renamed)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr {
            self.shorten(parts, 2);
        }
        ControlFlow::Continue(())
    }
}
