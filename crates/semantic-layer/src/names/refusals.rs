//! Errors for names that are unknown, ambiguous or not allowed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::meanings::alike;
use super::{MOST_PROPOSED, Names, visible_columns};
use crate::catalog::graph::NodeId;
use crate::catalog::near::nearest;
use crate::model::authored::{ColumnType, Visibility};
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::{Column, Source};
use crate::sql::sql_text::table_parts;

/// More similar columns would not be a hint.
const MOST_ALIKE: usize = 3;

impl Names<'_> {
    pub(crate) fn hidden(&self, node: NodeId, column: &str) -> QueryError {
        let text = format!("{}.{column}", self.node_name(node));
        QueryError::new(
            ErrorKind::HiddenColumn,
            format!("column `{text}` is hidden"),
        )
        .about(text)
    }

    pub(super) fn no_fields(
        &self,
        (node, column): (NodeId, &Column),
        fields: &[&str],
    ) -> Option<QueryError> {
        let kind = match column.kind {
            _ if fields.is_empty() => return None,
            ColumnType::Number => "a number",
            ColumnType::Time => "a time",
            ColumnType::Boolean => "a truth value",
            ColumnType::String => return None,
        };
        let whole = format!("{}.{}", self.node_name(node), self.member(&column.name));
        let text = format!("{whole}.{}", fields.join("."));
        let message = format!("`{text}` is not a column: `{whole}` is {kind} and has no parts");
        Some(
            QueryError::new(ErrorKind::UnknownColumn, message)
                .about(text)
                .suggest([whole]),
        )
    }

    pub(crate) fn unknown_column(&self, node: NodeId, name: &str) -> QueryError {
        let text = format!("{}.{name}", self.node_name(node));
        let source = self.source(node).ok();
        if source.is_some_and(|source| source.measure(name).is_some()) {
            let message = format!("`{text}` is a measure, and only columns can stand here");
            return QueryError::new(ErrorKind::UnknownColumn, message).about(text);
        }
        let columns: Vec<&str> = source.map_or(Vec::new(), visible_columns);
        let whole = |column: &str| format!("{}.{}", self.node_name(node), self.member(column));
        let mut own = nearest(name, columns.iter().copied());
        let is_misspelled = !own.is_empty();
        if own.is_empty() {
            own = alike(name, &columns);
            own.truncate(MOST_ALIKE);
        }
        let mut near: Vec<String> = own.into_iter().map(whole).collect();
        if near.is_empty() {
            near = self.elsewhere(node, name);
        }
        let mut message = format!("unknown column `{text}`");
        if !is_misspelled {
            message.push_str(&having(self.node_name(node), "columns", &columns));
        }
        QueryError::new(ErrorKind::UnknownColumn, message)
            .about(text)
            .suggest(near)
    }

    fn elsewhere(&self, node: NodeId, name: &str) -> Vec<String> {
        let members = self.catalog.members();
        let is_shown = |(_, source): &(NodeId, &Source)| {
            let column = source.column(name);
            column.is_some_and(|(_, column)| column.visibility != Visibility::Hidden)
        };
        let columns = self.owners(members.columns(name)).filter(is_shown);
        let measures = self.owners(members.measures(name));
        let mut owners: Vec<NodeId> = columns.chain(measures).map(|(node, _)| node).collect();
        let looked_up = self.looked_up_from(node);
        let distance = |owner: &NodeId| looked_up.get(owner).copied().unwrap_or(usize::MAX);
        owners.sort_by_key(distance);
        let owners = owners.into_iter().take(MOST_PROPOSED);
        owners
            .map(|node| format!("{}.{}", self.node_name(node), self.member(name)))
            .collect()
    }

    /// Over joins that cannot multiply rows, with their number.
    fn looked_up_from(&self, node: NodeId) -> BTreeMap<NodeId, usize> {
        let mut seen = BTreeMap::from([(node, 0)]);
        let mut level = vec![node];
        for distance in 1.. {
            let edges = level
                .iter()
                .flat_map(|node| self.graph.safe_edges_from(*node));
            let next: Vec<NodeId> = edges.map(|edge| edge.to).collect();
            level = Vec::new();
            for to in next {
                if let Entry::Vacant(unseen) = seen.entry(to) {
                    unseen.insert(distance);
                    level.push(to);
                }
            }
            if level.is_empty() {
                break;
            }
        }
        seen
    }

    pub(crate) fn member(&self, name: &str) -> String {
        match table_parts(name).as_slice() {
            [only] if only == name => name.to_owned(),
            _ => self.dialect.quote(name),
        }
    }

    pub(super) fn beyond_own(
        &self,
        own: NodeId,
        computed: &str,
        (owner, name): (NodeId, &str),
    ) -> QueryError {
        let Some((_, column)) = self.source(owner).ok().and_then(|one| one.column(name)) else {
            return self.unknown_column(owner, name);
        };
        let text = format!("{}.{}", self.node_name(owner), column.name);
        let message = format!(
            "`{}.{computed}` is computed from `{text}` of another source, and a computed column has only \
             the columns of its own; a measure or a segment can look it up",
            self.node_name(own)
        );
        QueryError::new(ErrorKind::UnknownColumn, message).about(text)
    }

    pub(super) fn ambiguous(&self, name: &str, nodes: &[NodeId]) -> QueryError {
        QueryError::new(
            ErrorKind::AmbiguousColumn,
            format!("several sources have a column `{name}`"),
        )
        .about(name)
        .suggest(
            nodes
                .iter()
                .take(MOST_PROPOSED)
                .map(|node| format!("{}.{}", self.node_name(*node), self.member(name))),
        )
    }
}

/// Formats `: "orders" has the columns ...`.
pub(crate) fn having(source: &str, kind: &str, members: &[&str]) -> String {
    let shown: Vec<String> = members
        .iter()
        .take(MOST_PROPOSED)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = match members.len().saturating_sub(shown.len()) {
        0 => String::new(),
        left => format!(" and {left} more"),
    };
    if shown.is_empty() {
        format!(": `{source}` has no {kind}")
    } else {
        format!(": `{source}` has the {kind} {}{more}", shown.join(", "))
    }
}
