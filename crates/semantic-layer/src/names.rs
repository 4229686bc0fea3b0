//! Resolves names in queries and in the expressions of sources.

pub mod aggregates;
pub(crate) mod bound;
pub(crate) mod constants;
mod meanings;
pub(crate) mod presence;
pub(crate) mod query;
mod quotes;
pub(crate) mod references;
pub(crate) mod refusals;
pub(crate) mod times;
pub(crate) mod types;

use std::collections::BTreeSet;

use ktx_sql::Dialect;
use sqlparser::ast::{Expr, Ident};

use crate::catalog::Catalog;
use crate::catalog::graph::{Graph, NodeId};
use crate::catalog::near::nearest;
use crate::model::authored::Visibility;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::{Measure, Segment, Source};
use constants::Constant;

/// No name has more parts: a longer text is an expression.
const MOST_PARTS: usize = 64;

const MOST_PROPOSED: usize = 8;

/// Where a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A row filter: a bare name resolves if one source has the column.
    QueryFilter,
    /// Columns must be qualified.
    QueryAggregate,
    /// A measure, filter or segment of the node's source.
    Source(NodeId),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) graph: &'a Graph,
    pub(crate) dialect: Dialect,
    /// Numbers over all rows.
    pub(crate) constants: &'a [Constant],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasureAt<'a> {
    pub(crate) node: NodeId,
    pub(crate) measure: &'a Measure,
}

impl<'a> Names<'a> {
    /// Names without the query's roles.
    pub(crate) fn of(catalog: &'a Catalog, dialect: Dialect) -> Self {
        Self {
            catalog,
            graph: &catalog.graph,
            dialect,
            constants: &[],
        }
    }

