//! Roles spelled as paths of joins: `orders.billing_address.city`.
//!
//! Each step names a join of the source before it: by its alias, by the source it leads to if no other
//! join leads there, or by the key column with or without its ending (`billing_address_id` or
//! `billing_address`). A path may begin with such a role alone if one kind of row is meant by it.

use std::sync::OnceLock;

use super::role_names::{has_role, steps};
use super::{Edge, Graph, NodeId};
use crate::catalog::Catalog;
use crate::catalog::near::nearest;
use crate::model::authored::Relationship;
use crate::model::error::{ErrorKind, QueryError, Renaming};
use crate::model::resolved::{Counted, Source};

const MOST_STEPS: usize = 16;

/// `None` if the names spell no role. Fails for a step without a join, or to many rows.
pub(crate) fn with_role_paths<'n>(
    catalog: &Catalog,
    names: impl IntoIterator<Item = Vec<&'n str>>,
) -> Result<Option<Graph>, QueryError> {
    let mut paths = RolePaths {
        catalog,
        graph: None,
    };
    for name in names {
        paths.add(&name)?;
    }
    Ok(paths.graph)
}

pub(super) struct RolePaths<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) graph: Option<Graph>,
}

impl RolePaths<'_> {
    pub(super) fn graph(&self) -> &Graph {
        self.graph.as_ref().unwrap_or(&self.catalog.graph)
    }

    /// The last part of the name is a column or a measure.
    fn add(&mut self, name: &[&str]) -> Result<(), QueryError> {
        let Some(before) = name.len().checked_sub(1).filter(|count| *count > 0) else {
            return Ok(());
        };
        let known = (1..=before).rev().find_map(|count| {
            let front = name.get(..count)?.join(".");
            Some((count, self.graph().node_id(&front)?))
        });
        let (mut count, mut node) = match known {
            Some((count, _)) if count == before => return Ok(()),
            Some(known) => known,
            None => match self.root(name.get(..before).unwrap_or_default())? {
                Some(node) => (1, node),
                None => return Ok(()),
            },
        };
        while count < before.min(MOST_STEPS) {
            let word = name.get(count).copied().unwrap_or_default();
            let Some(next) = self.step(node, word)? else {
                return Ok(());
            };
            (count, node) = (count + 1, next);
        }
        Ok(())
    }

    /// The word of a key column needs more steps, because alone it is probably a misspelled source.
    fn root(&mut self, path: &[&str]) -> Result<Option<NodeId>, QueryError> {
        let word = path.first().copied().unwrap_or_default();
        let mut found: Vec<Edge> = Vec::new();
        let mut by_key: Vec<Edge> = Vec::new();
        for source in 0..self.catalog.sources.len() {
            for step in steps(self.catalog, source) {
                if step.word.eq_ignore_ascii_case(word) {
                    found.push(step.edge);
                } else if path.len() > 1 && has_role(&step.edge, word) {
                    by_key.push(step.edge);
                }
            }
        }
        if found.is_empty() {
            found = by_key;
        }
        let Some(first) = found.first() else {
            return Ok(None);
        };
        if found.iter().any(|edge| edge.to != first.to) {
            let graph = self.graph();
            let whole = |edge: &Edge| format!("{}.{word}", graph.name(edge.from));
            let all: Vec<String> = found.iter().map(whole).collect();
            let message = format!("several sources have a join that `{word}` may mean");
            return Err(QueryError::new(ErrorKind::AmbiguousJoinPath, message)
                .about(word)
                .suggest(all));
        }
        let role = self.add_role(word.to_owned(), first.to);
        for edge in found {
            self.connect(edge.from, role, &edge);
        }
        Ok(Some(role))
    }

    /// `None` if the word is a column of the source.
    fn step(&mut self, from: NodeId, word: &str) -> Result<Option<NodeId>, QueryError> {
        let name = format!("{}.{word}", self.graph().name(from));
        if let Some(known) = self.graph().node_id(&name) {
            return Ok(Some(known));
        }
        let Some(source) = self.graph().node(from).map(|node| node.source) else {
            return Ok(None);
        };
        let steps = steps(self.catalog, source);
        let own = self.catalog.source_at(source);
        let column = own.and_then(|own| Some(own.column(word)?.1.name.as_str()));
        let step = steps
            .iter()
            .find(|step| step.word.eq_ignore_ascii_case(word));
        let step = step.or_else(|| steps.iter().find(|step| has_role(&step.edge, word)));
        let step = step.filter(|step| {
            column.is_none_or(|column| step.edge.pairs.iter().any(|(near, _)| near == column))
        });
        match (step, column) {
            (Some(step), _) => {
                let role = self.add_role(name, step.edge.to);
                self.connect(from, role, &step.edge);
                Ok(Some(role))
            }
            (None, Some(_)) => Ok(None),
            (None, None) => match own {
                Some(own) => Err(self.no_step(own, from, word)),
                None => Ok(None),
            },
        }
    }

    fn no_step(&self, own: &Source, from: NodeId, word: &str) -> QueryError {
        let graph = &self.catalog.graph;
        let before = self.graph().name(from);
        let source = self.graph().node(from).map_or(from, |node| node.source);
        let steps = steps(self.catalog, source);
        let words = steps.iter().map(|step| step.word.as_str());
        let target = graph.node_id(word);
        let joined = graph.edges_from(source).iter();
        let mut joined = joined.filter(|edge| Some(edge.to) == target);
        if joined
            .next()
            .is_some_and(|edge| !edge.relationship.is_safe())
        {
            let message = format!(
                "a path cannot go from `{}` to `{word}`: `{word}` has many rows per row of `{}`",
                own.name, own.name
            );
            return QueryError::new(ErrorKind::Fanout, message)
                .about(format!("{}.{word}", own.name));
        }
        let rivals: Vec<&str> = steps
            .iter()
            .filter(|step| Some(step.edge.to) == target)
            .map(|step| step.word.as_str())
            .collect();
        let near: Vec<&str> = if rivals.is_empty() {
            nearest(word, words.clone())
        } else {
            rivals.clone()
        };
        let shown: Vec<String> = words.map(|word| format!("`{word}`")).collect();
        let message = match (rivals.len(), shown.is_empty()) {
            (2.., _) => format!("several joins lead from `{}` to `{word}`", own.name),
            (_, true) => format!(
                "`{}` has no column `{word}` and no join to look it up along",
                own.name
            ),
            (_, false) => format!(
                "`{}` has no column and no join `{word}`; its joins are {}",
                own.name,
                shown.join(", ")
            ),
        };
        let kind = if rivals.len() > 1 {
            ErrorKind::AmbiguousJoinPath
        } else {
            ErrorKind::UnknownColumn
        };
        let about = format!("{before}.{word}");
        let whole = |near: &&str| format!("{before}.{near}");
        let renaming = |near: &&str| Renaming {
            from: about.clone(),
            to: whole(near),
        };
        let mut error = QueryError::new(kind, message);
        error.remedy.renamings = near.iter().map(renaming).collect();
        error.about(about.clone()).suggest(near.iter().map(whole))
    }

    pub(super) fn editable(&mut self) -> &mut Graph {
        self.graph.get_or_insert_with(|| self.catalog.graph.clone())
    }

    pub(super) fn add_role(&mut self, name: String, target: NodeId) -> NodeId {
        let source = self.graph().node(target).map_or(target, |node| node.source);
        self.editable().add_role(name, source)
    }

    pub(super) fn connect(&mut self, from: NodeId, role: NodeId, edge: &Edge) {
        let back = self.catalog.graph.edges_from(edge.to).iter().find(|back| {
            back.to == edge.from
                && back.pairs.len() == edge.pairs.len()
                && back
                    .pairs
                    .iter()
                    .all(|(far, near)| edge.pairs.contains(&(near.clone(), far.clone())))
        });
        let back = Edge {
            from: role,
            to: from,
            relationship: edge.relationship.inverted(),
            pairs: edge
                .pairs
                .iter()
                .map(|(near, far)| (far.clone(), near.clone()))
                .collect(),
            grounds: back.map_or(edge.grounds, |back| back.grounds),
            origin: edge.origin,
            counted: back.map_or(Counted::default(), |back| back.counted),
        };
        let forth = Edge {
            from,
            to: role,
            ..edge.clone()
        };
        self.editable().add_lookup(forth, back);
    }
}

impl Graph {
    fn add_role(&mut self, name: String, source: usize) -> NodeId {
        let id = self.nodes.len();
        self.by_name.insert(name.clone(), id);
        self.folded = OnceLock::new();
        self.nodes.push(super::Node {
            name,
            source,
            is_alias: true,
        });
        self.edges.push(Vec::new());
        self.safe.push(Vec::new());
        let component = self.components.get(source).copied().unwrap_or(source);
        self.components.push(component);
        self.roles.entry(source).or_default().push(id);
        self.behind_roles.insert(id);
        id
    }

    fn add_lookup(&mut self, forth: Edge, back: Edge) {
        for edge in [forth, back] {
            let (from, relationship): (NodeId, Relationship) = (edge.from, edge.relationship);
            let Some(edges) = self.edges.get_mut(from) else {
                continue;
            };
            edges.push(edge);
            let place = edges.len() - 1;
            if relationship.is_safe()
                && let Some(safe) = self.safe.get_mut(from)
            {
                safe.push(place);
            }
        }
    }
}
