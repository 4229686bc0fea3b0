//! Boxes, joins with their ends, and traps.

use std::collections::BTreeSet;

use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::Source;
use ktx_semantic_layer::graph::{Edge, NodeId, Routes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    AtMostOne,
    Many,
}

impl End {
    const fn of(is_one: bool) -> Self {
        if is_one { Self::AtMostOne } else { Self::Many }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AtMostOne => "one",
            Self::Many => "many",
        }
    }
}

#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) source: &'a Source,
    pub(super) is_role: bool,
}

impl Node<'_> {
    pub(super) fn is_fact(&self) -> bool {
        !self.is_role && !self.source.measures.is_empty() && self.source.problem.is_none()
    }
}

/// Directed toward the looked-up side if the sides differ.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) from_end: End,
    pub(super) to_end: End,
    pub(super) pairs: Vec<(String, String)>,
}

impl Line {
    /// True if only the reverse direction multiplies rows.
    pub(super) fn is_look_up(&self) -> bool {
        self.from_end == End::Many && self.to_end == End::AtMostOne
    }

    pub(super) fn condition(&self, model: &Model<'_>) -> String {
        let clause = |(from, to): &(String, String)| {
            let (left, right) = (model.name(self.from), model.name(self.to));
            format!("{left}.{from} = {right}.{to}")
        };
        self.pairs
            .iter()
            .map(clause)
            .collect::<Vec<_>>()
            .join(" AND ")
    }
}

/// The numbers of these facts must not be summed over one joined set of rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chasm {
    pub(super) at: NodeId,
    pub(super) facts: Vec<NodeId>,
    pub(super) lines: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Model<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) lines: Vec<Line>,
    pub(super) chasms: Vec<Chasm>,
    /// These joins would repeat the rows of measures.
    pub(super) fan_outs: Vec<usize>,
}

impl<'a> Model<'a> {
    pub(super) fn of(catalog: &'a Catalog) -> Self {
        let written = catalog.graph().nodes().take(catalog.written_nodes());
        let nodes = written.filter_map(|(_, node)| {
            let source = catalog.sources().get(node.source)?;
            Some(Node {
                name: node.name.as_str(),
                source,
                is_role: node.is_alias,
            })
        });
        let nodes: Vec<Node<'a>> = nodes.collect();
        let mut model = Self {
            lines: lines(catalog, nodes.len()),
            nodes,
            chasms: Vec::new(),
            fan_outs: Vec::new(),
        };
        model.find_traps(catalog);
        model
    }

