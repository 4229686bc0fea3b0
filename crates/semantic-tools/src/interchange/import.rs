//! Imports the format as source files.

mod metrics;
mod model;
mod relationships;

use std::collections::BTreeMap;

use serde_yaml::Value;

use super::document::to_text;
use super::extension::{Extension, VERSION};
use super::read::Node;
use super::{Fate, Imported, ImportedSource, InterchangeError, Losses, VENDOR, overlay};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::SourceFile;
use ktx_semantic_layer::authored::{ColumnType, Standalone};
use ktx_sql::deep::deep;

use model::Building;

/// `dialects` and `vendors` only list what the document uses.
const DOCUMENT: [&str; 5] = [
    "version",
    "semantic_model",
    "ai_context",
    "dialects",
    "vendors",
];
const MODEL: [&str; 7] = [
    "name",
    "description",
    "ai_context",
    "datasets",
    "relationships",
    "metrics",
    "custom_extensions",
];

/// The catalog `into` selects the dialect and provides column types. A dataset named like a scanned
/// table becomes an overlay, others become standalone sources.
///
/// # Errors
///
/// Text that is not YAML, or has no list of models. Every smaller problem is a loss.
pub fn import_osi(text: &str, into: &Catalog) -> Result<Imported, InterchangeError> {
    deep(|| imported(text, into))
}

fn imported(text: &str, into: &Catalog) -> Result<Imported, InterchangeError> {
    let tree: Value = serde_yaml::from_str(text).map_err(|error| InterchangeError::NotYaml {
        reason: error.to_string(),
    })?;
    let mut losses = Losses::default();
    let document = Node::new("$".to_owned(), &tree, &DOCUMENT, &mut losses);
    let document = document.ok_or(InterchangeError::NoModel)?;
    if !document
        .value("semantic_model")
        .is_some_and(Value::is_sequence)
    {
        return Err(InterchangeError::NoModel);
    }
    let version = document.text("version", &mut losses).unwrap_or_default();
    if !version.starts_with("0.2") {
        losses.add(
            "$.version",
            "version",
            Fate::Rewritten,
            format!("version `{version}` is read as 0.2"),
        );
    }
    if document.value("ai_context").is_some() {
        model_text(&document, "ai_context", &mut losses);
    }
    let mut all: BTreeMap<String, Standalone> = BTreeMap::new();
    for node in document.nodes("semantic_model", &MODEL, &mut losses) {
        for (name, source) in model_of(&node, into, &mut losses) {
            let other = all.insert(name.clone(), source);
            if other.is_some() {
                losses.add(
                    node.place(&name),
                    "dataset",
                    Fate::Dropped,
                    format!("two datasets are called `{name}`: the last one is taken"),
                );
            }
        }
    }
    let mut sources = Vec::new();
    for (name, source) in all {
        let failed = |error| InterchangeError::Write {
            name: name.clone(),
            source: error,
        };
        let text = match overlay::scanned(into, &name) {
            Some(table) => {
                let overlay = overlay::on(source, &table.entry, into.source(&name), &mut losses);
                to_text(&overlay).map_err(failed)?
            }
            None => to_text(&typed(source)).map_err(failed)?,
        };
        if text.lines().count() == 1 {
            continue;
        }
        let path = SourceFile::name_for(&name);
        // Falls back to the plain layout.
        let text = crate::format_source(&text, &path).unwrap_or(text);
        sources.push(ImportedSource { name, path, text });
    }
    Ok(Imported {
        sources,
        losses: losses.ordered(),
    })
}

/// Columns that only expressions mention become text.
fn typed(mut source: Standalone) -> Standalone {
    for column in &mut source.columns {
        column.kind = column.kind.or(Some(ColumnType::String));
    }
    source
}

fn model_of(node: &Node<'_>, into: &Catalog, losses: &mut Losses) -> BTreeMap<String, Standalone> {
    for key in ["description", "ai_context"] {
        if node.value(key).is_some() {
            model_text(node, key, losses);
        }
    }
    let extension = extension(node, losses);
    let mut building = Building::new(into, extension, losses);
    building.datasets(node);
    building.relationships(node);
    building.metrics(node);
    building.finish()
}

fn model_text(node: &Node<'_>, key: &str, losses: &mut Losses) {
    losses.add(
        node.place(key),
        "model_text",
        Fate::Dropped,
        "there is no place for texts about the whole model",
    );
}

fn extension(node: &Node<'_>, losses: &mut Losses) -> Option<Extension> {
    let mut own = None;
    let known = ["vendor_name", "data"];
    for entry in node.nodes("custom_extensions", &known, losses) {
        let vendor = entry.text("vendor_name", losses).unwrap_or_default();
        if vendor != VENDOR {
            losses.add(
                entry.path,
                "custom_extension",
                Fate::Dropped,
                format!("the extension of `{vendor}` is not imported"),
            );
            continue;
        }
        let data = entry.text("data", losses).unwrap_or_default();
        match serde_json::from_str::<Extension>(&data) {
            Ok(extension) if extension.version == VERSION => own = Some(extension),
            Ok(extension) => losses.add(
                entry.path,
                "custom_extension",
                Fate::Dropped,
                format!(
                    "version {} of the extension is not known",
                    extension.version
                ),
            ),
            Err(error) => losses.add(
                entry.path,
                "custom_extension",
                Fate::Dropped,
                format!("the extension cannot be read: {error}"),
            ),
        }
    }
    own
}
