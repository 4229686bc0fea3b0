//! Imports datasets and relationships as sources and joins.

use std::collections::BTreeMap;

use sqlparser::ast::{Expr, Visitor};
use std::ops::ControlFlow;

use super::super::datatype;
use super::super::document::{AI_CONTEXT, LABEL, best};
use super::super::extension::{ColumnRest, DatasetRest, Extension};
use super::super::read::Node;
use super::super::{Fate, Losses};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::authored::{
    Column, ColumnType, Descriptions, Role, Standalone, StrictMap, Visibility,
};
use ktx_semantic_layer::column_type;
use ktx_semantic_layer::sql::expression;

const DATASET: [&str; 8] = [
    "name",
    "source",
    "primary_key",
    "unique_keys",
    "description",
    "ai_context",
    "fields",
    "custom_extensions",
];
const FIELD: [&str; 8] = [
    "name",
    "expression",
    "dimension",
    "label",
    "description",
    "datatype",
    "ai_context",
    "custom_extensions",
];

pub(super) struct Building<'b> {
    pub(super) into: &'b Catalog,
    pub(super) extension: Option<Extension>,
    pub(super) losses: &'b mut Losses,
    pub(super) sources: BTreeMap<String, Standalone>,
}

impl<'b> Building<'b> {
    pub(super) fn new(
        into: &'b Catalog,
        extension: Option<Extension>,
        losses: &'b mut Losses,
    ) -> Self {
        Self {
            into,
            extension,
            losses,
            sources: BTreeMap::new(),
        }
    }

    pub(super) fn finish(self) -> BTreeMap<String, Standalone> {
        self.sources
    }

    pub(super) fn datasets(&mut self, model: &Node<'_>) {
        for node in model.nodes("datasets", &DATASET, self.losses) {
            let name = node.text("name", self.losses);
            let relation = node.text("source", self.losses);
            let (Some(name), Some(relation)) = (name, relation) else {
                let message = "a dataset needs `name` and `source`";
                self.losses
                    .add(node.path, "dataset", Fate::Dropped, message);
                continue;
            };
            self.foreign_extensions(&node);
            let source = self.dataset(&node, name.clone(), relation);
            if self.sources.insert(name.clone(), source).is_some() {
                self.losses.add(
                    node.path,
                    "dataset",
                    Fate::Dropped,
                    format!("two datasets are called `{name}`: the last one is taken"),
                );
            }
        }
    }

    /// Extensions of nested objects are never ktx's.
    pub(super) fn foreign_extensions(&mut self, node: &Node<'_>) {
        if node.value("custom_extensions").is_some() {
            self.losses.add(
                node.place("custom_extensions"),
                "custom_extension",
                Fate::Dropped,
                "extensions of others are not imported",
            );
        }
    }

    fn dataset(&mut self, node: &Node<'_>, name: String, relation: String) -> Standalone {
        let rest = self
            .extension
            .as_mut()
            .and_then(|extension| extension.datasets.remove(&name))
            .unwrap_or_default();
        let is_query = rest.is_query || looks_like_a_query(&relation);
        let mut columns = self.fields(node, &relation, &rest);
        let grain = self.grain(node, &columns);
        for key in &grain {
            if declare(&mut columns, key) {
                let message =
                    format!("the key `{key}` is not a field; it is added as a hidden column");
                self.losses
                    .add(&node.path, "hidden_column", Fate::Rewritten, message);
            }
        }
        let description = node.text("description", self.losses);
        let context = node.text_or_object("ai_context");
        Standalone {
            descriptions: texts(description, rest.descriptions, context, None),
            name,
            description: None,
            source_type: rest.source_type,
            table: (!is_query).then(|| relation.clone()),
            sql: is_query.then_some(relation),
            inherits_columns_from: None,
            grain,
            columns,
            joins: Vec::new(),
            measures: Vec::new(),
            segments: rest.segments,
            default_time_dimension: rest.default_time_dimension,
            tags: rest.tags,
            owners: rest.owners,
            freshness: rest.freshness,
            exposures: rest.exposures,
            usage: rest.usage,
        }
    }

