//! Builds the graph from the joins of sources, in linear time.

use std::collections::{BTreeMap, BTreeSet};

use super::{Edge, Graph, Grounds, Node, NodeId, Routes};
use crate::model::authored::Relationship;
use crate::model::resolved::{Counted, Join, JoinOrigin, Source};

/// Above this number, roles do not inherit look-ups.
const MOST_EXPANDED: usize = 200_000;

#[derive(Clone, Copy)]
struct Sight {
    grounds: Grounds,
    origin: JoinOrigin,
    counted: Counted,
}

impl Sight {
    fn of(edge: Option<&Edge>) -> Self {
        Self {
            grounds: edge.map_or(Grounds::Word, |edge| edge.grounds),
            origin: edge.map_or(JoinOrigin::Written, |edge| edge.origin),
            counted: edge.map_or(Counted::default(), |edge| edge.counted),
        }
    }
}

#[derive(Default)]
struct Builder {
    graph: Graph,
    declaring: BTreeMap<NodeId, String>,
    between: BTreeMap<(NodeId, NodeId), Vec<usize>>,
}

pub(super) fn graph(sources: &[Source], by_name: &BTreeMap<String, usize>) -> Graph {
    let mut builder = Builder::default();
    for (at, source) in sources.iter().enumerate() {
        builder.add_node(source.name.clone(), at, false);
    }
    for (at, source) in sources.iter().enumerate() {
        builder.add_joins(at, sources, source, by_name);
    }
    builder.index_safe_edges();
    builder.expand_roles();
    builder.index_safe_edges();
    builder.graph.components = components(&builder.graph.edges);
    for (id, node) in builder.graph.nodes.iter().enumerate() {
        if node.is_alias {
            builder.graph.roles.entry(node.source).or_default().push(id);
        }
    }
    builder.graph
}

impl Builder {
    fn add_joins(
        &mut self,
        at: NodeId,
        sources: &[Source],
        source: &Source,
        by_name: &BTreeMap<String, usize>,
    ) {
        let mut own_aliases: BTreeSet<&str> = BTreeSet::new();
        for join in &source.joins {
            let Some(target) = by_name.get(&join.to).copied() else {
                continue;
            };
            let to = match join.alias.as_deref() {
                None => target,
                Some(alias) => {
                    let is_new = own_aliases.insert(alias);
                    match self.graph.by_name.get(alias).copied() {
                        None => {
                            let role = self.add_node(alias.to_owned(), target, true);
                            self.declaring.insert(role, source.name.clone());
                            role
                        }
                        Some(known) if is_new && self.is_role(known, target) => {
                            if let Some(first) = self.declaring.get(&known) {
                                let shared = (alias.to_owned(), first.clone(), source.name.clone());
                                self.graph.shared_roles.push(shared);
                            }
                            known
                        }
                        Some(_) => {
                            let clash = (alias.to_owned(), source.name.clone());
                            self.graph.clashes.push(clash);
                            continue;
                        }
                    }
                }
            };
            if to == at {
                self.graph.self_joins.push(source.name.clone());
            } else {
                let found = sources.get(target);
                let far = join.pairs.iter().map(|(_, far)| far.as_str());
                let near = join.pairs.iter().map(|(near, _)| near.as_str());
                let forth = Sight {
                    grounds: found.map_or(Grounds::Word, |found| grounds(join, found, far)),
                    origin: join.origin,
                    counted: join.counted,
                };
                let back = Sight {
                    grounds: grounds(join, source, near),
                    origin: join.origin,
                    counted: Counted::default(),
                };
                self.add_edge(at, to, join.relationship, &join.pairs, [forth, back]);
            }
        }
    }

    fn is_role(&self, node: NodeId, source: usize) -> bool {
        let node = self.graph.node(node);
        node.is_some_and(|node| node.is_alias && node.source == source)
    }

    fn add_node(&mut self, name: String, source: usize, is_alias: bool) -> NodeId {
        let id = self.graph.nodes.len();
        self.graph.by_name.insert(name.clone(), id);
        self.graph.nodes.push(Node {
            name,
            source,
            is_alias,
        });
        self.graph.edges.push(Vec::new());
        id
    }

    fn add_edge(
        &mut self,
        from: NodeId,
        to: NodeId,
        relationship: Relationship,
        pairs: &[(String, String)],
        [forth, back]: [Sight; 2],
    ) {
        let turned = pairs
            .iter()
            .map(|(local, target)| (target.clone(), local.clone()));
        self.add_half(Edge {
            from: to,
            to: from,
            relationship: relationship.inverted(),
            pairs: turned.collect(),
            grounds: back.grounds,
            origin: back.origin,
            counted: back.counted,
        });
        self.add_half(Edge {
            from,
            to,
            relationship,
            pairs: pairs.to_vec(),
            grounds: forth.grounds,
            origin: forth.origin,
            counted: forth.counted,
        });
    }

