//! Resolves the names inside one query.

use std::collections::BTreeMap;

use sqlparser::ast::{Expr, Ident, ObjectName};

use ktx_relationships::types::ColumnId;

use crate::history::Catalog;

#[derive(Debug, Clone)]
pub(super) enum Source {
    Table(usize),
    /// The output columns of a subquery that are plain table columns.
    Columns(BTreeMap<String, ColumnId>),
    /// Such as a function.
    Unknown,
}

#[derive(Debug)]
pub(super) struct Scope<'s> {
    pub(super) catalog: &'s Catalog<'s>,
    pub(super) outer: Option<&'s Self>,
    pub(super) ctes: BTreeMap<String, Source>,
    /// In FROM order, by lower-case name.
    pub(super) sources: Vec<(String, Source)>,
}

impl<'s> Scope<'s> {
    pub(super) fn inside(catalog: &'s Catalog<'s>, outer: Option<&'s Self>) -> Self {
        Self {
            catalog,
            outer,
            ctes: BTreeMap::new(),
            sources: Vec::new(),
        }
    }

    pub(super) fn relation(&self, name: &ObjectName) -> Source {
        let parts = parts(name);
        if let [only] = parts.as_slice() {
            let mut scope = Some(self);
            while let Some(here) = scope {
                if let Some(found) = here.ctes.get(&only.to_lowercase()) {
                    return found.clone();
                }
                scope = here.outer;
            }
        }
        self.catalog
            .table(&parts)
            .map_or(Source::Unknown, Source::Table)
    }

    pub(super) fn column(&self, expression: &Expr) -> Option<ColumnId> {
        match expression {
            Expr::Identifier(name) => self.bare(name),
            Expr::CompoundIdentifier(parts) => self.qualified(parts),
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => self.column(inner),
            _ => None,
        }
    }

    /// A source with unknown columns can hide the name.
    fn bare(&self, name: &Ident) -> Option<ColumnId> {
        let mut found = None;
        for (_, source) in &self.sources {
            match (self.of(source, &name.value), source) {
                (None, Source::Unknown) => return None,
                (Some(_), _) if found.is_some() => return None,
                (Some(at), _) => found = Some(at),
                (None, _) => {}
            }
        }
        found.or_else(|| self.outer.and_then(|outer| outer.bare(name)))
    }

    fn qualified(&self, parts: &[Ident]) -> Option<ColumnId> {
        let (name, qualifier) = parts.split_last()?;
        let last = qualifier.last()?.value.to_lowercase();
        let found = self.sources.iter().find(|(known, _)| *known == last);
        match found {
            Some((_, source)) => self.of(source, &name.value),
            None => self.outer?.qualified(parts),
        }
    }

    fn of(&self, source: &Source, name: &str) -> Option<ColumnId> {
        match source {
            Source::Table(table) => self.catalog.column(*table, name),
            Source::Columns(columns) => columns.get(&name.to_lowercase()).copied(),
            Source::Unknown => None,
        }
    }

    pub(super) fn column_of(&self, position: usize, name: &str) -> Option<ColumnId> {
        let (_, source) = self.sources.get(position)?;
        self.of(source, name)
    }

    pub(super) fn all_of(&self, source: &Source) -> BTreeMap<String, ColumnId> {
        match source {
            Source::Table(table) => self.catalog.columns(*table),
            Source::Columns(columns) => columns.clone(),
            Source::Unknown => BTreeMap::new(),
        }
    }
}

pub(super) fn parts(name: &ObjectName) -> Vec<String> {
    name.0
        .iter()
        .filter_map(|part| part.as_ident().map(|ident| ident.value.clone()))
        // BigQuery puts a whole dotted name in backticks.
        .flat_map(|text| text.split('.').map(str::to_owned).collect::<Vec<_>>())
        .collect()
}