    /// The primary key, else the first unique key, else all fields.
    fn grain(&mut self, node: &Node<'_>, columns: &[Column]) -> Vec<String> {
        let primary = node.texts("primary_key", self.losses);
        let unique = node.list("unique_keys", self.losses);
        let mut keys: Vec<Vec<String>> = unique
            .iter()
            .filter_map(|key| {
                let key = key.as_sequence()?.iter();
                key.map(|one| one.as_str().map(str::to_owned)).collect()
            })
            .collect();
        let grain = if !primary.is_empty() {
            primary
        } else if keys.is_empty() {
            let all = columns.iter().filter(|column| column.expr.is_none());
            let all: Vec<String> = all.map(|column| column.name.clone()).collect();
            self.losses.add(
                &node.path,
                "primary_key",
                Fate::Rewritten,
                "without a key all fields together tell rows apart",
            );
            all
        } else {
            keys.remove(0)
        };
        for key in keys {
            if key != grain {
                let message = format!("the unique key `{}` has no counterpart", key.join(", "));
                self.losses.add(
                    node.place("unique_keys"),
                    "unique_key",
                    Fate::Dropped,
                    message,
                );
            }
        }
        grain
    }

    fn fields(&mut self, node: &Node<'_>, relation: &str, rest: &DatasetRest) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for field in node.nodes("fields", &FIELD, self.losses) {
            let Some(name) = field.text("name", self.losses) else {
                let message = "a field needs a name";
                self.losses.add(field.path, "field", Fate::Dropped, message);
                continue;
            };
            self.foreign_extensions(&field);
            let of_column = rest.columns.get(&name).cloned();
            if let Some(column) = self.field(&field, name, relation, of_column) {
                columns.push(column);
            }
        }
        self.columns_behind(node, &mut columns);
        columns
    }

    fn field(
        &mut self,
        field: &Node<'_>,
        name: String,
        relation: &str,
        rest: Option<ColumnRest>,
    ) -> Option<Column> {
        let expression = field
            .expression(self.into.dialect(), self.losses)
            .unwrap_or_else(|| name.clone());
        let is_itself = expression
            .trim()
            .trim_matches(['"', '`', '[', ']'])
            .eq_ignore_ascii_case(&name);
        let expr = (!is_itself).then_some(expression);
        if let Some(expr) = &expr {
            match names_in(expr, self.into) {
                Ok(names) if names.iter().any(|one| one.eq_ignore_ascii_case(&name)) => {
                    let message = "the expression reads a column of the field's own name";
                    self.losses
                        .add(&field.path, "field", Fate::Dropped, message);
                    return None;
                }
                Ok(_) => {}
                Err(reason) => {
                    self.losses.add(&field.path, "field", Fate::Dropped, reason);
                    return None;
                }
            }
        }
        let said = self.datatype(field);
        let marked = self.is_time(field);
        let is_time = marked.unwrap_or(said == Some(ColumnType::Time));
        let rest = rest.unwrap_or_default();
        let kept = rest
            .kind
            .filter(|_| !is_time || rest.role == Some(Role::Time));
        let kind = match said.or(kept) {
            Some(kind) => kind,
            None if is_time => ColumnType::Time,
            None => self.guessed(field, &name, relation),
        };
        if kind == ColumnType::Time && marked == Some(false) {
            self.losses.add(
                field.place("dimension"),
                "is_time",
                Fate::Rewritten,
                "dates and times are dimensions of time here",
            );
        }
        let description = field.text("description", self.losses);
        let context = field.text_or_object("ai_context");
        Some(Column {
            kind: Some(kind),
            role: rest
                .role
                .or((is_time || kind == ColumnType::Time).then_some(Role::Time)),
            visibility: rest.visibility,
            descriptions: texts(
                description,
                rest.descriptions,
                context,
                field.text_or_object("label"),
            ),
            description: None,
            expr,
            natural_granularity: rest.natural_granularity,
            constraints: rest.constraints,
            enum_values: rest.enum_values,
            tests: rest.tests,
            name,
        })
    }

    fn is_time(&mut self, field: &Node<'_>) -> Option<bool> {
        let value = field.value("dimension")?;
        let place = field.place("dimension");
        let node = Node::new(place, value, &["is_time"], self.losses)?;
        node.value("is_time")?.as_bool()
    }

    fn datatype(&mut self, field: &Node<'_>) -> Option<ColumnType> {
        let word = field.text("datatype", self.losses)?;
        let read = datatype::read(&word);
        if read.is_none() {
            let message = format!("the type `{word}` has no counterpart");
            self.losses
                .add(field.place("datatype"), "type", Fate::Rewritten, message);
        }
        read
    }

    fn guessed(&mut self, field: &Node<'_>, name: &str, relation: &str) -> ColumnType {
        let table = self.into.scanned_table(relation);
        let scanned = table.and_then(|table| {
            let mut columns = table.entry.columns.iter();
            columns.find(|column| column.name.eq_ignore_ascii_case(name))
        });
        scanned.map_or_else(
            || {
                self.losses.add(
                    &field.path,
                    "type",
                    Fate::Rewritten,
                    "the field does not say its type: taken as `string`",
                );
                ColumnType::String
            },
            |column| column_type(&column.kind),
        )
    }

    /// Declares the columns that only expressions read.
    fn columns_behind(&mut self, node: &Node<'_>, columns: &mut Vec<Column>) {
        let mut read: Vec<String> = Vec::new();
        for column in columns.iter() {
            if let Some(expr) = &column.expr {
                // Expressions that do not parse were removed before.
                read.extend(names_in(expr, self.into).unwrap_or_default());
            }
        }
        for name in read {
            if declare(columns, &name) {
                let message = format!("`{name}` is read by a field and added as a hidden column");
                self.losses
                    .add(&node.path, "hidden_column", Fate::Rewritten, message);
            }
        }
    }
}

