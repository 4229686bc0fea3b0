//! A join graph as plain data, usable without its sources.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::build::{components, safe_places};
use super::{Edge, Graph, Grounds, Node, NodeId};
use crate::model::authored::Relationship;
use crate::model::resolved::{Counted, JoinOrigin};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredGraph {
    /// Name and source.
    roles: Vec<(String, usize)>,
    edges: Vec<Vec<StoredEdge>>,
    behind_roles: BTreeSet<NodeId>,
    /// Role node, source, original node.
    behind: Vec<(NodeId, usize, NodeId)>,
    self_joins: Vec<String>,
}

/// Target, relationship, columns, whether the match is known, origin, coverage.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredEdge(
    NodeId,
    Relationship,
    Vec<(String, String)>,
    bool,
    JoinOrigin,
    Counted,
);

impl StoredGraph {
    /// `None` if only the files can explain an error.
    pub(crate) fn of(graph: &Graph, sources: usize) -> Option<Self> {
        if !graph.clashes.is_empty() || !graph.missing.is_empty() {
            return None;
        }
        let roles = graph.nodes.get(sources..)?.iter();
        let kept = |edge: &Edge| {
            StoredEdge(
                edge.to,
                edge.relationship,
                edge.pairs.clone(),
                edge.grounds == Grounds::Known,
                edge.origin,
                edge.counted,
            )
        };
        Some(Self {
            roles: roles.map(|node| (node.name.clone(), node.source)).collect(),
            edges: graph
                .edges
                .iter()
                .map(|edges| edges.iter().map(kept).collect())
                .collect(),
            behind_roles: graph.behind_roles.clone(),
            behind: graph
                .behind
                .iter()
                .map(|(node, (source, original))| (*node, *source, *original))
                .collect(),
            self_joins: graph.self_joins.clone(),
        })
    }

    pub(crate) fn graph<'n>(self, sources: impl Iterator<Item = &'n str>) -> Graph {
        let plain = sources.enumerate().map(|(at, name)| Node {
            name: name.to_owned(),
            source: at,
            is_alias: false,
        });
        let roles = self.roles.into_iter().map(|(name, source)| Node {
            name,
            source,
            is_alias: true,
        });
        let nodes: Vec<Node> = plain.chain(roles).collect();
        let edges = self.edges.into_iter().enumerate().map(|(from, edges)| {
            let edge = |StoredEdge(to, relationship, pairs, is_known, origin, counted)| Edge {
                from,
                to,
                relationship,
                pairs,
                grounds: if is_known {
                    Grounds::Known
                } else {
                    Grounds::Word
                },
                origin,
                counted,
            };
            edges.into_iter().map(edge).collect()
        });
        let edges: Vec<Vec<Edge>> = edges.collect();
        let mut graph = Graph {
            by_name: nodes
                .iter()
                .enumerate()
                .map(|(at, node)| (node.name.clone(), at))
                .collect(),
            safe: safe_places(&edges),
            components: components(&edges),
            edges,
            behind_roles: self.behind_roles,
            behind: self
                .behind
                .into_iter()
                .map(|(node, source, original)| (node, (source, original)))
                .collect(),
            self_joins: self.self_joins,
            ..Graph::default()
        };
        for (id, node) in nodes.iter().enumerate() {
            if node.is_alias {
                graph.roles.entry(node.source).or_default().push(id);
            }
        }
        graph.nodes = nodes;
        graph
    }
}