    pub(super) fn name(&self, node: NodeId) -> &'a str {
        self.nodes.get(node).map_or("", |node| node.name)
    }

    pub(super) fn by_name(&self) -> Vec<NodeId> {
        let mut all: Vec<NodeId> = (0..self.nodes.len()).collect();
        all.sort_by_key(|node| self.name(*node));
        all
    }

    pub(super) fn chasm(&self, node: NodeId) -> Option<&Chasm> {
        self.chasms.iter().find(|chasm| chasm.at == node)
    }

    pub(super) fn is_trap(&self, line: usize) -> bool {
        self.fan_outs.contains(&line) || self.chasms.iter().any(|chasm| chasm.lines.contains(&line))
    }

    fn find_traps(&mut self, catalog: &Catalog) {
        let facts: Vec<Fact<'_>> = self
            .by_name()
            .into_iter()
            .filter(|node| self.nodes.get(*node).is_some_and(Node::is_fact))
            .map(|node| Fact {
                node,
                routes: Routes::new(catalog.graph(), node),
            })
            .collect();
        let mut arriving: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (at, line) in self.lines.iter().enumerate() {
            if line.is_look_up()
                && let Some(lines) = arriving.get_mut(line.to)
            {
                lines.push(at);
            }
        }
        for at in self.by_name() {
            let lines = arriving.get(at).map_or(&[][..], Vec::as_slice);
            if lines.len() > 1 {
                self.chasms.extend(self.chasm_of(at, lines, &facts));
            }
        }
        self.fan_outs = (0..self.lines.len())
            .filter(|at| {
                self.lines.get(*at).is_some_and(|line| {
                    let is_fact = |node: NodeId| self.nodes.get(node).is_some_and(Node::is_fact);
                    line.is_look_up() && is_fact(line.to) && is_fact(line.from)
                })
            })
            .collect();
    }

    /// A fact that looks up the other one meets it earlier.
    fn chasm_of(&self, at: NodeId, lines: &[usize], facts: &[Fact<'_>]) -> Option<Chasm> {
        let from = |line: &usize| self.lines.get(*line).map(|line| line.from);
        let coming: Vec<(&Fact<'_>, Vec<usize>)> = facts
            .iter()
            .map(|fact| {
                let by = |line: &usize| from(line).is_some_and(|from| fact.routes.reaches(from));
                (fact, lines.iter().copied().filter(by).collect())
            })
            .filter(|(_, lines): &(_, Vec<usize>)| !lines.is_empty())
            .collect();
        let mut met: BTreeSet<usize> = BTreeSet::new();
        for (left, (one, one_by)) in coming.iter().enumerate() {
            for (right, (other, other_by)) in coming.iter().enumerate().skip(left + 1) {
                let is_one_way = one_by == other_by && one_by.len() == 1;
                let is_known = met.contains(&left) && met.contains(&right);
                if !is_one_way && !is_known && !one.is_related(other) {
                    met.extend([left, right]);
                }
            }
        }
        let found: Vec<&(&Fact<'_>, Vec<usize>)> =
            met.iter().filter_map(|place| coming.get(*place)).collect();
        let by: BTreeSet<usize> = found.iter().flat_map(|(_, lines)| lines).copied().collect();
        (!found.is_empty()).then(|| Chasm {
            at,
            facts: found.iter().map(|(fact, _)| fact.node).collect(),
            lines: by.into_iter().collect(),
        })
    }
}

struct Fact<'a> {
    node: NodeId,
    routes: Routes<'a>,
}

impl Fact<'_> {
    fn is_related(&self, other: &Self) -> bool {
        self.routes.reaches(other.node) || other.routes.reaches(self.node)
    }
}

/// Directed along the look-up if only one direction is one.
fn lines(catalog: &Catalog, nodes: usize) -> Vec<Line> {
    let graph = catalog.graph();
    let mut lines: Vec<Line> = Vec::new();
    for (node, _) in graph.nodes() {
        for edge in graph
            .edges_from(node)
            .iter()
            .filter(|edge| node < nodes && edge.to < nodes)
        {
            let back = graph
                .edges_from(edge.to)
                .iter()
                .find(|back| is_reverse(edge, back));
            let forth_is_safe = edge.relationship.is_safe();
            let back_is_safe = back.is_some_and(|back| back.relationship.is_safe());
            // If both readings are equivalent, keep the one that starts at the first name.
            let is_drawn = match (forth_is_safe, back_is_safe) {
                (true, false) => true,
                (false, true) => false,
                _ => graph.name(edge.from) <= graph.name(edge.to),
            };
            if is_drawn {
                lines.push(Line {
                    from: edge.from,
                    to: edge.to,
                    from_end: End::of(back_is_safe),
                    to_end: End::of(forth_is_safe),
                    pairs: edge.pairs.clone(),
                });
            }
        }
    }
    lines.sort_by(|left, right| {
        let key = |line: &Line| {
            (
                graph.name(line.from).to_owned(),
                graph.name(line.to).to_owned(),
                line.pairs.clone(),
            )
        };
        key(left).cmp(&key(right))
    });
    lines
}

fn is_reverse(edge: &Edge, other: &Edge) -> bool {
    let turned = |pairs: &[(String, String)]| {
        let mut pairs: Vec<(String, String)> = pairs
            .iter()
            .map(|(from, to)| (to.clone(), from.clone()))
            .collect();
        pairs.sort();
        pairs
    };
    let mut own = edge.pairs.clone();
    own.sort();
    other.to == edge.from && turned(&other.pairs) == own
}