/// False if the column exists. A new column has no type during the import.
pub(super) fn declare(columns: &mut Vec<Column>, name: &str) -> bool {
    if columns
        .iter()
        .any(|column| column.name.eq_ignore_ascii_case(name))
    {
        return false;
    }
    columns.push(Column {
        name: name.to_owned(),
        kind: None,
        role: None,
        visibility: Some(Visibility::Hidden),
        descriptions: None,
        description: None,
        expr: None,
        natural_granularity: None,
        constraints: None,
        enum_values: None,
        tests: None,
    });
    true
}

fn looks_like_a_query(relation: &str) -> bool {
    let first = relation.split_whitespace().next().unwrap_or_default();
    let has_more = relation.trim().len() > first.len();
    has_more && (first.eq_ignore_ascii_case("select") || first.eq_ignore_ascii_case("with"))
}

/// Uses the extension's texts by author, unless the shared text changed since.
fn texts(
    description: Option<String>,
    kept: Option<Descriptions>,
    context: Option<String>,
    label: Option<String>,
) -> Option<Descriptions> {
    let mut texts = match kept {
        Some(kept) if best(Some(&kept), None) == description => kept.0,
        _ => description
            .map(|text| ("user".to_owned(), text))
            .into_iter()
            .collect(),
    };
    texts.extend(context.map(|text| (AI_CONTEXT.to_owned(), text)));
    texts.extend(label.map(|text| (LABEL.to_owned(), text)));
    (!texts.is_empty()).then_some(StrictMap(texts))
}

fn names_in(text: &str, into: &Catalog) -> Result<Vec<String>, String> {
    struct Names(Vec<String>);

    impl Visitor for Names {
        type Break = ();

        fn pre_visit_expr(&mut self, tree: &Expr) -> ControlFlow<()> {
            if let Expr::Identifier(name) = tree
                && !self.0.contains(&name.value)
            {
                self.0.push(name.value.clone());
            }
            ControlFlow::Continue(())
        }
    }

    let tree = expression::parse(text, into.dialect()).map_err(|error| error.message)?;
    let mut names = Names(Vec::new());
    let flow = ktx_sql::visit(&tree, &mut names);
    debug_assert!(flow.is_continue());
    Ok(names.0)
}
