//! Imports metrics as measures.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Visitor};

use super::super::Fate;
use super::super::extension::MetricRest;
use super::super::read::Node;
use super::model::{Building, declare};
use ktx_semantic_layer::authored::{Measure, Relationship};
use ktx_semantic_layer::sql::expression;

const METRIC: [&str; 6] = [
    "name",
    "expression",
    "description",
    "datatype",
    "ai_context",
    "custom_extensions",
];

impl Building<'_> {
    pub(super) fn metrics(&mut self, model: &Node<'_>) {
        for node in model.nodes("metrics", &METRIC, self.losses) {
            self.foreign_extensions(&node);
            if node.value("ai_context").is_some() {
                self.losses.add(
                    node.place("ai_context"),
                    "ai_context",
                    Fate::Dropped,
                    "measures have a description only",
                );
            }
            if node.value("datatype").is_some() {
                self.losses.add(
                    node.place("datatype"),
                    "type",
                    Fate::Rewritten,
                    "the type of a measure follows from its expression",
                );
            }
            if let Err(reason) = self.metric(&node) {
                self.losses.add(node.path, "metric", Fate::Dropped, reason);
            }
        }
        self.measures_without_metric(model);
    }

    fn measures_without_metric(&mut self, model: &Node<'_>) {
        let kept = self
            .extension
            .as_mut()
            .map(|extension| std::mem::take(&mut extension.measures))
            .unwrap_or_default();
        for (name, measures) in kept {
            match self.sources.get_mut(&name) {
                Some(source) => source.measures.extend(measures),
                None => self.losses.add(
                    model.place("custom_extensions"),
                    "measure",
                    Fate::Dropped,
                    format!("the extension has measures of `{name}`, which is no longer a dataset"),
                ),
            }
        }
    }

    fn metric(&mut self, node: &Node<'_>) -> Result<(), String> {
        let name = node.text("name", self.losses);
        let name = name.ok_or("a metric needs a name")?;
        let expression = node.expression(self.into.dialect(), self.losses);
        let expression = expression.ok_or("a metric needs an expression")?;
        let description = node.text("description", self.losses);
        let rest = self
            .extension
            .as_mut()
            .and_then(|extension| extension.metrics.remove(&name));
        if let Some(rest) = rest {
            let source = self.sources.get_mut(&rest.source);
            match source {
                Some(source) if rest.expression == expression => {
                    let MetricRest { mut measure, .. } = rest;
                    measure.description = description;
                    source.measures.push(measure);
                    return Ok(());
                }
                _ => self.losses.add(
                    &node.path,
                    "measure",
                    Fate::Rewritten,
                    "the metric was changed since ktx wrote it: its expression counts",
                ),
            }
        }
        let home = self.home(&name, node, &expression)?;
        let source = self
            .sources
            .get_mut(&home)
            .ok_or_else(|| format!("there is no dataset `{home}`"))?;
        source.measures.push(Measure {
            name,
            expr: Some(expression),
            ratio: None,
            cumulative: None,
            compare: None,
            semi_additive: None,
            filter: None,
            segments: Vec::new(),
            description,
        });
        Ok(())
    }

    /// Finds the dataset that looks up all others: the metric aggregates its rows.
    fn home(&mut self, name: &str, node: &Node<'_>, text: &str) -> Result<String, String> {
        let tree = expression::parse(text, self.into.dialect()).map_err(|error| error.message)?;
        let mut references = References::default();
        let flow = ktx_sql::visit(&tree, &mut references);
        debug_assert!(flow.is_continue());
        if let Some(bare) = references.bare.first() {
            return Err(format!("`{bare}` does not say its dataset"));
        }
        for (dataset, columns) in &references.columns {
            let source = self.sources.get_mut(dataset);
            let source = source.ok_or_else(|| format!("there is no dataset `{dataset}`"))?;
            for column in columns {
                if declare(&mut source.columns, column) {
                    self.losses.add(
                        &node.path,
                        "hidden_column",
                        Fate::Rewritten,
                        format!(
                            "`{dataset}.{column}` is read by a metric and added as a hidden column"
                        ),
                    );
                }
            }
        }
        let datasets: Vec<&String> = references.columns.keys().collect();
        let home = match datasets.as_slice() {
            [] => return Err(format!("`{name}` names no dataset")),
            [only] => (*only).clone(),
            several => {
                let reaches_all = |candidate: &&&String| {
                    let reached = self.looked_up(candidate);
                    several.iter().all(|other| reached.contains(*other))
                };
                let finest = several.iter().find(reaches_all);
                let home = finest.unwrap_or(&several[0]);
                self.losses.add(
                    &node.path,
                    "metric",
                    Fate::Rewritten,
                    format!(
                        "it is over several datasets; it becomes a measure of `{home}`, where each aggregate still counts the rows of its own"
                    ),
                );
                (*home).clone()
            }
        };
        Ok(home)
    }

    fn looked_up(&self, from: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::from([from.to_owned()]);
        let mut next = vec![from.to_owned()];
        while let Some(name) = next.pop() {
            let Some(source) = self.sources.get(&name) else {
                continue;
            };
            for join in &source.joins {
                let is_safe = join.relationship != Relationship::OneToMany;
                if is_safe && reached.insert(join.to.clone()) {
                    next.push(join.to.clone());
                }
            }
        }
        reached
    }
}

#[derive(Default)]
struct References {
    columns: BTreeMap<String, BTreeSet<String>>,
    bare: Vec<String>,
}

impl Visitor for References {
    type Break = ();

    fn pre_visit_expr(&mut self, tree: &Expr) -> ControlFlow<()> {
        match tree {
            Expr::Identifier(name) => self.bare.push(name.value.clone()),
            Expr::CompoundIdentifier(parts) => {
                if let Some((column, dataset)) = parts.split_last() {
                    let dataset: Vec<&str> =
                        dataset.iter().map(|part| part.value.as_str()).collect();
                    self.columns
                        .entry(dataset.join("."))
                        .or_default()
                        .insert(column.value.clone());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
