//! Resolves measures to trees over atoms. An atom is one aggregate call with its filter and home.

mod meaning;

use std::collections::BTreeMap;

use sqlparser::ast::{BinaryOperator, Expr, Function};

use crate::catalog::graph::{Lookup, NodeId, Routes};
use crate::model::authored::ColumnType;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::Segment;
use crate::names::aggregates::{self, Call, Counted};
use crate::names::query::MeasureRequest;
use crate::names::{MeasureAt, Names, Scope, bound, times, types};
use crate::plan::formulas::{SnapshotTrees, binary};
use crate::plan::frames::{self, Frame};
use crate::plan::refusals::{ambiguous_path, doubtful_path};
use crate::plan::{Dimension, GroupWindow};
use crate::sql::expression::{nested, whole};
use crate::sql::sql_text::{has_empty_part, table_parts};

use meaning::InQuery;
pub(super) use meaning::InSource;

const DEEPEST: usize = 200;
/// With nested double uses, the number of inlined measures doubles at each step.
const MOST_OPENED: usize = 5_000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Atom {
    pub(crate) call: Call,
    pub(crate) filters: Vec<Expr>,
    pub(crate) home: NodeId,
    pub(crate) kind: Option<ColumnType>,
    pub(crate) frame: Frame,
    pub(crate) snapshot: Option<SnapshotTrees>,
}

impl Atom {
    pub(crate) fn ranked_type(&self, names: Names<'_>) -> Option<ColumnType> {
        match &self.call {
            Call::Percentile { value, .. } => types::of(value, names),
            Call::Rows | Call::Function(_) => None,
        }
    }