    /// A join that both sides declare is only as safe as both declarations.
    fn add_half(&mut self, edge: Edge) {
        let Some(edges) = self.graph.edges.get_mut(edge.from) else {
            return;
        };
        let places = self.between.entry((edge.from, edge.to)).or_default();
        let known = places
            .iter()
            .copied()
            .find(|place| edges.get(*place).is_some_and(|known| is_same(known, &edge)));
        if let Some(known) = known.and_then(|place| edges.get_mut(place)) {
            if known.relationship.is_safe() && !edge.relationship.is_safe() {
                known.relationship = edge.relationship;
            }
            known.grounds = known.grounds.max(edge.grounds);
            known.origin = known.origin.min(edge.origin);
            known.counted = known.counted.with(edge.counted);
        } else {
            places.push(edges.len());
            edges.push(edge);
        }
    }

    fn index_safe_edges(&mut self) {
        self.graph.safe = safe_places(&self.graph.edges);
    }

    /// Gives every role the look-ups of its source: `from_depot.districts` is the look-up of
    /// `depots` in `districts`, for the role `from_depot`.
    fn expand_roles(&mut self) {
        let roles: Vec<(NodeId, usize)> = self
            .graph
            .nodes()
            .filter(|(_, node)| node.is_alias)
            .map(|(id, node)| (id, node.source))
            .collect();
        let mut steps: BTreeMap<usize, Vec<Edge>> = BTreeMap::new();
        let mut expanded = 0;
        for (_, source) in &roles {
            let steps = steps
                .entry(*source)
                .or_insert_with(|| last_steps(&self.graph, *source));
            expanded += steps.len();
            if expanded > MOST_EXPANDED {
                return;
            }
        }
        for (role, source) in roles {
            for step in steps.get(&source).into_iter().flatten() {
                let is_role = self.graph.is_alias(step.to);
                let Some(behind) = self.extend_role(role, source, step) else {
                    continue;
                };
                if is_role {
                    self.graph.behind_roles.insert(behind);
                }
            }
        }
    }

    fn extend_role(&mut self, role: NodeId, source: usize, last: &Edge) -> Option<NodeId> {
        let graph = &self.graph;
        let name = format!("{}.{}", graph.name(role), graph.name(last.to));
        let parent = if last.from == source {
            Some(role)
        } else {
            let before = format!("{}.{}", graph.name(role), graph.name(last.from));
            graph.by_name.get(&before).copied()
        };
        let target = graph.node(last.to).map(|node| node.source);
        if let (Some(parent), Some(target)) = (parent, target)
            && !graph.by_name.contains_key(&name)
        {
            let is_back = |back: &&Edge| {
                let mut pairs = back.pairs.iter().zip(&last.pairs);
                back.pairs.len() == last.pairs.len()
                    && pairs.all(|((one, two), (near, far))| (one, two) == (far, near))
            };
            let edges = graph.edges_from(last.to);
            let places = self
                .between
                .get(&(last.to, last.from))
                .into_iter()
                .flatten();
            let back = places.filter_map(|place| edges.get(*place)).find(is_back);
            let sights = [Some(last), back].map(Sight::of);
            let id = self.add_node(name, target, true);
            self.graph.behind.insert(id, (source, last.to));
            self.add_edge(parent, id, last.relationship, &last.pairs, sights);
            return Some(id);
        }
        None
    }
}

pub(super) fn safe_places(edges: &[Vec<Edge>]) -> Vec<Vec<usize>> {
    let safe = |edges: &Vec<Edge>| -> Vec<usize> {
        let all = edges.iter().enumerate();
        all.filter(|(_, edge)| edge.relationship.is_safe())
            .map(|(place, _)| place)
            .collect()
    };
    edges.iter().map(safe).collect()
}

pub(super) fn components(edges: &[Vec<Edge>]) -> Vec<NodeId> {
    let mut components: Vec<Option<NodeId>> = vec![None; edges.len()];
    let mut open = Vec::new();
    for start in 0..edges.len() {
        open.push(start);
        while let Some(node) = open.pop() {
            if let Some(component) = components.get_mut(node)
                && component.is_none()
            {
                *component = Some(start);
                let next = edges.get(node).into_iter().flatten();
                open.extend(next.map(|edge| edge.to));
            }
        }
    }
    components.into_iter().flatten().collect()
}

pub(super) fn grounds<'a>(
    join: &Join,
    found: &Source,
    columns: impl Iterator<Item = &'a str>,
) -> Grounds {
    let columns: Vec<&str> = columns.collect();
    if join.origin.is_scanned() || found.is_told_apart_by(&columns) {
        Grounds::Known
    } else {
        Grounds::Word
    }
}

fn is_same(one: &Edge, other: &Edge) -> bool {
    if one.pairs == other.pairs {
        return true;
    }
    let sorted = |edge: &Edge| {
        let mut pairs = edge.pairs.clone();
        pairs.sort();
        pairs
    };
    one.pairs.len() == other.pairs.len() && one.pairs.len() > 1 && sorted(one) == sorted(other)
}

/// Nearest first. A path can end in a role but not pass through one.
fn last_steps(graph: &Graph, source: usize) -> Vec<Edge> {
    let routes = Routes::new(graph, source);
    let mut through_role: BTreeSet<NodeId> = BTreeSet::new();
    let mut steps = Vec::new();
    for (node, arrival) in routes.nearest_first() {
        let Some(arrival) = arrival else { continue };
        if through_role.contains(&arrival.from) {
            through_role.insert(node);
            continue;
        }
        if graph.is_alias(node) {
            through_role.insert(node);
        }
        if !routes.is_ambiguous(node) {
            steps.push(arrival.clone());
        }
    }
    steps
}
