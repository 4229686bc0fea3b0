//! Reads `relationships` tests.

use std::collections::BTreeMap;

use minijinja::value::Kwargs;
use minijinja::{Environment, Value as Jinja};
use serde_yaml::{Mapping, Value};

use crate::facts::{ColumnFacts, Facts, Reference, TableFacts, TableLocation};
use crate::yaml::text;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DbtNode {
    /// A model, seed or snapshot, with its version if it has several.
    Model(String),
    /// A table of a source, as (source, table).
    Source(String, String),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum NodeTable<'a> {
    At(&'a TableLocation),
    NotInWarehouse,
    Undescribed,
}

#[derive(Default)]
pub(super) struct References {
    places: BTreeMap<DbtNode, Option<TableLocation>>,
    tests: Vec<Test>,
}

struct Test {
    table: TableLocation,
    column: String,
    to: DbtNode,
    field: String,
    path: String,
}

impl References {
    pub(super) fn place(&mut self, node: DbtNode, place: Option<TableLocation>) {
        self.places.entry(node).or_insert(place);
    }

    pub(super) fn table_of(&self, node: &DbtNode) -> NodeTable<'_> {
        match self.places.get(node) {
            Some(Some(place)) => NodeTable::At(place),
            Some(None) => NodeTable::NotInWarehouse,
            None => NodeTable::Undescribed,
        }
    }

    pub(super) fn located(&self, node: &DbtNode) -> Option<&TableLocation> {
        self.places.get(node)?.as_ref()
    }

    pub(super) fn test(
        &mut self,
        table: &TableLocation,
        column: &str,
        arguments: &Mapping,
        path: &str,
    ) -> Option<()> {
        let (to, field) = target(arguments)?;
        self.tests.push(Test {
            table: table.clone(),
            column: column.to_owned(),
            to,
            field,
            path: path.to_owned(),
        });
        Some(())
    }

    pub(super) fn settle(
        self,
        facts: &mut Facts,
        mut undescribed: impl FnMut(&str) -> Option<TableLocation>,
    ) {
        for test in self.tests {
            let place = match (self.places.get(&test.to), &test.to) {
                (Some(known), _) => known.clone(),
                (None, DbtNode::Model(name)) => undescribed(name),
                (None, DbtNode::Source(..)) => None,
            };
            let Some(table) = place else { continue };
            let column = ColumnFacts {
                name: test.column,
                references: Some(Reference {
                    table,
                    column: test.field,
                }),
                ..ColumnFacts::default()
            };
            let told = TableFacts {
                columns: vec![column],
                ..TableFacts::at(test.table)
            };
            facts.add(told, &test.path);
        }
    }
}

fn target(arguments: &Mapping) -> Option<(DbtNode, String)> {
    let inner = arguments.get("arguments").and_then(Value::as_mapping);
    let word = |key: &str| {
        inner
            .and_then(|inner| text(inner, key))
            .or_else(|| text(arguments, key))
    };
    let (to, field) = (word("to")?, word("field")?);
    let is_name = field
        .chars()
        .all(|letter| letter.is_alphanumeric() || letter == '_');
    let node = node_of(&to)?;
    (is_name && !field.is_empty()).then_some((node, field))
}

/// Parses a call of `ref` or `source`, with or without braces.
pub(super) fn node_of(call: &str) -> Option<DbtNode> {
    let bare = call.trim().trim_start_matches("{{").trim_end_matches("}}");
    let words = words();
    let found = words.compile_expression(bare.trim()).ok()?.eval(()).ok()?;
    let parts: Vec<String> = found
        .try_iter()
        .ok()?
        .map(|part| part.to_string())
        .collect();
    match parts.as_slice() {
        [model] => Some(DbtNode::Model(model.clone())),
        [source, table] => Some(DbtNode::Source(source.clone(), table.clone())),
        _ => None,
    }
}

fn words() -> Environment<'static> {
    let mut words = Environment::new();
    words.add_function(
        "ref",
        |first: String, second: Option<String>, options: Kwargs| {
            let name = second.unwrap_or(first);
            let version = ["v", "version"]
                .into_iter()
                .find_map(|key| options.get::<Option<Jinja>>(key).ok().flatten());
            match version {
                Some(version) => Jinja::from(vec![format!("{name}_v{version}")]),
                None => Jinja::from(vec![name]),
            }
        },
    );
    words.add_function("source", |source: String, table: String| {
        Jinja::from(vec![source, table])
    });
    words
}