    pub(crate) fn trees(&self) -> Vec<Expr> {
        let mut trees = match &self.call {
            Call::Rows => Vec::new(),
            Call::Function(function) => vec![Expr::Function(function.clone())],
            Call::Percentile { value, .. } => vec![value.clone()],
        };
        trees.extend(self.filters.iter().cloned());
        if let Some(snapshot) = &self.snapshot {
            trees.push(snapshot.moment.clone());
            trees.extend(snapshot.per.iter().cloned());
        }
        trees
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Averages {
    Whole,
    /// A sum divided by a count, so that groups can be added up.
    Split,
}

pub(crate) struct Evaluator<'a> {
    pub(crate) names: Names<'a>,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) windows: Vec<GroupWindow>,
    requests: &'a [MeasureRequest],
    segments: Vec<(NodeId, &'a Segment)>,
    used_segments: Vec<bool>,
    routes: BTreeMap<NodeId, Routes<'a>>,
    pub(super) averages: Averages,
    pub(super) through: BTreeMap<NodeId, Vec<NodeId>>,
    open: Vec<String>,
    opened: usize,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(
        names: Names<'a>,
        requests: &'a [MeasureRequest],
        segments: Vec<(NodeId, &'a Segment)>,
    ) -> Self {
        Self {
            names,
            atoms: Vec::new(),
            dimensions: Vec::new(),
            windows: Vec::new(),
            requests,
            used_segments: vec![false; segments.len()],
            segments,
            routes: BTreeMap::new(),
            through: BTreeMap::new(),
            averages: Averages::Whole,
            open: Vec::new(),
            opened: 0,
        }
    }

    pub(crate) fn routes(&mut self, home: NodeId) -> &Routes<'a> {
        let graph = self.names.graph;
        self.routes
            .entry(home)
            .or_insert_with(|| Routes::new(graph, home))
    }

    pub(super) fn set_routes(&mut self, home: NodeId, routes: Routes<'a>) {
        self.routes.insert(home, routes);
    }

    pub(crate) fn unused_segment(&self) -> Option<String> {
        let at = self.used_segments.iter().position(|used| !used)?;
        let (node, segment) = self.segments.get(at)?;
        Some(format!("{}.{}", self.names.node_name(*node), segment.name))
    }

    pub(crate) fn request(&mut self, at: usize) -> Result<Expr, QueryError> {
        let Some(request) = self.requests.get(at) else {
            return Err(QueryError::new(ErrorKind::InvalidQuery, "no such measure"));
        };
        self.opened(format!("#{at}"), &request.expr, |this| {
            this.scalar(&request.expr, Some(at))
        })
    }

    fn scalar(&mut self, text: &str, own: Option<usize>) -> Result<Expr, QueryError> {
        // Quoted names can also name measures.
        let parts: Vec<String> = table_parts(text);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        if parts.len() > 1
            && !has_empty_part(text)
            && let Some(at) = self.names.known_measure(&parts)
        {
            return self.predefined(at, &[]);
        }
        let tree = self.names.parse(text, None)?;
        self.query_tree(tree, own)
            .map_err(|error| about(error, text))
    }

    pub(crate) fn query_tree(
        &mut self,
        mut tree: Expr,
        own: Option<usize>,
    ) -> Result<Expr, QueryError> {
        let dialect = self.names.dialect;
        self.names.write_constants(&mut tree)?;
        self.mark_group_functions(&mut tree)?;
        let mut meaning = InQuery {
            evaluator: self,
            own,
        };
        let mut tree = bound::bind(tree, dialect, &mut meaning)?;
        self.settle_group_functions(&mut tree)?;
        self.settled(tree)
    }

    pub(super) fn settled(&self, tree: Expr) -> Result<Expr, QueryError> {
        let kind = |tree: &Expr| match bound::atom_of(tree) {
            Some(at) => self.atoms.get(at)?.kind,
            None => types::of(tree, self.names),
        };
        times::settled(tree, self.names.dialect, &kind)
    }

    pub(crate) fn named_request(&self, name: &str) -> Option<usize> {
        let is = |request: &MeasureRequest| {
            request
                .name
                .as_deref()
                .is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        self.requests.iter().position(is)
    }

    pub(crate) fn predefined(
        &mut self,
        at: MeasureAt<'a>,
        filters: &[Expr],
    ) -> Result<Expr, QueryError> {
        let key = format!("{}.{}", self.names.node_name(at.node), at.measure.name);
        self.opened(key.clone(), &key, |this| {
            let mut filters = filters.to_vec();
            filters.extend(this.own_filters(at)?);
            this.formula(at, filters)
                .map(whole)
                .map_err(|error| about(error, &key))
        })
    }

    /// A nested evaluation of the same key is a cycle.
    fn opened<T>(
        &mut self,
        key: String,
        text: &str,
        body: impl FnOnce(&mut Self) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        if self.open.contains(&key) {
            let message = format!("measure `{text}` depends on itself");
            return Err(QueryError::new(ErrorKind::CircularMeasure, message).about(text));
        }
        self.opened += 1;
        let outer = self.open.first().map_or(text, String::as_str);
        let outer = outer
            .strip_prefix('#')
            .and_then(|at| at.parse().ok())
            .map_or(outer, |at: usize| {
                self.requests.get(at).map_or(outer, |one| one.expr.as_str())
            });
        if self.open.len() > DEEPEST || self.opened > MOST_OPENED {
            let message = if self.opened > MOST_OPENED {
                format!("`{outer}` is built from more than {MOST_OPENED} measures")
            } else {
                format!("`{outer}` is built from measures in more than {DEEPEST} steps")
            };
            let message = format!("{message}; write some of them as one expression");
            return Err(QueryError::new(ErrorKind::InvalidQuery, message).about(outer));
        }
        self.open.push(key);
        let result = body(self);
        self.open.pop();
        result
    }

    fn own_filters(&self, at: MeasureAt<'a>) -> Result<Vec<Expr>, QueryError> {
        let mut filters = Vec::new();
        if let Some(text) = &at.measure.filter {
            filters.push(self.source_predicate(at.node, text)?);
        }
        let source = self.names.source(at.node)?;
        for name in &at.measure.segments {
            let Some(segment) = source.segment(name) else {
                let near = ktx_diagnostics::nearest(
                    name,
                    source.segments.iter().map(|one| one.name.as_str()),
                );
                let message = format!("unknown segment `{name}` of source `{}`", source.name);
                return Err(QueryError::new(ErrorKind::UnknownSegment, message)
                    .about(name)
                    .suggest(near));
            };
            filters.push(self.source_predicate(at.node, &segment.expr)?);
        }
        Ok(filters)
    }

    pub(crate) fn source_predicate(&self, node: NodeId, text: &str) -> Result<Expr, QueryError> {
        let names = self.names;
        let tree = names.parse(text, Some(names.source(node)?))?;
        bound::bind_rows(tree, names.dialect, &mut |parts| {
            names.column(parts, Scope::Source(node))
        })
        .and_then(|tree| times::of_rows(tree, names))
        .map_err(|error| about(error, text))
    }

    fn atom(
        &mut self,
        call: &Function,
        owner: Option<NodeId>,
        filters: &[Expr],
        snapshot: Option<&SnapshotTrees>,
    ) -> Result<Expr, QueryError> {
        let text = call.to_string();
        let call = match times::of_rows(Expr::Function(call.clone()), self.names)? {
            Expr::Function(settled) => settled,
            _ => call.clone(),
        };
        let (mut call, condition) = aggregates::unconditional(&call, self.names.dialect)?;
        let own_filter = call.filter.take();
        let (call, home) = if let Some(counted) = aggregates::counts_rows(&call) {
            let home = match (&condition, owner) {
                (Some(condition), None) => self.home(&bound::nodes(condition), None, &text)?,
                _ => self.counted(counted, owner)?,
            };
            (Call::Rows, home)
        } else {
            let call = aggregates::call(call)?;
            let named = match &call {
                Call::Rows => Vec::new(),
                Call::Function(function) => bound::nodes(&Expr::Function(function.clone())),
                Call::Percentile { value, .. } => bound::nodes(value),
            };
            let conditions = own_filter.as_deref().into_iter().chain(&condition);
            let conditions: Vec<NodeId> = conditions.flat_map(bound::nodes).collect();
            let home = self.home_with(&named, &conditions, owner, &text)?;
            (call, home)
        };
        let mut filters = filters.to_vec();
        filters.extend(own_filter.map(|filter| *filter));
        filters.extend(condition);
        self.add_segments(home, &mut filters)?;
        for filter in &filters {
            for node in bound::nodes(filter) {
                self.reachable_filter(home, node, "the measure's filter")?;
            }
        }
        if let Call::Function(function) = &call
            && !(filters.is_empty() && snapshot.is_none())
        {
            aggregates::check_filter(function, self.names.dialect)?;
        }
        if let Some(snapshot) = snapshot {
            self.check_snapshot(&call, home, snapshot)?;
        }
        if self.averages == Averages::Split
            && let Call::Function(function) = &call
            && let Some([sum, count]) = aggregates::as_sum_and_count(function)
        {
            let sum = self.placed(Call::Function(sum), filters.clone(), home, snapshot);
            let count = self.placed(Call::Function(count), filters, home, snapshot);
            return Ok(nested(binary(sum, BinaryOperator::Divide, count)));
        }
        Ok(self.placed(call, filters, home, snapshot))
    }

    fn placed(
        &mut self,
        call: Call,
        filters: Vec<Expr>,
        home: NodeId,
        snapshot: Option<&SnapshotTrees>,
    ) -> Expr {
        let names = self.names;
        let kind = aggregates::answer_type(&call, &|tree| types::of(tree, names));
        let atom = Atom {
            call,
            filters,
            home,
            kind,
            frame: Frame::default(),
            snapshot: snapshot.cloned(),
        };
        bound::atom(frames::place(&mut self.atoms, atom))
    }

    fn add_segments(&mut self, home: NodeId, filters: &mut Vec<Expr>) -> Result<(), QueryError> {
        for at in 0..self.segments.len() {
            let Some((node, segment)) = self.segments.get(at).copied() else {
                continue;
            };
            if node == home {
                filters.push(self.source_predicate(node, &segment.expr)?);
                if let Some(used) = self.used_segments.get_mut(at) {
                    *used = true;
                }
            }
        }
        Ok(())
    }

    fn counted(&self, counted: Counted, owner: Option<NodeId>) -> Result<NodeId, QueryError> {
        match (counted, owner) {
            (Counted::OwnRows, Some(owner)) => Ok(owner),
            (Counted::OwnRows, None) => Err(QueryError::new(
                ErrorKind::NoSource,
                "`count(*)` names no source; count a column or `source.*`",
            )
            .about("count(*)")),
            (Counted::RowsOf(name), _) => {
                let name = table_parts(&name.to_string()).join(".");
                let node = self.names.graph.node_id(&name);
                node.ok_or_else(|| self.names.catalog.unknown_source(&name))
            }
        }
    }

    /// Finds the node that can look up all others.
    fn home(
        &mut self,
        named: &[NodeId],
        owner: Option<NodeId>,
        text: &str,
    ) -> Result<NodeId, QueryError> {
        if named.is_empty() {
            let none = || {
                let message = format!("`{}` names no source", readable(text));
                QueryError::new(ErrorKind::NoSource, message)
            };
            return owner.ok_or_else(none);
        }
        let mut candidates: Vec<NodeId> = Vec::new();
        for node in named {
            let routes = self.routes(*node);
            if named.iter().all(|other| routes.reaches(*other)) {
                candidates.push(*node);
            }
        }
        let first = candidates
            .iter()
            .find(|node| Some(**node) == owner)
            // The choice must not depend on their order.
            .or(candidates.iter().min())
            .copied();
        let Some(home) = first else {
            let sources: Vec<&str> = named
                .iter()
                .map(|node| self.names.node_name(*node))
                .collect();
            let message = format!(
                "no source can look up all of `{}` in one aggregate",
                sources.join("`, `")
            );
            return Err(QueryError::new(ErrorKind::MultiSourceMeasure, message));
        };
        Ok(home)
    }

    /// Conditions are part of the meaning: the home must look up their sources, too.
    fn home_with(
        &mut self,
        values: &[NodeId],
        conditions: &[NodeId],
        owner: Option<NodeId>,
        text: &str,
    ) -> Result<NodeId, QueryError> {
        if values.is_empty() && owner.is_none() {
            return self.home(conditions, owner, text);
        }
        let home = self.home(values, owner, text)?;
        let routes = self.routes(home);
        if values.is_empty() || conditions.iter().all(|node| routes.reaches(*node)) {
            return Ok(home);
        }
        let mut all = values.to_vec();
        all.extend(conditions);
        // The condition is refused later as unreachable.
        Ok(self.home(&all, owner, text).unwrap_or(home))
    }

    pub(crate) fn reachable_filter(
        &mut self,
        home: NodeId,
        node: NodeId,
        what: &str,
    ) -> Result<(), QueryError> {
        let names = self.names;
        match self.routes(home).lookup(node) {
            Lookup::Path(_) => Ok(()),
            Lookup::Ambiguous(one, other) => Err(ambiguous_path(names, home, node, &one, &other)),
            Lookup::Doubtful(missing) => Err(doubtful_path(names, home, node, &missing)),
            Lookup::Unsafe(_) => {
                let message = format!(
                    "{what} names `{}`, which has many rows per row of `{}`",
                    names.node_name(node),
                    names.node_name(home)
                );
                Err(QueryError::new(ErrorKind::FilterFanout, message).about(names.node_name(node)))
            }
            Lookup::Unreachable => {
                let message = format!(
                    "{what} names `{}`, which `{}` is not joined to",
                    names.node_name(node),
                    names.node_name(home)
                );
                Err(QueryError::new(ErrorKind::FilterUnreachable, message)
                    .about(names.node_name(node)))
            }
        }
    }
}

fn about(mut error: QueryError, text: &str) -> QueryError {
    error.offending.get_or_insert_with(|| text.to_owned());
    error
}

fn readable(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}