    pub(crate) fn source(&self, node: NodeId) -> Result<&'a Source, QueryError> {
        let place = self.graph.node(node).map(|node| node.source);
        let Some(source) = place.and_then(|at| self.catalog.source_at(at)) else {
            return Err(self.catalog.unknown_source(self.graph.name(node)));
        };
        match &source.problem {
            None => Ok(source),
            Some((kind, message)) => {
                let message = format!(
                    "source `{}` cannot be used: {}: {message}",
                    source.name, source.path
                );
                Err(QueryError::new(*kind, message).about(source.name.as_str()))
            }
        }
    }

    pub(crate) fn node_name(&self, node: NodeId) -> &'a str {
        self.graph.name(node)
    }

    pub(crate) fn split_known<'p>(&self, parts: &'p [&'p str]) -> Option<(NodeId, &'p [&'p str])> {
        let longest = parts.len().min(MOST_PARTS);
        (1..longest).rev().find_map(|length| {
            let (front, rest) = parts.split_at(length);
            let node = self.graph.node_id(&front.join("."))?;
            Some((node, rest))
        })
    }

    /// Like `split_known`, but a prefix must name a node.
    pub(crate) fn split<'p>(
        &self,
        parts: &'p [&'p str],
    ) -> Result<(NodeId, &'p [&'p str]), QueryError> {
        self.split_known(parts).ok_or_else(|| {
            let before = parts.len().saturating_sub(1);
            let front = parts.get(..before).unwrap_or_default().join(".");
            self.catalog.unknown_source(&front).about(parts.join("."))
        })
    }

    pub(crate) fn column(&self, parts: &[&str], scope: Scope) -> Result<Expr, QueryError> {
        if let [name] = parts {
            return self.bare_column(name, scope);
        }
        let (node, rest) = match scope {
            Scope::Source(own) => self.split_in_source(parts, own)?,
            _ => self.split(parts)?,
        };
        self.column_of(node, rest, scope)
    }

    /// The source's own name means the evaluated node.
    fn split_in_source<'p>(
        &self,
        parts: &'p [&'p str],
        own: NodeId,
    ) -> Result<(NodeId, &'p [&'p str]), QueryError> {
        let source = self.source(own)?;
        match (self.split_known(parts), parts.split_first()) {
            (Some((node, rest)), _) if self.node_name(node) == source.name => Ok((own, rest)),
            // A role has its source's look-ups, from its own rows.
            (Some((node, rest)), _) if self.node_name(own) != source.name => {
                let name = format!("{}.{}", self.node_name(own), self.node_name(node));
                Ok((self.graph.node_id(&name).unwrap_or(node), rest))
            }
            (Some(split), _) => Ok(split),
            (None, Some((first, rest))) if source.name.rsplit('.').next() == Some(first) => {
                Ok((own, rest))
            }
            (None, _) => self.split(parts),
        }
    }

    pub(crate) fn own_column(&self, node: NodeId, name: &str) -> Result<Expr, QueryError> {
        self.column_of(node, &[name], Scope::Source(node))
    }

    /// Further parts are fields of a structured column.
    fn column_of(&self, node: NodeId, rest: &[&str], scope: Scope) -> Result<Expr, QueryError> {
        let source = self.source(node)?;
        let Some((name, fields)) = rest.split_first() else {
            return Err(self.catalog.unknown_source(""));
        };
        let Some((at, column)) = source.column(name) else {
            return Err(self.unknown_column(node, name));
        };
        let own_source = match scope {
            Scope::Source(_) => true,
            Scope::QueryFilter | Scope::QueryAggregate => false,
        };
        if column.visibility == Visibility::Hidden && !own_source {
            return Err(self.hidden(node, &column.name));
        }
        if let Some(error) = self.no_fields((node, column), fields) {
            return Err(error);
        }
        self.bind(node, at, fields, &mut Vec::new())
    }

    fn bind(
        &self,
        node: NodeId,
        at: usize,
        fields: &[&str],
        within: &mut Vec<usize>,
    ) -> Result<Expr, QueryError> {
        let source = self.source(node)?;
        let Some(column) = source.columns.get(at) else {
            return Err(self.unknown_column(node, ""));
        };
        let Some(text) = &column.expr else {
            return Ok(table_column(node, &column.name, fields));
        };
        if within.contains(&at) {
            let message = format!(
                "computed column `{}.{}` depends on itself",
                source.name, column.name
            );
            return Err(QueryError::new(ErrorKind::CircularMeasure, message).about(text.as_str()));
        }
        within.push(at);
        let tree = self.parse(text, Some(source))?;
        let tree = bound::bind_rows(tree, self.dialect, &mut |parts: &[&str]| {
            let (owner, rest) = match parts {
                [_] => (node, parts),
                _ => self.split_in_source(parts, node)?,
            };
            let (name, fields) = rest
                .split_first()
                .map_or(("", rest), |(name, rest)| (*name, rest));
            match source.column(name) {
                // In `status: upper(status)` the inner name means the table's column, in the
                // table's spelling.
                Some((inner, own)) if owner == node && within.last() == Some(&inner) => {
                    let folds = own.name.to_lowercase() == own.name;
                    Ok(table_column(
                        node,
                        if folds { &own.name } else { name },
                        fields,
                    ))
                }
                Some((inner, _)) if owner == node => self.bind(node, inner, fields, within),
                _ if owner == node => Err(self.unknown_column(owner, name)),
                _ => Err(self.beyond_own(node, &column.name, (owner, name))),
            }
        })?;
        within.pop();
        let tree = crate::names::times::of_rows(tree, *self)
            .map_err(|error| error.about(text.as_str()))?;
        let tree = crate::sql::expression::nested(tree);
        Ok(if within.is_empty() {
            presence::guarded(node, tree)
        } else {
            tree
        })
    }

    fn bare_column(&self, name: &str, scope: Scope) -> Result<Expr, QueryError> {
        if let Scope::Source(own) = scope {
            let source = self.source(own)?;
            if let Some((at, _)) = source.column(name) {
                return self.bind(own, at, &[], &mut Vec::new());
            }
            let node = self.nearest_holder(own, name)?;
            return self.column_of(node, &[name], scope);
        }
        let node = self.only_holder(name)?;
        if scope == Scope::QueryAggregate {
            let message = format!("column `{name}` must be qualified with its source");
            return Err(QueryError::new(ErrorKind::UnqualifiedColumn, message)
                .about(name)
                .suggest([format!("{}.{name}", self.node_name(node))]));
        }
        self.column_of(node, &[name], scope)
    }

    fn owners(&self, places: &'a [usize]) -> impl Iterator<Item = (NodeId, &'a Source)> {
        let sources = &self.catalog.sources;
        places
            .iter()
            .filter_map(move |place| Some((*place, sources.get(*place)?)))
    }

    /// Only columns that queries may use.
    pub(crate) fn only_holder(&self, name: &str) -> Result<NodeId, QueryError> {
        let mut visible: Vec<NodeId> = Vec::new();
        let mut hidden: Vec<NodeId> = Vec::new();
        for (node, source) in self.owners(self.catalog.members().columns(name)) {
            match source.column(name) {
                Some((_, column)) if column.visibility == Visibility::Hidden => hidden.push(node),
                Some(_) => visible.push(node),
                None => {}
            }
        }
        match (visible.as_slice(), hidden.as_slice()) {
            ([node], _) => Ok(*node),
            ([], []) => {
                let mut all: BTreeSet<&str> = BTreeSet::new();
                for source in &self.catalog.sources {
                    all.extend(visible_columns(source));
                }
                let near = nearest(name, all).into_iter();
                let near = near.map(|column| self.member(column));
                Err(
                    QueryError::new(ErrorKind::UnknownColumn, format!("unknown column `{name}`"))
                        .about(name)
                        .suggest(near),
                )
            }
            ([], [node, ..]) => Err(self.hidden(*node, name)),
            (nodes, _) => {
                let has_exactly = |node: &&NodeId| {
                    let source = self.source(**node).ok();
                    source.is_some_and(|source| source.columns.iter().any(|one| one.name == name))
                };
                let mut exact = nodes.iter().filter(has_exactly);
                match (exact.next(), exact.next()) {
                    (Some(node), None) => Ok(*node),
                    _ => Err(self.ambiguous(name, nodes)),
                }
            }
        }
    }

    /// Over joins that cannot multiply rows. Roles count only if no plain source has the column.
    fn nearest_holder(&self, own: NodeId, name: &str) -> Result<NodeId, QueryError> {
        let graph = self.graph;
        let has = |node: &NodeId| {
            let source = graph
                .node(*node)
                .and_then(|node| self.catalog.source_at(node.source));
            source.is_some_and(|source| source.column(name).is_some())
        };
        for with_aliases in [Aliases::Without, Aliases::With] {
            let mut seen = BTreeSet::from([own]);
            let mut level = vec![own];
            while !level.is_empty() {
                let mut next: BTreeSet<NodeId> = BTreeSet::new();
                for edge in level.iter().flat_map(|node| graph.safe_edges_from(*node)) {
                    let is_open = match with_aliases {
                        Aliases::Without => !graph.is_alias(edge.to),
                        Aliases::With => !graph.is_behind_role(edge.to),
                    };
                    if is_open && !seen.contains(&edge.to) {
                        next.insert(edge.to);
                    }
                }
                let holders: Vec<NodeId> = next.iter().copied().filter(has).collect();
                match holders.as_slice() {
                    [node] => return Ok(*node),
                    [] => {}
                    nodes => return Err(self.ambiguous(name, nodes)),
                }
                seen.extend(next.iter().copied());
                level = next.into_iter().collect();
            }
        }
        Err(self.unknown_column(own, name))
    }

    pub(crate) fn measure(&self, parts: &[&str]) -> Result<Option<MeasureAt<'a>>, QueryError> {
        if let [name] = parts {
            return self.bare_measure(name);
        }
        let (node, rest) = self.split(parts)?;
        let source = self.source(node)?;
        let [name] = rest else { return Ok(None) };
        Ok(source
            .measure(name)
            .map(|measure| MeasureAt { node, measure }))
    }

    /// Like `measure`, without building the error.
    pub(crate) fn known_measure(&self, parts: &[&str]) -> Option<MeasureAt<'a>> {
        if parts.len() > 1 {
            self.split_known(parts)?;
        }
        self.measure(parts).ok().flatten()
    }

    fn bare_measure(&self, name: &str) -> Result<Option<MeasureAt<'a>>, QueryError> {
        let owners = self.owners(self.catalog.members().measures(name));
        let found: Vec<MeasureAt<'a>> = owners
            .filter_map(|(node, source)| {
                let measure = source.measure(name)?;
                Some(MeasureAt { node, measure })
            })
            .collect();
        match found.as_slice() {
            [] => Ok(None),
            [one] => self.source(one.node).map(|_| Some(*one)),
            several => {
                let message = format!("several sources have a measure `{name}`");
                Err(QueryError::new(ErrorKind::AmbiguousMeasure, message)
                    .about(name)
                    .suggest(
                        several
                            .iter()
                            .take(MOST_PROPOSED)
                            .map(|at| format!("{}.{name}", self.node_name(at.node))),
                    ))
            }
        }
    }

    pub(crate) fn is_column(&self, parts: &[&str]) -> bool {
        match parts {
            [name] => self
                .owners(self.catalog.members().columns(name))
                .any(|(_, source)| source.column(name).is_some()),
            _ => self.split_known(parts).is_some_and(|(node, rest)| {
                let source = self.source(node).ok();
                let name = rest.first().copied().unwrap_or_default();
                source.is_some_and(|source| source.column(name).is_some())
            }),
        }
    }

    pub(crate) fn segment(&self, text: &str) -> Result<(NodeId, &'a Segment), QueryError> {
        let Some((front, name)) = text.trim().rsplit_once('.') else {
            let message = format!("segment `{text}` must be written `source.segment`");
            return Err(QueryError::new(ErrorKind::SegmentNotQualified, message)
                .about(text)
                .suggest(self.segments_called(text.trim())));
        };
        let Some(node) = self.graph.node_id(front) else {
            let mut error = self.catalog.unknown_source(front);
            if error.kind == ErrorKind::UnknownSource {
                error.kind = ErrorKind::UnknownSegment;
            }
            return Err(error.about(text));
        };
        let source = self.source(node)?;
        source
            .segment(name)
            .map(|segment| (node, segment))
            .ok_or_else(|| {
                let near = nearest(
                    name,
                    source.segments.iter().map(|segment| segment.name.as_str()),
                );
                let near = near.into_iter().map(|segment| format!("{front}.{segment}"));
                QueryError::new(
                    ErrorKind::UnknownSegment,
                    format!("unknown segment `{text}`"),
                )
                .about(text)
                .suggest(near)
            })
    }

    fn segments_called(&self, name: &str) -> Vec<String> {
        let has = |source: &&Source| source.segment(name).is_some();
        self.catalog
            .sources
            .iter()
            .filter(has)
            .take(MOST_PROPOSED)
            .map(|source| format!("{}.{name}", source.name))
            .collect()
    }
}

fn table_column(node: NodeId, name: &str, fields: &[&str]) -> Expr {
    let mut parts = vec![Ident::new(bound::marker(node)), Ident::new(name)];
    parts.extend(fields.iter().map(|field| Ident::new(*field)));
    Expr::CompoundIdentifier(parts)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Aliases {
    Without,
    With,
}

fn visible_columns(source: &Source) -> Vec<&str> {
    let visible = source
        .columns
        .iter()
        .filter(|column| column.visibility != Visibility::Hidden);
    visible.map(|column| column.name.as_str()).collect()
}
